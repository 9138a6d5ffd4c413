"""Documents in encodings that cannot be read: an error of the chart, which names the file."""

import encodings
import pkgutil

import pytest

from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.scxml import read

CHART = "<scxml xmlns='http://www.w3.org/2005/07/scxml' version='1.0'><state id='a'/></scxml>"
OTHERS = {"utf-7", "utf-16", "none-such", "x" * 5_000}
CODECS = sorted({each.name for each in pkgutil.iter_modules(encodings.__path__)} | OTHERS)


def why_refused(file):
    """The error for a file; None if it can be read."""
    try:
        read(file)
    except NotCarriedError as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_document_in_any_declared_encoding_is_read_or_refused(tmp_path):
    file = tmp_path / "chart.scxml"
    refused = []
    for codec in CODECS:
        file.write_bytes(f"<?xml version='1.0' encoding='{codec}'?>{CHART}".encode())
        if error := why_refused(file):
            refused.append(codec)
            assert str(file) in str(error)
            assert error.faults[0].place == "line 1"
    assert {"utf-7", "idna", "punycode", "rot13", "base64", "none-such"} & {*refused} >= {"utf-7", "idna", "none-such"}
    assert not {"utf_8", "ascii", "latin_1", "cp1252"} & {*refused}


REFUSED = {
    "no bytes": b"",
    "bytes that are not UTF-8": CHART.encode() + b"\xff",
    "a NUL": CHART + "\x00",
    "half a surrogate pair": CHART.replace("'a'", "'\ud800'"),
    "UTF-7": b"<?xml version='1.0' encoding='utf-7'?>" + CHART.encode(),
    "a codec of bytes": b"<?xml version='1.0' encoding='base64'?>" + CHART.encode(),
    "half a UTF-16": CHART.encode("utf-16")[:-1],
    "UTF-32": CHART.encode("utf-32"),
}
READ = {"a byte order mark": b"\xef\xbb\xbf" + CHART.encode(), "UTF-16": CHART.encode("utf-16")}


@pytest.mark.parametrize("document", REFUSED.values(), ids=REFUSED)
def test_text_that_cannot_be_decoded_is_refused_with_its_line(document):
    with pytest.raises(NotCarriedError, match="line 1"):
        read(document)


@pytest.mark.parametrize("document", READ.values(), ids=READ)
def test_text_with_a_byte_order_mark_is_read(document):
    assert read(document).states == ("a",)
