"""Databases and processes for the tests of the stores."""

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.forked import PIPE, fork


@pytest.fixture
def child(processes):
    """Starts `main` of `tests/stores/child.py` with arguments; whatever still runs at the end of the test is killed."""
    children = []

    def start(*arguments):
        process = fork("tests.stores.child:main", *arguments, stdin=PIPE, stdout=PIPE)
        children.append(process)
        return process

    yield start
    for process in children:
        with process:
            process.kill()


@pytest.fixture
def open_folder():
    """A folder that every user of the machine can reach and write, other than pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="gatechart-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def unchanged():
    """Within it the files of a folder stay as they are, byte by byte; an empty one beside a database may come."""

    @contextmanager
    def check(folder):
        before = _files(folder)
        yield
        assert _files(folder) == before

    return check


def _files(folder):
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return {name: content for name, content in files.items() if not _is_beside(name, content)}


def _is_beside(name, content):
    return name.endswith("-shm") or (not content and name.endswith((".lock", "-wal")))
