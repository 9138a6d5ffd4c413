"""The command that creates a project, with a small chart or one of the examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.options import Settings
from gatechart.cli.output import emit, print_table

EXAMPLES: Final = "gatechart.examples"  # the package into which a wheel puts the repository's statecharts/


class Example(StrEnum):
    """The example charts that a project can start with."""

    CUSTOMER_SERVICE = "customer_service"
    LEAVE_APPROVAL = "leave_approval"
    ONLINE_SHOP = "online_shop"


_PROJECT: Final = """\
[project]
name = "{name}"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["gatechart"]

[project.optional-dependencies]
dev = ["pytest", "pytest-asyncio"]

[tool.gatechart]
app = "{package}:{package}"
{services}
[tool.pytest.ini_options]
asyncio_mode = "auto"
asyncio_default_fixture_loop_scope = "function"
pythonpath = ["."]

[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["{package}"]

[tool.setuptools.package-data]
{package} = ["*.yaml"]
"""
_README: Final = """\
# {name}

Agents driven by {charts}.

```sh
pip install -e '.[dev]'
gatechart check                    # is the chart valid? what is probably a mistake?
{draw:<34} # needs Graphviz
pytest
{start}
gatechart run --watch              # host the agents until Ctrl-C
```
"""
_STARTER: Final = {
    "{package}/__init__.py": '''\
"""The chart of `chart.yaml`, with the functions and types that it names."""

from pathlib import Path

from gatechart.charts import load
from {package} import functions

{package} = load(Path(__file__).with_name("chart.yaml"), bind=functions)
''',
    "{package}/chart.yaml": """\
id: {package}
context: Case
entry_points:
  OPEN: {{description: Somebody asks for the first time.}}
  REOPENED: {{takes: Earlier, description: An earlier answer was not enough.}}
states:
  OPEN:
    on:
      ASKED: {{target: SEARCHING, actions: keep_question}}
  REOPENED:
    on:
      REVIEWED: SEARCHING
  SEARCHING:
    after: {{2d: GIVEN_UP}}
    invoke: {{src: search, timeout_s: 30, onDone: {{target: ANSWERED, actions: keep_answer}}, onError: OPEN}}
  ANSWERED: {{type: final}}
  GIVEN_UP: {{type: final, failed: true}}
""",
    "{package}/functions.py": '''\
"""What the chart names: its data, what events change in it, and the call to the outside."""

from typing import Any

from pydantic import BaseModel

from gatechart import AgentContext, Event, Work


class Case(AgentContext):
    """The data of an agent."""

    question: str = ""
    answer: str = ""


class Earlier(BaseModel):
    """What is known of a case that is opened again."""

    question: str


def keep_question(context: Case, event: Event) -> None:
    """Keep what was asked."""
    context.question = event.payload["text"]


async def search(context: Case, work: Work[Any]) -> str:
    """Find an answer. Call a model or a service here; a step is not repeated after a crash."""
    answer: str = await work.step("search", str.upper, context.question)
    return answer


def keep_answer(context: Case, event: Event) -> None:
    """Keep what the search returned."""
    context.answer = event.payload["result"]
''',
    "tests/test_{package}.py": '''\
"""The chart, rehearsed in memory on a clock that only the test moves."""

from gatechart.checks import check
from gatechart.testing import rehearse
from {package} import {package}


def test_the_chart_has_no_findings():
    assert check({package}) == ()


async def test_a_question_is_answered():
    async with rehearse({package}, "OPEN") as case:
        await case.send("ASKED", {{"text": "Is it on?"}})
        await case.settle()
        assert case.leaves == ("ANSWERED",)
        assert case.context.answer == "IS IT ON?"


async def test_a_case_can_begin_a_second_time():
    async with rehearse({package}, "REOPENED", {{"question": "Is it on?"}}) as case:
        await case.send("REVIEWED")
        await case.settle()
        assert case.leaves == ("ANSWERED",)
''',
}
_ONE_CHART: Final = {
    "charts": "the statechart in [{package}/chart.yaml]({package}/chart.yaml)",
    "draw": "gatechart draw {package} chart.svg",
}
_SCENARIOS_TEST: Final = '''\
"""The scenarios of the example, each played to its end on a clock that only the test moves."""

import pytest

from gatechart import Runtime
from gatechart.testing import VirtualClock
from {package} import {package}, scenarios
from {package}.scenario import play
{import_services}

@pytest.mark.parametrize("scenario", scenarios, ids=lambda scenario: scenario.name)
async def test_every_scenario_ends_as_it_must(scenario):
    clock = VirtualClock()
    async with Runtime.open("memory:", graphs=[{package}], services={make_services}, clock=clock) as runtime:
        agent = await play(scenario, runtime, clock=clock)
        assert agent.configuration == (scenario.ends_in,)
'''
_SHOP_TEST: Final = '''\
"""A customer who is handed from one agent to another, played on a clock that only the test moves."""

from gatechart import Runtime
from gatechart.checks import check_all
from gatechart.testing import VirtualClock
from {package} import {package}
from {package}.context import Visit
from {package}.services import Services


def test_the_charts_have_no_findings():
    assert not any(check_all({package}).values())


async def test_a_question_about_an_order_is_answered_by_the_agent_for_orders():
    async with Runtime.open("memory:", graphs={package}, services=Services(), clock=VirtualClock()) as runtime:
        agent = await runtime.start("general_enquiries", at="LISTENING", payload=Visit(user_id="grace"))
        await agent.send("CUSTOMER_ASKED", {{"text": "What is the status of my order A-1042?"}})
        await agent.until("HANDED_OVER")
        (handoff,) = await runtime.handoffs(source=agent.id)
        orders = await runtime.resume(handoff.target)
        await orders.until("LISTENING")
        assert orders.context.answer == "Your order A-1042 is sent on Tuesday"
'''
_SERVICES: Final = '''\
"""What the charts need from outside."""

from dataclasses import dataclass

from {module} import {default}, {port}


@dataclass(frozen=True, slots=True)
class Services:
    """The outside world; put {real} here."""

    {field}: {port} = {default}
'''
_SHOP_SERVICES: Final = '''\
"""What the charts need from outside."""

from dataclasses import dataclass

from gatechart import ToolBox
from online_shop.shop import BOOKS, Shop
from online_shop.tools import TOOLS


@dataclass(frozen=True, slots=True)
class Services:
    """The outside world; put the real systems of a shop here."""

    shop: Shop = BOOKS
    tools: ToolBox = TOOLS
'''


@dataclass(frozen=True, slots=True)
class _Kit:
    """The files of an example project in addition to the example."""

    what: str  # shown in the list of examples
    start: str
    services: str = ""  # the text of a module
    test: str = _SCENARIOS_TEST
    charts: str = _ONE_CHART["charts"]
    draw: str = _ONE_CHART["draw"]
    has_scenarios: bool = True


_KITS: Final[Mapping[Example, _Kit]] = {
    Example.CUSTOMER_SERVICE: _Kit(
        "One agent with five entry points, an invoke, a timer, and a person who takes over",
        "gatechart start customer_service --at GREETING_CUSTOMER --id case-1",
        _SERVICES.format(
            module="customer_service.knowledge_base",
            default="SHELF",
            port="KnowledgeBase",
            real="a real knowledge base",
            field="knowledge_base",
        ),
    ),
    Example.LEAVE_APPROVAL: _Kit(
        "A request that people decide about, with deadlines and resubmissions",
        "gatechart start leave_approval --on NEW_REQUEST_SUBMITTED --id ada-1 --payload "
        """'{"employee": "Ada", "first_day": "2026-07-06", "last_day": "2026-07-10"}'""",
    ),
    Example.ONLINE_SHOP: _Kit(
        "Four agents that hand customers to each other and to a person, with fallbacks",
        """gatechart start general_enquiries --on CUSTOMER_CAME --id grace-1 --payload '{"user_id": "grace"}'""",
        _SHOP_SERVICES,
        test=_SHOP_TEST,
        charts="the statecharts in [{package}]({package})",
        draw="gatechart draw --map --output chart.svg",
        has_scenarios=False,
    ),
}

FolderArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER", help="The folder to create; its name becomes the name of the project.", show_default=False
    ),
]
ExampleOption = Annotated[
    Example | None,
    typer.Option("--example", help="Start with an example instead of a small chart.", show_default=False),
]
ListOption = Annotated[bool, typer.Option("--list", help="List the examples, and write nothing.")]


async def begin_project(
    settings: Settings,
    folder: FolderArgument = None,
    example: ExampleOption = None,
    lists: ListOption = False,
) -> None:
    """Create a project in a new folder: a chart, its functions, tests and a README.

    The project runs, passes its tests and can be drawn as it is. Works without an app and without a database.

    Examples:
      gatechart new helpdesk
      gatechart new --list
      gatechart new helpdesk --example customer_service
    """
    if lists:
        _list(settings)
        return
    if folder is None:
        raise UsageError("no folder; name the one to create, or add --list to see the examples")
    texts = starter(folder.name) if example is None else copied(folder.name, example, installed_examples())
    write(folder, texts)
    document = {"folder": str(folder), "files": sorted(texts)}
    emit(settings, document, f"wrote {len(texts)} files to {folder}; read {folder / 'README.md'}")


def _list(settings: Settings) -> None:
    document = {"examples": [{"example": each.value, "what": kit.what} for each, kit in _KITS.items()]}
    rows = [(each.value, kit.what) for each, kit in _KITS.items()]
    emit(settings, document, lambda: print_table(("EXAMPLE", "WHAT IT SHOWS"), rows, whole=("EXAMPLE",)))


def starter(name: str) -> Mapping[str, str]:
    """Return the files of a project with a small chart: text by path."""
    package = re.sub(r"\W", "_", name).lower()
    if not package.isidentifier():
        raise UsageError(f"{name!r} cannot name a Python package; start the name with a letter, such as helpdesk")
    values = {
        "name": name,
        "package": package,
        "services": "",
        "start": f"gatechart start {package} --at OPEN --id case-1",
        **{name: text.format(package=package) for name, text in _ONE_CHART.items()},
    }
    texts = {"pyproject.toml": _PROJECT, "README.md": _README, **_STARTER}
    return {path.format(**values): text.format(**values) for path, text in texts.items()}


def installed_examples() -> Path:
    """Find the folder of the examples. They are not imported: they are packages of other names there."""
    spec = find_spec(EXAMPLES)
    if spec is None or not spec.submodule_search_locations:
        raise UsageError("the examples are not installed; run `pip install --force-reinstall gatechart`")
    return Path(spec.submodule_search_locations[0])


def copied(name: str, example: Example, examples: Path) -> Mapping[str, str]:
    """Return the files of a project that starts with an example. examples: the folder with all examples."""
    kit = _KITS[example]
    values = {
        "name": name,
        "package": example,
        "start": kit.start,
        "charts": kit.charts.format(package=example),
        "draw": kit.draw.format(package=example),
        "services": f'services = "{example}.services:Services"\n' if kit.services else "",
        "import_services": f"from {example}.services import Services\n" if kit.services else "",
        "make_services": "Services()" if kit.services else "None",
    }
    modules = [each for each in examples.joinpath(example).iterdir() if each.name.endswith((".py", ".yaml"))]
    texts = {f"{example}/{each.name}": each.read_text(encoding="utf-8") for each in modules}
    if kit.has_scenarios:
        texts[f"{example}/scenario.py"] = examples.joinpath("scenario.py").read_text(encoding="utf-8")
    renamed = {
        path: text.replace("statecharts.scenario", f"{example}.scenario").replace("statecharts.", "")
        for path, text in texts.items()
    }
    if kit.services:
        renamed[f"{example}/services.py"] = kit.services
    written = {"pyproject.toml": _PROJECT, "README.md": _README, f"tests/test_{example}.py": kit.test}
    return {**renamed, **{path: text.format(**values) for path, text in written.items()}}


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write a project into a new or empty folder."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists already; name a new folder, or an empty one")
    for path, text in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
