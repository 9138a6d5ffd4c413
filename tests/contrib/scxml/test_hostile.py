"""SCXML that means harm: read and run within a few seconds and little memory, with errors that say why and where."""

import json
import time

import pytest

from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.scxml import read
from gatechart.testing.rehearsal import rehearse
from tests.hostile import outcomes

pytestmark = pytest.mark.long

N = 8_000
LIMIT_S = 60  # of what takes two at the most


def document(inside):
    return f"<scxml>\n{inside}</scxml>"


def data(first, following, count):
    """Data of which each is made of the one before; `$` stands for that."""
    rest = "".join(f"<data id='a{n}' expr='{following.replace('$', f'a{n - 1}')}'/>\n" for n in range(1, count))
    return document(f"<datamodel>\n<data id='a0' expr='{first}'/>\n{rest}</datamodel><state id='s'/>")


def one(expression):
    return data(expression, "", 1)


def entering(content, values=""):
    return document(f"<datamodel>{values}</datamodel><state id='s'>\n<onentry>{content}</onentry></state>")


def targets(count):
    names = [f"s{n}" for n in range(count)]
    states = "".join(f"<state id='{name}'/>" for name in names)
    return document(f"<state id='x'><transition event='e' target='{' '.join(names)}'/></state>{states}")


TEN = "[1,2,3,4,5,6,7,8,9,10]"
SIZE, DEPTH, STEPS = "more than 1,000,000 nested values", "nested more than 150 deep", "more than 1,000,000 steps"
WAIT, DIGITS = "more than 150 nested operators", "more than 250 digits"
HOSTILE = {
    "texts doubled": (data('"xxxxxxxxxx"', "$+$", 30), SIZE),
    "lists of lists": (data("[1]", "[$,$,$,$,$,$,$,$,$,$]", 15), SIZE),
    "objects of objects": (data("{a: 1}", "{a: $, b: $, c: $, d: $}", 30), SIZE),
    "lists joined": (data("[1]", "$.concat($,$,$,$,$,$,$,$)", 15), SIZE),
    "texts joined": (data(TEN, "[$.join($), $.join($), $.join($)]", 30), "more than 1,000,000"),
    "texts of texts": (data("[1]", "JSON.stringify([$,$])", 40), SIZE),
    "texts of lists": (data("[1]", '[$+"", $+""]', 40), SIZE),
    "deep lists": (data("[1]", "[$]", 1_200), DEPTH),
    "squares": (data("99999999999", "$*$", 60), "more than 308 digits"),
    "sums": (data("1e308", "$+$", 60), None),
    "many copies": (data(json.dumps(["x" * 1_000] * 100), "[$,1]", 5_000), STEPS),
    "a long number": (one("9" * 500_000), DIGITS),
    "a long hexadecimal number": (one("0x" + "f" * 500_000), DIGITS),
    "no number": (one("Math.floor(1e999) + 1e999 % 3"), None),
    "many operators": (one("+".join("1" * N)), WAIT),
    "many signs": (one("!" * N + "1"), WAIT),
    "many members": (one("a" + ".a" * N), WAIT),
    "many conditions": (one("1?1:" * N + "1"), "nested deeper than 25"),
    "many parentheses": (one("(" * N + "1"), "nested deeper than 25"),
    "deep JSON": (document(f"<datamodel>\n<data id='a'>{'[' * N}</data></datamodel><state/>"), "arrays and objects"),
    "JSON as deep as it can be read": (
        document(f"<datamodel>\n<data id='a'>{'[' * 900}{']' * 900}</data></datamodel><state/>"),
        DEPTH,
    ),
    "a long number of JSON": (document(f"<datamodel><data id='a'>{'9' * N}</data></datamodel><state/>"), None),
    "a long delay": (entering(f"<send event='e' delay='{'9' * N}s'/>"), "is not a duration"),
    "deep content": (entering("<send event='e'><content>" + "[" * N + "</content></send>"), "arrays and objects"),
    "many targets": (targets(N), "more than 32 states"),
    "many initial states": (targets(N).replace("<scxml>", f"<scxml initial='{'x ' * N}'>"), "more than 32 states"),
    "many unknown targets": (
        document("<state id='x'>" + "".join(f"<transition event='e' target='q{n}'/>" for n in range(N)) + "</state>"),
        "unknown state",
    ),
    "many elements": (document("<state/>" * 30_000), "more than 20,000 elements"),
    "many states": (document("<state/>" * N), None),
    "many regions": (document(f"<parallel>{'<state/>' * N}</parallel>"), None),
    "many internal transitions": (
        document(
            f"<state id='a'><state id='b'/>{'<state/>' * N}"
            + "<transition event='e' type='internal' target='b'/>" * N
            + "</state>"
        ),
        None,
    ),
    "deep states": (document("<state>" * 97 + "</state>" * 97), None),
    "deep conditions": (entering("<if cond='true'>" * 95 + "</if>" * 95), None),
    "a deep expression far inside": (
        document("<state>" * 90 + f"<transition event='e' cond='{'(' * 24}1{')' * 24}'/>" + "</state>" * 90),
        None,
    ),
}
PROGRAM = """
import json, os, resource, signal, sys
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.scxml import read
for path in sys.argv[1:]:
    sys.stdout.flush()
    if child := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"path": path, "status": status}))
        continue
    with open(path, "rb") as file:
        content = file.read()
    signal.setitimer(signal.ITIMER_PROF, 20.0)  # seconds of the processor, after which the process is ended
    resource.setrlimit(resource.RLIMIT_DATA, (300 << 20, 300 << 20))
    problem = None
    try:
        read(content)
    except NotCarriedError as error:
        problem = str(error.faults[0])[:2000]
    print(json.dumps({"path": path, "problem": problem}), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What became of each document, read in a process of its own within the limits."""
    documents = {name: content.encode() for name, (content, _) in HOSTILE.items()}
    return outcomes(PROGRAM, documents, tmp_path_factory.mktemp("hostile"), timeout_s=600)


@pytest.mark.processes
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_read_or_refused_within_its_limits(name, told):
    found, (_, problem) = told[name], HOSTILE[name]
    assert found["status"] == 0, found["errors"][-500:]
    if problem is None:
        assert found["problem"] is None
    else:
        assert problem in found["problem"]
        assert "in line" in found["problem"] or found["problem"].startswith("line ")


def test_a_limit_is_told_with_the_element_that_meets_it():
    with pytest.raises(NotCarriedError) as raised:
        read(data('"xxxxxxxxxx"', "$+$", 20))
    assert str(raised.value.faults[0]).startswith("<data> in line 20: a value has more than 1,000,000")


LIST = f"<data id='list' expr='{TEN}'/><data id='text' expr='\"xxxxxxxxxx\"'/><data id='n' expr='99999999'/>"


def nested(depth, inside):
    loops = "".join(f"<foreach array='list' item='i{n}'>" for n in range(depth))
    return loops + inside + "</foreach>" * depth


RUNNING = {
    "loops": (nested(8, "<assign location='n' expr='1'/>"), "more than 1,000,000 steps"),
    "loops that do nothing": (nested(8, ""), "more than 1,000,000 steps"),
    "texts": (nested(2, "<assign location='text' expr='text + text'/>"), SIZE),
    "lists": (nested(2, "<assign location='list' expr='list.concat(list)'/>"), SIZE),
    "long expressions": (
        nested(4, f"<if cond='[{','.join(['!' * 140 + 'true'] * 20)}]'/>"),
        "more than 1,000,000 steps",
    ),
    "a list in itself": (nested(3, "<assign location='list[0]' expr='list'/>"), "more than"),
    "a list in itself, twice": (
        nested(2, "<assign location='list[0]' expr='list'/><assign location='list[1]' expr='list'/>"),
        "more than",
    ),
    "numbers": (nested(2, "<assign location='n' expr='n * n'/>"), "more than 308 digits"),
    "events": (nested(5, "<raise event='e'/>"), "more than 1,000,000 steps"),
    "timers": (nested(5, "<send event='e' delay='9s'/>"), "more than 1,000,000 steps"),
    "large events": (
        nested(2, "<if cond='text.length &lt; 300000'><assign location='text' expr='text + text'/></if>")
        + nested(3, "<send event='e' delay='9s'><param name='t' expr='text'/></send>"),
        "more than 1,000,000 steps",
    ),
    "comparisons": (
        nested(1, "<if cond='list.length &lt; 80000'><assign location='list' expr='list.concat(list)'/></if>")
        + "<foreach array='list' item='i'><if cond='list === [] || list.includes(77)'/></foreach>",
        "more than 1,000,000 steps",
    ),
}


@pytest.mark.parametrize("name", RUNNING)
async def test_hostile_content_ends_in_an_error_that_names_limit_and_place(name):
    content, limit = RUNNING[name]
    failed = "<transition event='error.execution' target='failed'>"
    kept = "<assign location='told' expr='_event.data.message'/></transition>"
    graph = read(
        document(
            f"<datamodel>{LIST}<data id='told'/></datamodel><state id='a'><transition event='go' target='s'/></state>"
            f"<state id='s'>{failed}{kept}\n<onentry>{content}</onentry></state><state id='failed'/>"
        ),
        entry_points=["a"],
    )
    async with rehearse(graph, at="a") as agent:
        began = time.monotonic()
        await agent.send("go")
        assert time.monotonic() - began < LIMIT_S
        assert limit in agent.context.told
        assert agent.context.told.startswith("<")
        assert " in line 3: " in agent.context.told


REPEATED = {
    "blocks": ("</onentry><onentry>".join([nested(5, "")] * 100), ""),
    "transitions": (
        "",
        "<transition cond='n &lt; 900'><assign location='n' expr='n + 1'/>" + nested(5, "") + "</transition>",
    ),
}


@pytest.mark.parametrize("name", REPEATED)
async def test_the_blocks_of_a_turn_share_their_steps(name):
    entry, transition = REPEATED[name]
    told = (
        "<transition event='error.execution' target='failed'>"
        "<assign location='told' expr='_event.data.message'/></transition>"
    )
    values = f"<data id='list' expr='{TEN}'/><data id='n' expr='0'/><data id='told' expr='\"\"'/>"
    graph = read(
        document(
            f"<datamodel>{values}</datamodel><state id='a'><transition event='go' target='s'/></state>"
            f"<state id='s'>{transition}{told}<onentry>{entry}</onentry></state><state id='failed'/>"
        ),
        entry_points=["a"],
    )
    async with rehearse(graph, at="a") as agent:
        await agent.send("go")
        assert "more than 1,000,000 steps" in agent.context.told


@pytest.mark.parametrize("condition", ["text + text + text + text === text", "list.includes(list)"])
async def test_a_condition_over_what_an_event_brings_is_bounded(condition):
    graph = read(
        document(
            "<datamodel><data id='text'/><data id='list'/></datamodel>"
            f"<state id='a'><transition event='go' cond='{condition.replace('text', '_event.data.text')}' target='b'/>"
            "</state><state id='b'/>"
        ).replace("list.includes(list)", "_event.data.list.includes(_event.data.list)"),
        entry_points=["a"],
    )
    async with rehearse(graph, at="a") as agent:
        outcome = await agent.send("go", {"text": "x" * 900_000, "list": [[n] for n in range(600_000)]})
        assert not outcome.applied
        assert "more than 1,000,000" in str(outcome.guard_errors)
