"""`gatechart directory`."""

import re

import pytest

ANNA = ("directory", "register", "anna", "desk", "--at", "LISTENING", "--person", "--tier", "3", "--can", "talk")


@pytest.fixture(autouse=True)
def there(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))


def test_an_entry_is_registered_listed_shown_and_deregistered(gatechart):
    made = gatechart(*ANNA, "--capacity", "4")
    assert made.code == 0
    assert made.out.splitlines()[1].split() == [
        "anna",
        "desk",
        "at",
        "LISTENING",
        "talk",
        "3",
        "0",
        "of",
        "4",
        "1.00",
        "yes",
    ]
    assert gatechart("directory").out == made.out
    document = gatechart("directory", "--json").document
    assert [each["id"] for each in document["entries"]] == ["anna"]
    shown = gatechart("directory", "show", "anna")
    assert "a person" in shown.out
    assert gatechart("directory", "show", "anna", "--json").document == document["entries"][0]
    assert gatechart("directory", "deregister", "anna", "--json").document == {"id": "anna", "deregistered": True}
    listed = gatechart("directory", "list")
    assert (listed.out, listed.err) == ("", "no entries found\n")


def test_the_lines_of_what_an_entry_says_of_itself_are_shown_in_one(gatechart):
    assert gatechart(*ANNA, "--text", "Soothes people\nSpeaks German").code == 0
    shown = gatechart("directory", "show", "anna").out.splitlines()
    assert (
        next(line for line in shown if line.startswith("text")).split(maxsplit=1)[1] == "Soothes people / Speaks German"
    )


def test_an_entry_is_pinned_excluded_closed_and_opened(gatechart):
    gatechart(*ANNA)
    assert gatechart("directory", "pin", "anna").out.splitlines()[1].endswith("first")
    assert "excluded: it guesses" in gatechart("directory", "exclude", "anna", "--reason", "it guesses").out
    assert "closed: holiday" in gatechart("directory", "close", "anna", "--reason", "holiday").out
    assert "mark         closed: holiday" in gatechart("directory", "show", "anna").out
    assert gatechart("directory", "open", "anna").out.splitlines()[1].endswith("yes")


def test_a_whole_profile_can_be_given_as_json(gatechart, tmp_path):
    file = tmp_path / "anna.json"
    file.write_text(
        '{"domains": ["bills"], "samples": ["my bill is wrong"], "schedule": [{"days": ["MON"]}], "tier": 1}'
    )
    found = gatechart(*ANNA, "--profile", f"@{file}", "--language", "de", "--lasts", "5m", "--json").document
    profile = found["candidate"]["profile"]
    assert (profile["domains"], profile["languages"], profile["tier"]) == (["bills"], ["de"], 3)
    shown = gatechart("directory", "show", "anna").out
    assert "MON 00:00-00:00 UTC" in shown
    assert "expires" in shown


def test_entries_are_listed_a_page_at_a_time(gatechart):
    for name in ("b", "a"):
        gatechart("directory", "register", name, "desk", "--at", "LISTENING")
    first = gatechart("directory", "--limit", "1")
    assert (first.out.splitlines()[1].split()[0], first.err) == ("a", "there are more; add --after a\n")
    assert gatechart("directory", "--after", "a").out.splitlines()[1].split()[0] == "b"


def test_a_dry_run_tells_whom_work_would_go_to(gatechart):
    gatechart(*ANNA, "--domain", "bills")
    chosen = gatechart("directory", "choose", "--domain", "bills")
    assert chosen.code == 0
    assert chosen.out.splitlines()[0].split() == ["chosen", "anna"]
    nobody = gatechart("directory", "choose", "--domain", "moon")
    assert nobody.out.splitlines()[0].split() == ["chosen", "nobody"]
    assert re.search(r"CANDIDATE +WHY IT FELL OUT *\nanna +domain: not moon", nobody.out)
    document = gatechart("directory", "choose", "--can", "talk", "--tier", "3", "--json").document
    assert document["candidate"]["id"] == "anna"


SUPPORT = """
from gatechart.selection import Best, Needs
from gatechart import Fallbacks, Handoff, Human, StateTransitionGraph, Transition
from statecharts.support_team import reception, team

best = Handoff(Best(Needs(domains=("moon",)), name="moon"), fallbacks=Fallbacks(Human("OrderAgent", at="SERVING")))
moonstruck = StateTransitionGraph(
    "moonstruck",
    transitions=[Transition("A", "ASK", "B", actions=best), Transition("B", "ASK", "B", actions=best)],
    entry_points=["A"],
)


def stumbling(packet):
    raise KeyError("plan")


helpless = StateTransitionGraph(
    "helpless",
    transitions=[Transition("A", "ASK", "B", actions=Handoff(Best(stumbling)))],
    entry_points=["A"],
)
hurried = StateTransitionGraph(
    "hurried",
    transitions=[
        Transition("A", "BROKE", "B", actions=Handoff(Best(), reason="tool failure")),
        Transition("A", "ASK", "B", actions=Handoff(Best())),
    ],
    entry_points=["A"],
)
graphs = [reception, moonstruck, helpless, hurried, *team]
"""


@pytest.mark.parametrize(
    ("problem", "reason", "chosen"),
    [
        ("退款政策是什么？", "knowledge gap", {"specialist": "RefundAgent"}),
        ("特殊订单查询失败", "tool failure", {"specialist": "AdvancedOrderAgent"}),
        ("转人工", "user escalation", {"specialist": "HumanAgent_Tier3"}),
        ("冰箱坏了，谁能修？", "out of scope", {"specialist": None, "generalist": "HumanAgent_Tier3"}),
    ],
)
def test_a_dry_run_goes_by_the_rules_and_the_fallbacks_of_a_graph(project, gatechart, problem, reason, chosen):
    (project / "support.py").write_text(SUPPORT)
    asked = ("--app", "support:graphs", "directory", "choose", "--of", "reception", "--problem", problem)
    (run,) = gatechart(*asked, "--reason", reason, "--json").document["handoffs"]
    made = {each["best"]: each["candidate"] for each in run["choices"]}
    assert {name: each and each["graph"] for name, each in made.items()} == chosen
    assert (run["from"], run["then"]) == (["LISTENING on GOT_STUCK"], None)
    shown = [line.split()[1] for line in gatechart(*asked, "--reason", reason).out.splitlines() if line[:6] == "chosen"]
    assert shown == [f"{each}.SERVING" if each else "nobody" for each in chosen.values()]


def test_a_dry_run_tells_who_is_named_for_what_nobody_matches(project, gatechart):
    (project / "support.py").write_text(SUPPORT)
    asked = gatechart("--app", "support:graphs", "directory", "choose", "--of", "moonstruck")
    assert asked.out.splitlines()[0].split(maxsplit=1) == ["from", "A on ASK, B on ASK"]
    assert asked.out.splitlines()[-1].split(maxsplit=1) == ["then", "OrderAgent at SERVING"]


def test_a_dry_run_tells_for_which_reason_each_handoff_of_a_graph_would_be_made(project, gatechart):
    (project / "support.py").write_text(SUPPORT)
    asked = ("--app", "support:graphs", "directory", "choose", "--of", "hurried", "--reason", "timeout")
    assert [each["reason"] for each in gatechart(*asked, "--json").document["handoffs"]] == ["tool failure", "timeout"]
    shown = gatechart(*asked).out
    assert re.findall(r"^from +(.+)\nreason +(.+)\nselection +best\n", shown, re.MULTILINE) == [
        ("A on BROKE", "tool failure"),
        ("A on ASK", "timeout"),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--of", "OrderAgent"), "no handoff of 'OrderAgent' has its target chosen"),
        (("--of", "receptoin"), "did you mean 'reception'"),
        (("--of", "helpless"), "needs= of 'best' raised KeyError: 'plan'; mend that function"),
        (("--reason", "timeout"), "add --of GRAPH"),
        (("--of", "reception", "--reason", "spite"), "'knowledge gap', 'out of scope'"),
    ],
)
def test_a_dry_run_that_cannot_be_made_says_what_would_work(project, gatechart, options, told):
    (project / "support.py").write_text(SUPPORT)
    refused = gatechart("--app", "support:graphs", "directory", "choose", *options)
    assert (refused.code != 0, told in refused.err) == (True, True), refused.err


@pytest.mark.parametrize("read", [("directory",), ("directory", "show", "anna"), ("directory", "choose")])
def test_an_app_that_cannot_be_loaded_is_told_not_taken_for_none(gatechart, read):
    gatechart(*ANNA)
    failed = gatechart("--app", "nowhere:graphs", *read)
    assert (failed.code, failed.out) == (3, "")
    assert "nowhere" in failed.err


def test_without_an_app_what_is_kept_is_shown_with_a_hint(gatechart, project):
    gatechart(*ANNA)
    (project / "pyproject.toml").unlink()
    shown = gatechart("directory", "show", "anna")
    assert shown.out.startswith("entry        anna")
    assert "without an app, the entry points of its graphs are not known" in shown.err


def test_a_user_is_forgotten(gatechart):
    assert gatechart("directory", "forget", "ada", "--json").document == {"user": "ada", "forgotten": True}


@pytest.mark.parametrize(
    ("wrong", "code", "text"),
    [
        (("directory", "show", "bert"), 4, "no entry 'bert'; register it with `gatechart directory register`"),
        (("directory", "close", "bert"), 4, "no entry 'bert'"),
        (("directory", "deregister", "bert"), 4, "no entry 'bert'"),
        (("directory", "register", "x", "bank", "--at", "OPEN"), 4, "there are 'desk'"),
        ((*ANNA, "--profile", "[]"), 2, "--profile takes a JSON object"),
        ((*ANNA, "--profile", '{"capabilites": []}'), 4, "capabilites"),
        (("directory", "rate", "none"), 2, "say something of it"),
        ((*ANNA, "--lasts", "soon"), 2, "'soon' is not a duration"),
        ((*ANNA, "--lasts", "0"), 2, "not in the range"),
        (("directory", "rate", "none", "--needed"), 4, "handoff 'none': there is none"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(gatechart, wrong, code, text):
    failed = gatechart(*wrong)
    assert (failed.code, text in failed.err) == (code, True), failed.err
    assert gatechart("directory").out == ""
