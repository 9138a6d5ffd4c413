"""Chart files that are not UTF-8, or that hold characters which are none: faults of the chart, with their place."""

import pytest

import gatechart
from gatechart.errors import GatechartError, InvalidChartError

CHART = "id: lamp\nversion: '1'\ninitial: OFF\nentry_points: [OFF]\nstates:\n  OFF: {}\n"
UNREADABLE = {
    "no bytes": b"",
    "Latin-1": CHART.encode() + b"# caf\xe9",
    "UTF-16": CHART.encode("utf-16"),
    "UTF-16 without a mark": CHART.encode("utf-16-le"),
    "UTF-32": CHART.encode("utf-32"),
    "a NUL": CHART.encode() + b"\0",
    "half a surrogate pair": CHART.replace("lamp", "\ud800").encode("utf-8", "surrogatepass"),
    "an escape beyond Unicode": CHART.replace("lamp", r'"\U00110000"').encode(),
    "an escape beyond 32 bits": CHART.replace("lamp", r'"\UFFFFFFFF"').encode(),
    "an escaped surrogate": CHART.replace("lamp", r'"\uD800"').encode(),
    "binary data": CHART.replace("lamp", '!!binary "####"').encode(),
    "an escaped surrogate in JSON": rb'{"id": "\ud800", "states": {"OFF": {}}, "entryPoints": ["OFF"]}',
}


@pytest.mark.parametrize("suffix", [".yaml", ".json", ""])
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_whose_text_cannot_be_read_is_a_fault_of_the_chart(tmp_path, content, suffix):
    file = tmp_path / f"chart{suffix}"
    file.write_bytes(content)
    with pytest.raises(GatechartError) as refused:
        gatechart.load(file)
    assert str(file) in str(refused.value) or "fault" in str(refused.value)


def test_the_place_of_an_escape_beyond_unicode_is_named(tmp_path):
    with pytest.raises(InvalidChartError, match=r"invalid YAML: .*correct the escapes"):
        gatechart.load(UNREADABLE["an escape beyond Unicode"])


def test_a_byte_order_mark_is_no_part_of_a_chart(tmp_path):
    assert gatechart.load(b"\xef\xbb\xbf" + CHART.encode()).name == "lamp"
