"""Where the command looks for graphs, and what it says where it finds none."""

import pytest


@pytest.mark.parametrize("name", ["desk", "by_name", "both"])
def test_an_app_is_a_graph_or_a_sequence_or_a_mapping(name, folder, gatechart):
    document = gatechart("check", "--app", f"desk:{name}", "--json").document
    assert [graph["graph"] for graph in document["graphs"]] == (["desk"] if name == "desk" else ["desk", "strict"])


def test_the_nearest_project_with_a_table_for_gatechart_names_the_app(project, gatechart, monkeypatch):
    inner = project / "packages" / "inner"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text('[project]\nname = "inner"\n')
    monkeypatch.chdir(inner)
    assert gatechart("check").code == 0  # `desk` lies beside the pyproject.toml that names it


def test_an_app_that_is_named_goes_before_the_environment_and_that_before_the_project(project, gatechart, monkeypatch):
    def graphs(*arguments):
        return [graph["graph"] for graph in gatechart("check", "--json", *arguments).document["graphs"]]

    assert graphs() == ["desk", "strict"]
    monkeypatch.setenv("GATECHART_APP", "desk:strict")
    assert graphs() == ["strict"]
    assert graphs("--app", "desk:desk") == ["desk"]


def test_an_app_may_lie_in_a_package(folder, gatechart):
    (folder / "office").mkdir()
    (folder / "office" / "__init__.py").write_text("from desk import desk\n")
    (folder / "office" / "front.py").write_text("from office import desk as front\n")
    assert gatechart("check", "--app", "office.front:front").code == 0


@pytest.mark.parametrize(
    ("app", "error", "told"),
    [
        ("desk", "AppNameError", "; write module:attribute for graphs in Python"),
        ("desk:", "AppNameError", "; write module:attribute for graphs in Python"),
        (":desk", "AppNameError", "; write module:attribute for graphs in Python"),
        ("./desk:desk", "AppNameError", "malformed app"),
        ("desk2:desk", "AppModuleError", "no module 'desk2' is installed or in {folder}: did you mean 'desk'?"),
        (
            "desk.front:desk",
            "AppModuleError",
            "no module 'desk.front' is installed or in the module 'desk': there are none",
        ),
        (
            "desk.py:desk",
            "AppModuleError",
            "no module 'desk.py' is installed or in the module 'desk': did you mean 'desk'? There are 'desk'",
        ),
        ("email.mime.txt:a", "AppModuleError", "did you mean 'email.mime.text'"),
        (
            "desk:dask",
            "AppAttributeError",
            "no 'dask'; of graphs, did you mean 'desk'? There are 'desk', 'strict', 'both', 'by_name'",
        ),
        ("json:graphs", "AppAttributeError", "module 'json' has no 'graphs'; of graphs, there are none"),
        ("desk:number", "AppGraphsError", "is of type int; it must be a graph"),
        ("desk:word", "AppGraphsError", "is of type str; it must be a graph"),
        ("desk:mixed", "AppGraphsError", "contains values that are not graphs, of type str, int"),
        ("desk:nothing", "AppGraphsError", "is empty"),
        ("twice:twice", "DuplicateGraphError", "two graphs are named 'desk'"),
        ("divides:a", "AppImportError", "ZeroDivisionError: division by zero ({folder}/divides.py:2)"),
        ("leaves:a", "AppImportError", "SystemExit ({folder}/leaves.py:1)"),
        ("lacks:a", "AppImportError", "ModuleNotFoundError: No module named 'nowhere' ({folder}/lacks.py:1)"),
        ("nameless:a", "AppImportError", "ModuleNotFoundError ({folder}/nameless.py:1)"),
        ("opens:a", "AppImportError", "({folder}/opens.py:2)"),
        ("mistyped:a", "AppImportError", "({folder}/mistyped.py:1)"),
        (
            "runs:a",
            "AppImportError",
            "({folder}/runs.py:4); the module runs a program when it is imported",
        ),
    ],
)
def test_an_app_that_cannot_be_loaded_is_told_in_one_line_with_a_remedy(app, error, told, folder, gatechart):
    (folder / "twice.py").write_text("from desk import desk\ntwice = [desk, desk]")
    (folder / "divides.py").write_text("def divide():\n    1 / 0\ndivide()")
    (folder / "leaves.py").write_text("raise SystemExit")
    (folder / "lacks.py").write_text("import nowhere")
    (folder / "nameless.py").write_text("raise ModuleNotFoundError")
    (folder / "opens.py").write_text("from pathlib import Path\nPath('nothing').read_text()")
    (folder / "mistyped.py").write_text("a = (")
    (folder / "runs.py").write_text("import asyncio\nasync def main():\n    pass\nasyncio.run(main())")
    failed = gatechart("check", "--app", app)
    assert (failed.code, failed.out) == (3, "")
    assert told.format(folder=folder) in failed.err
    assert failed.err.count("\n") == 1
    document = gatechart("check", "--app", app, "--json").error
    assert (document["error"], document["exit_code"]) == (error, 3)


def test_where_nobody_names_an_app_the_error_says_how_to(folder, gatechart):
    failed = gatechart("check")
    assert failed.code == 3
    assert failed.err == (
        "error: no app; name the graphs with --app module:attribute, --app chart.yaml:module or "
        'GATECHART_APP, or write app = "module:attribute" under [tool.gatechart] in a pyproject.toml in or above '
        f"{folder}\n"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.gatechart]\n", "it has no app"),
        ("[tool.gatechart]\napp = 7\n", "app is 7"),
        ("[tool]\ngatechart = 7\n", "[tool.gatechart] is not a table"),
        ("[tool.gatechart\n", "it cannot be read"),
    ],
)
def test_a_project_that_names_no_app_rightly_is_told(text, told, folder, gatechart):
    (folder / "pyproject.toml").write_text(text)
    failed = gatechart("check")
    assert failed.code == 3
    assert failed.err.startswith(f"error: {folder / 'pyproject.toml'}: {told}")
    assert failed.err.endswith('under [tool.gatechart] write app = "module:attribute" or "chart.yaml:module"\n')


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("chosing", "unknown key 'chosing': did you mean 'choosing'? There are 'app', "),
        ("store", "under [tool.gatechart] write one of these, and name the store with --store or GATECHART_STORE\n"),
    ],
)
def test_a_key_of_the_project_that_nothing_reads_is_refused(key, told, folder, gatechart):
    (folder / "pyproject.toml").write_text(f'[tool.gatechart]\napp = "desk:both"\n{key} = "x:y"\n')
    failed = gatechart("check")
    assert failed.code == 3
    assert told in failed.err
