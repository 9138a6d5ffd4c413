"""Run this folder's scripts with the gatechart of another checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parents[1]


@contextmanager
def environment(checkout: Path) -> Iterator[dict[str, str]]:
    """Variables for a child process that imports gatechart from the checkout, and the benchmarks from here.

    The migrations come from the checkout as well, although they do not lie beside the other packages there.
    """
    package = checkout / "src" / "gatechart"
    if not package.is_dir():
        raise SystemExit(f"{checkout} is not a checkout of gatechart: there is no {package}")
    with TemporaryDirectory(prefix="gatechart-checkout-") as folder:
        linked = Path(folder) / "gatechart"
        linked.mkdir()
        for each in package.resolve().iterdir():
            (linked / each.name).symlink_to(each)
        (linked / "migrations").symlink_to((checkout / "persistence").resolve())
        plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        yield {**plain, "PYTHONPATH": os.pathsep.join((folder, str(HERE)))}


def command(module: str, *arguments: str) -> list[str]:
    """The command line of such a child."""
    return [sys.executable, "-m", module, *arguments]
