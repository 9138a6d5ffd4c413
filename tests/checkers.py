"""Two type checkers, and what each says of programs: both know the library only from its own annotations."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from mypy import api

from tests.skipped import LOUD

ROOT: Final = Path(__file__).parents[1]
CHECKERS: Final = ("mypy", "pyright")
PATIENCE_S: Final = 300
_MYPY: Final = """
[mypy]
strict = True
follow_imports = silent
"""
_LOOSE: Final = """
[mypy-{0}.*]
disallow_untyped_defs = False
disallow_untyped_calls = False
"""
_MYPY_SAYS: Final = re.compile(r"(?P<place>[^:]+:\d+): (?P<kind>error|note): (?P<text>.+)")
_REVEALED: Final = re.compile(r'(?:Revealed type|Type of ".+") is "(?P<type>.+)"')


@dataclass(frozen=True)
class Said:
    """What the checker says of a line: an error, or the type that is revealed there, without the names of modules."""

    place: str  # such as program.py:12
    error: str = ""
    type: str = ""


def check(checker: str, folder: Path, loose: str = "") -> list[Said]:
    """Check the programs in a folder as strictly as the checker can. Skips the test if there is no such checker.

    loose: a folder below whose functions may have no types.
    """
    return list((_mypy if checker == "mypy" else _pyright)(folder, loose))


def _mypy(folder: Path, loose: str) -> Iterator[Said]:
    (folder / "mypy.ini").write_text(_MYPY + (_LOOSE.format(loose) if loose else ""), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPYPATH", f"{ROOT / 'src'}:{ROOT}")
        patch.chdir(folder)
        programs = [*map(str, Path().glob("*.py")), *([loose] if loose else [])]
        told, failed, _ = api.run(["--no-error-summary", f"--cache-dir={folder / 'cache'}", *programs])
    assert not failed, failed
    for line in told.splitlines():
        if found := _MYPY_SAYS.fullmatch(line):
            yield from _said(found["place"], found["kind"], found["text"])


def _pyright(folder: Path, loose: str) -> Iterator[Said]:
    settings = {"extraPaths": [str(ROOT / "src"), str(ROOT)], "strict": ["*.py"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    try:
        told = json.loads(done.stdout)["generalDiagnostics"]
    except ValueError:
        why = done.stderr.strip().splitlines()[-1:]
        pytest.skip(f"{LOUD}pyright: install it, and npm, with which it gets itself; {''.join(why)}")
    for each in told:
        place = f"{Path(each['file']).relative_to(folder)}:{each['range']['start']['line'] + 1}"
        yield from _said(place, "note" if each["severity"] == "information" else each["severity"], each["message"])


def _said(place: str, kind: str, text: str) -> Iterator[Said]:
    if kind == "error":
        yield Said(place, error=text)
    elif found := _REVEALED.fullmatch(text):
        yield Said(place, type=re.sub(r"\b(?:\w+\.)+(?=\w)", "", found["type"]))
