"""Apps that are chart files, and `gatechart schema`."""

import json

import pytest
from jsonschema import Draft202012Validator

from gatechart.charts import schema
from tests.cli.chart_files import MACHINE, SCXML, TOGGLE

LAMP = """\
id: lamp
entry_points:
  OFF: {description: Somebody moves in., opens_on: MOVED_IN, takes: Tenant}
states:
  OFF: {on: {PRESSED: {target: ON, guard: is_dark, actions: count}}}
  ON: {on: {PRESSED: OFF, BROKE: BROKEN}}
  BROKEN: {type: final}
context: Lamp
"""

FUNCTIONS = """\
from pydantic import BaseModel
from gatechart import AgentContext

class Lamp(AgentContext):
    name: str = ""

class Tenant(BaseModel):
    name: str

def is_dark(context, event):
    return not event.payload.get("sun")

def count(context, event):
    pass

functions = {"Lamp": Lamp, "Tenant": Tenant, "is_dark": is_dark, "count": count}
"""


@pytest.fixture
def lamp(folder):
    """The working directory, with a chart in a folder, and a package that holds what its names stand for."""
    (folder / "charts").mkdir()
    (folder / "charts" / "lamp.yaml").write_text(LAMP)
    (folder / "house").mkdir()
    (folder / "house" / "__init__.py").touch()
    (folder / "house" / "lamps.py").write_text(FUNCTIONS)
    return folder


def test_the_schema_of_packets_is_printed(folder, gatechart):
    from gatechart.handoff import packet_schema

    printed = gatechart("schema", "--packet")
    assert (printed.code, printed.document) == (0, packet_schema())
    Draft202012Validator.check_schema(printed.document)


@pytest.mark.parametrize("bindings", ["house.lamps", "house.lamps:functions"])
def test_an_app_is_a_chart_file_with_the_module_or_attribute_that_its_names_stand_for(bindings, lamp, gatechart):
    app = ("--app", f"charts/lamp.yaml:{bindings}")
    assert gatechart("check", "--strict", *app).code == 0
    assert gatechart("start", "--on", "MOVED_IN", "-p", '{"name": "Ada"}', "--id", "a", *app).code == 0
    assert gatechart("send", "a", "PRESSED", "-p", '{"sun": true}', *app).code == 1
    assert gatechart("send", "a", "PRESSED", *app).code == 0
    assert gatechart("show", "a", "--json", *app).document["configuration"] == ["ON"]
    assert gatechart("draw", *app).out.startswith('digraph "lamp"')


def test_what_the_names_of_a_chart_stand_for_may_lie_in_several_modules(lamp, gatechart):
    (lamp / "house" / "people.py").write_text("from house.lamps import Tenant\n")
    (lamp / "house" / "rest.py").write_text(
        "from house.lamps import functions\nrest = dict(functions)\ndel rest['Tenant']"
    )
    checked = gatechart("check", "--app", "charts/lamp.yaml:house.people,house.rest:rest", "--json")
    assert checked.document["graphs"][0]["entry_points"][0]["takes"] == "Tenant"


@pytest.mark.parametrize("name", ["lamp.json", "lamp.yml", "LAMP.YAML", "a:b.yaml"])
def test_the_ending_tells_a_chart_file(name, lamp, gatechart):
    state = {"on": {"BROKE": "BROKEN"}}
    chart = {"id": "lamp", "entry_points": ["ON"], "states": {"ON": state, "BROKEN": {"type": "final"}}}
    (lamp / name).write_text(json.dumps(chart))
    checked = gatechart("check", "--app", name, "--json")  # it names nothing that must be bound
    assert checked.document["graphs"][0]["states"] == ["ON", "BROKEN"]


def test_an_absolute_path_names_a_chart_file_too(lamp, gatechart):
    assert gatechart("check", "--app", f"{lamp}/charts/lamp.yaml:house.lamps").code == 0


def test_a_project_names_a_chart_file_from_its_own_folder(lamp, gatechart, monkeypatch):
    (lamp / "pyproject.toml").write_text('[tool.gatechart]\napp = "charts/lamp.yaml:house.lamps"\n')
    monkeypatch.chdir(lamp / "house")
    assert gatechart("check").code == 0
    (lamp / "charts" / "lamp.yaml").write_text(LAMP.replace("target: ON", "target: OON"))
    assert f"\n  - {lamp}/charts/lamp.yaml:5:32 states.OFF.on.PRESSED.target: " in gatechart("check").err


def test_every_fault_of_a_chart_file_is_told_at_once_with_its_place(lamp, gatechart):
    (lamp / "charts" / "lamp.yaml").write_text(LAMP.replace("is_dark", "is_drak").replace("PRESSED: OFF", "PRESSED: X"))
    app = ("--app", "charts/lamp.yaml:house.lamps")
    failed = gatechart("check", *app)
    assert (failed.code, failed.out) == (3, "")
    heading, *faults = failed.err.splitlines()
    assert heading == "error: chart charts/lamp.yaml has 2 faults"
    assert faults[0].startswith("  - charts/lamp.yaml:5:43 states.OFF.on.PRESSED.guard: no guard is bound to 'is_drak'")
    assert "did you mean 'is_dark'?" in faults[0]
    assert faults[1].startswith("  - charts/lamp.yaml:6:22 states.ON.on.PRESSED: ")
    told = gatechart("check", "--json", *app).error
    assert (told["error"], told["facts"]["file"]) == ("InvalidChartError", "charts/lamp.yaml")
    assert [set(fault) for fault in told["facts"]["faults"]] == [{"line", "column", "path", "problem", "remedy"}] * 2


def test_a_module_of_the_same_name_is_not_guessed_and_the_error_says_how_names_are_bound(lamp, gatechart):
    (lamp / "charts" / "lamp.py").write_text(FUNCTIONS)
    failed = gatechart("start", "lamp", "--at", "OFF", "--app", "charts/lamp.yaml")
    assert (failed.code, failed.out) == (3, "")
    form = "; name its module in the app: charts/lamp.yaml:package.module"
    assert [line.endswith(form) for line in failed.err.splitlines()] == [False] + [True] * 4


def test_a_module_that_has_nothing_to_bind_is_told(lamp, gatechart):
    (lamp / "house" / "empty.py").touch()
    failed = gatechart("check", "--app", "charts/lamp.yaml:house.empty")
    assert failed.code == 3
    assert failed.err.count("'house.empty' does not have it; define it there, or add its module after a comma") == 4


@pytest.mark.parametrize(
    ("app", "error", "told"),
    [
        ("charts/lamp.yaml:", "AppNameError", "or chart.yaml, chart.yaml:module or chart.yaml:module:attribute"),
        ("charts/lamp.yaml:a:", "AppNameError", "malformed app"),
        ("charts/lamp.yaml:a:b:c", "AppNameError", "malformed app"),
        ("charts/lamp.yaml:house.lamps,", "AppNameError", "join several modules with commas"),
        ("charts/lamp.yaml:./house/lamps.py", "AppNameError", "malformed app"),
        ("charts/lamp.yaml,charts/fan.yaml", "AppNameError", "load each with gatechart.charts.load in a module"),
        ("charts/lamp.yaml:house.lamps,charts/fan.yaml", "AppNameError", "names several chart files"),
        ("charts/lamp.yaml:house.lamps,fan.yaml", "AppNameError", "names several chart files"),
        ("house.lamps:graphs,charts/lamp.yaml", "AppNameError", "names several chart files"),
        (
            "charts/lamp.yaml:house.lmps",
            "AppModuleError",
            "no module 'house.lmps' is installed or in {folder}/house: did you mean 'house.lamps'?",
        ),
        (
            "charts/lamp.yaml:house.lamps:function",
            "AppBindingsError",
            "no 'function'; of bindings, did you mean 'functions'? There are 'functions'; or name the module alone",
        ),
        ("charts/lamp.yaml:broken", "AppImportError", "ZeroDivisionError: division by zero ({folder}/broken.py:1)"),
        ("charts/lmp.yaml:house.lamps", "InvalidChartError", "charts/lmp.yaml:1:1 chart: it cannot be read (No "),
        ("charts.yaml:house.lamps", "InvalidChartError", "charts.yaml:1:1 chart: it cannot be read (Is a dir"),
    ],
)
def test_a_chart_file_that_cannot_be_loaded_is_told_with_a_remedy(app, error, told, lamp, gatechart):
    (lamp / "broken.py").write_text("1 / 0")
    (lamp / "charts.yaml").mkdir()
    failed = gatechart("check", "--app", app)
    assert (failed.code, failed.out) == (3, "")
    assert told.format(folder=lamp) in failed.err
    document = gatechart("check", "--app", app, "--json").error
    assert (document["error"], document["exit_code"]) == (error, 3)


@pytest.mark.parametrize("named", [("charts/lamp.yaml",), ("--app", "charts/lamp.yaml")])
def test_a_chart_file_is_checked_and_drawn_before_its_functions_exist(named, lamp, gatechart):
    checked = gatechart("check", *named)
    assert (checked.code, checked.out.splitlines()[-1]) == (0, "1 graph: no findings")
    assert checked.err == (
        "warning: checked without the functions and types that charts/lamp.yaml names: Tenant, Lamp, is_dark, count; "
        "to check them, too, name their module: charts/lamp.yaml:package.module\n"
    )
    assert gatechart("check", "--strict", *named).code == 3
    document = gatechart("check", "--json", *named).document
    assert document["not_bound"] == ["Tenant", "Lamp", "is_dark", "count"]
    drawn = gatechart("draw", *named)
    assert (drawn.code, drawn.err) == (0, "")
    assert drawn.out == gatechart("draw", "charts/lamp.yaml:house.lamps").out
    assert "is_dark" in drawn.out


def test_what_is_wrong_with_a_chart_file_is_found_before_its_functions_exist(lamp, gatechart):
    (lamp / "charts" / "lamp.yaml").write_text(LAMP.replace("target: ON", "target: OON"))
    failed = gatechart("check", "charts/lamp.yaml")
    assert (failed.code, failed.err.count("\n  - ")) == (3, 1)
    assert "'OON'" in failed.err


def test_a_misspelt_function_is_no_stand_in_where_a_module_is_named(lamp, gatechart):
    (lamp / "charts" / "lamp.yaml").write_text(LAMP.replace("is_dark", "is_drak"))
    for command in ("check", "draw"):
        failed = gatechart(command, "charts/lamp.yaml:house.lamps")
        assert (failed.code, "did you mean 'is_dark'?" in failed.err) == (3, True)


@pytest.mark.parametrize("fields", ["maps: {name: owner}", "takes: Tenant"])
def test_fields_of_types_that_do_not_exist_yet_are_taken_as_they_are_written(fields, lamp, gatechart):
    entry = f"{{takes: Tenant, {fields}}}" if fields.startswith("maps") else f"{{{fields}}}"
    (lamp / "charts" / "lamp.yaml").write_text(
        f"id: lamp\ncontext: Lamp\nsearchable: [room.name]\nentry_points: {{OFF: {entry}}}\nstates: {{OFF: }}\n"
    )
    assert gatechart("check", "charts/lamp.yaml").code == 0


def test_a_chart_file_alone_may_hand_work_to_graphs_of_other_files(folder, gatechart):
    away = "{target: ASKING, actions: [{handoff: {to: refunds, at: REVIEWING}}]}"
    (folder / "orders.yaml").write_text(
        f"id: orders\nentry_points: [TALKING]\nstates: {{TALKING: {{on: {{ASKED: {away}}}}}, "
        "ASKING: {on: {handoff.rejected: TALKING}}}\n"
    )
    checked = gatechart("check", "orders.yaml", "--json")
    assert (checked.code, [each["code"] for each in checked.document["findings"]]) == (0, ["GC302"])
    as_the_app = gatechart("check", "--app", "orders.yaml", "--json")
    assert as_the_app.code == 3
    assert "GC503" in {each["code"] for each in as_the_app.document["findings"]}


def test_one_chart_file_is_checked_at_a_time(lamp, gatechart):
    failed = gatechart("check", "charts/lamp.yaml", "charts/b.yaml")
    assert (failed.code, failed.err) == (
        2,
        "error: several chart files (charts/lamp.yaml, charts/b.yaml); name one at a time\n",
    )


@pytest.mark.parametrize("style", [(), ("--json",)])
def test_the_schema_of_chart_files_is_printed(style, folder, gatechart):
    printed = gatechart("schema", *style)
    assert (printed.code, printed.err) == (0, "")
    assert printed.document == schema()
    Draft202012Validator.check_schema(printed.document)


@pytest.fixture
def foreign(folder):
    """The working directory, with charts of other tools."""
    (folder / "toggle.json").write_text(TOGGLE)
    (folder / "light.scxml").write_text(f"{SCXML}</scxml>")
    (folder / "lamp.json").write_text(json.dumps(MACHINE))
    return folder


def graph_of(gatechart, *arguments):
    [graph] = gatechart("check", "--json", *arguments).document["graphs"]
    return graph["graph"], graph["transitions"], [each["name"] for each in graph["entry_points"]]


def test_a_file_says_nothing_of_its_dialect_where_the_command_line_does(foreign, gatechart):
    told = gatechart("check", "--app", "toggle.json")
    assert told.code == 3
    assert "entry_points" in told.err
    app = ("--app", "toggle.json", "--dialect", "xstate")
    assert graph_of(gatechart, *app) == ("toggle", ["off --PRESSED--> on", "on --PRESSED--> off"], ["off"])
    assert gatechart("draw", *app).out.startswith('digraph "toggle"')


@pytest.mark.parametrize("where", ["environment", "project"])
def test_the_dialect_may_be_set_in_the_environment_or_the_project(where, foreign, gatechart, monkeypatch):
    dialect = '\ndialect = "xstate"' if where == "project" else ""
    (foreign / "pyproject.toml").write_text(f'[tool.gatechart]\napp = "toggle.json"{dialect}\n')
    if where == "environment":
        monkeypatch.setenv("GATECHART_DIALECT", "xstate")
    assert graph_of(gatechart)[0] == "toggle"
    assert gatechart("start", "toggle", "--at", "off").code == 0


def test_an_unknown_dialect_of_a_project_is_told_with_those_that_there_are(foreign, gatechart):
    (foreign / "pyproject.toml").write_text('[tool.gatechart]\napp = "toggle.json"\ndialect = "x"\n')
    failed = gatechart("check")
    assert failed.code == 3
    assert "dialect is 'x', not one of scxml, xstate, transitions" in failed.err


def test_scxml_documents_and_configurations_of_transitions_are_apps(foreign, gatechart):
    assert graph_of(gatechart, "--app", "light.scxml") == ("light", ["off --on--> on"], ["off"])
    app = ("--app", "lamp.json", "--dialect", "transitions")
    assert graph_of(gatechart, *app) == ("lamp", ["off --pressed--> on"], ["off"])


def test_entry_points_may_be_named_in_place_of_those_of_the_file(foreign, gatechart):
    (foreign / "light.yaml").write_text("id: light\nentry_points: [OFF]\nstates: {OFF: {on: {PRESSED: ON}}, ON: }\n")
    for app in (("light.yaml",), ("light.scxml",), ("lamp.json", "--dialect", "transitions")):
        on = "ON" if app == ("light.yaml",) else "on"
        assert graph_of(gatechart, "--app", *app, "--entry", on, "--entry", on.replace("n", "ff").replace("N", "FF"))[
            2
        ] == [on, "OFF" if on == "ON" else "off"]
    failed = gatechart("check", "--app", "light.yaml", "--entry", "UN")
    assert (failed.code, failed.out) == (3, "")
    assert "'UN'" in failed.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ("desk:desk", "--dialect", "xstate"),
            2,
            "--dialect is only for chart files, and the app 'desk:desk' is Python",
        ),
        (("desk:desk", "--entry", "LISTENING"), 2, "--entry is only for chart files"),
        (("light.scxml", "--dialect", "xstate"), 3, "an .scxml file has its own dialect; leave out --dialect"),
        (("light.scxml:desk",), 3, "add the class of the context, as in module:Context"),
        (("dark.scxml",), 3, "dark.scxml: it cannot be read (No such file or directory)"),
        (("toggle.json", "--dialect", "yaml"), 2, "'yaml' is not one of 'scxml', 'xstate', 'transitions'"),
        (("list.json", "--dialect", "transitions"), 3, "the file does not hold the keywords of a machine"),
    ],
)
def test_a_dialect_or_an_entry_point_that_does_not_fit_the_app_is_refused(arguments, code, told, foreign, gatechart):
    (foreign / "list.json").write_text("[1]")
    failed = gatechart("check", "--app", *arguments)
    assert (failed.code, failed.out) == (code, "")
    assert told in failed.err
