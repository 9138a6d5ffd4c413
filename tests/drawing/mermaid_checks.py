"""Check that a Mermaid text is well formed."""

from __future__ import annotations

import re

ID = r"[a-z]+_\w+"


TEXT = r'"(?:[^"#<>&`\\%$*;{}|]|\#\d+;|<br/>)*"'


LINES = re.compile(
    rf"""
    classDef\ \w+\ [\w:\#,-]+
  | {ID}(?: \({TEXT}\) | \(\({TEXT}\)\) | \(\[{TEXT}\]\) | \[{TEXT}\] | \[\[{TEXT}\]\] | >{TEXT}\] ):::[a-z]+
  | subgraph\ {ID}\ \[{TEXT}\] | end
  | style\ {ID}\ [\w:\#,-]+
  | {ID}\ ==>\ {ID} | {ID}\ -->\ {ID} | {ID}\ ---\ {ID}\ -->\ {ID} | {ID}\ ===\ {ID}\ ==>\ {ID}
  | {ID}\ -\.-\ {ID}\ -\.->\ {ID} | {ID}\ -\.->\|{TEXT}\|\ {ID}
  | linkStyle\ [\d,]+\ [\w:\#,-]+
    """,
    re.VERBOSE,
)


def body_of(text: str) -> list[str]:
    head, body = re.split("flowchart (?:TB|LR)\n", text)
    assert head.startswith('---\ntitle: "')
    return [line.strip() for line in body.splitlines()]


def assert_valid(text: str) -> None:
    lines = body_of(text)
    assert [line for line in lines if not LINES.fullmatch(line)] == []
    opened = sum(line.startswith("subgraph") for line in lines)
    assert opened == lines.count("end")
    assert re.search(r"^  theme: base$", text, re.MULTILINE)
