"""Reads the telecom domain of tau2-bench: its tasks, their worlds, and how a world is judged in the end.

The benchmark is other people's Python code, which runs in this process; nothing of it is part of this package.
"""

from __future__ import annotations

import importlib.util
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final

from gatechart.values.frozen import value
from statecharts.telecom_support.world import Used, World

TRANSFER: Final = "transfer_to_human_agents"
REQUIREMENTS: Final = "loguru toml deepdiff addict docstring-parser pandas pyyaml python-dotenv pydantic"
"""What `pip install` needs to get before the benchmark runs."""

_MODULE: Final = "tau2_telecom_tasks"


class BenchmarkMissingError(Exception):
    """The benchmark, or a package that it needs, is not there."""


@value
class Tau2Task:
    """A task of the benchmark. See Task."""

    id: str
    ticket: str
    is_repairable: bool
    gold: tuple[Used, ...]
    source: Any  # the benchmark's own task
    benchmark: ModuleType

    def begin(self) -> World:
        """See Task."""
        return Tau2World(self.benchmark.begin(self.source))

    def holds(self, world: World) -> bool:
        """See Task."""
        assert isinstance(world, Tau2World)
        return all(
            world.environment.run_env_assertion(each, raise_assertion_error=False)
            for each in self.source.evaluation_criteria.env_assertions or ()
        )


class Tau2World:
    """A world of the benchmark. See World."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """See World. Raises ValueError if the tool refuses."""
        answer = self.environment.make_tool_call(tool_name=tool, requestor="assistant", **arguments)
        self.environment.sync_tools()
        return answer if isinstance(answer, str) else json.loads(self.environment.to_json_str(answer))

    def is_change(self, tool: str) -> bool:
        """See World."""
        return bool(self.environment._is_mutating_tool(tool))


@contextmanager
def tasks_in(data: Path) -> Iterator[tuple[Tau2Task, ...]]:
    """Read all tasks, once in a process; they and their worlds can be used until the end.

    data: the benchmark's archive, `tau2_telecom.tar.gz`, or the folder that it was unpacked into. Raises
    BenchmarkMissingError.
    """
    with TemporaryDirectory(prefix="gatechart-tau2-") as folder:
        benchmark = _benchmark(_unpacked(data, Path(folder)))
        _hurry(benchmark)
        yield tuple(_task(each, benchmark) for each in benchmark.all_tasks())


def _hurry(benchmark: ModuleType) -> None:
    """Have each world begin with a copy: making one anew takes the benchmark ten times as long as a task takes."""
    pristine = benchmark.get_environment(solo_mode=True)
    vars(benchmark)["get_environment"] = lambda **_: deepcopy(pristine)


def _unpacked(data: Path, folder: Path) -> Path:
    if data.is_dir():
        return data
    try:
        with tarfile.open(data) as archive:
            archive.extractall(folder, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise BenchmarkMissingError(f"{data} cannot be unpacked: {error}") from error
    return folder


def _task(source: Any, benchmark: ModuleType) -> Tau2Task:
    actions = tuple(Used(each.name, each.arguments) for each in source.evaluation_criteria.actions or ())
    is_repairable = all(each.tool != TRANSFER for each in actions)
    return Tau2Task(source.id, source.ticket, is_repairable, actions if is_repairable else (), source, benchmark)


def _benchmark(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE, folder / "tasks.py")
    if spec is None or not (folder / "tasks.py").exists():
        raise BenchmarkMissingError(f"{folder} has no tasks.py; name the folder into which the archive was unpacked")
    return _imported(spec)


def _imported(spec: ModuleSpec) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        problem = f"the benchmark needs {error.name}; run `pip install {REQUIREMENTS}`"
        raise BenchmarkMissingError(problem) from error
    return module
