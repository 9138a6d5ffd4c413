"""From a file, or a text, to nodes with their places. Whatever is hostile is refused here, before it costs much."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, TypeAlias

from gatechart.charts.json_text import parse_json
from gatechart.charts.places import Faults, Node
from gatechart.charts.yaml_text import parse_yaml

Source: TypeAlias = str | bytes | os.PathLike[str]

MAX_BYTES: Final = 1 << 20
_JSON: Final = ".json"


def read(source: Source) -> tuple[Node, Faults]:
    """The top node of a chart, and where its faults go.

    source: a path, or the chart itself: bytes, or a text with a line break or a brace at its beginning.
    Raises InvalidChartError where nothing can be understood.
    """
    if isinstance(source, bytes):
        return _parse(source, Faults("<text>"), suffix="")
    if isinstance(source, str) and (source.lstrip().startswith("{") or "\n" in source):
        return _parse(source.encode("utf-8", "surrogatepass"), Faults("<text>"), suffix="")
    path = Path(source)
    return _parse(_bytes_of(path), Faults(str(path)), suffix=path.suffix.lower())


def _bytes_of(path: Path) -> bytes:
    """At most one byte more than a chart may have."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        problem = f"it cannot be read ({getattr(error, 'strerror', None) or error})"
        raise Faults(str(path)).stop(1, 1, problem, "name a file that is there and may be read") from error


def _parse(content: bytes, faults: Faults, suffix: str) -> tuple[Node, Faults]:
    text = _text_of(content, faults)
    if suffix == _JSON or (not suffix and text.lstrip().startswith("{") and _looks_like_json(text)):
        return parse_json(text, faults), faults
    return parse_yaml(text, faults), faults


def _looks_like_json(text: str) -> bool:
    """Whether the first key is quoted, as JSON asks; YAML's braces mostly hold plain keys."""
    return text.lstrip()[1:].lstrip()[:1] in ('"', "}", "")


def _text_of(content: bytes, faults: Faults) -> str:
    if len(content) > MAX_BYTES:
        raise faults.stop(1, 1, f"it has more than {MAX_BYTES} bytes", "split the chart, or leave out what is not one")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise faults.stop(line, column, "it is not UTF-8", "save it as UTF-8") from error
    return text.removeprefix("\ufeff")
