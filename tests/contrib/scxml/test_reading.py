"""SCXML documents: what they become, and what cannot be carried over."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from gatechart import AgentContext, EntryPoint, Runtime
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.scxml import read
from gatechart.errors import InvalidGraphError, MicrostepLimitError
from gatechart.graph.definition import ANY
from gatechart.testing import VirtualClock
from gatechart.testing.rehearsal import rehearse

SCXML_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "scxml.md"

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><scxml><state id="s"/></scxml>'
OUTSIDE = '<!DOCTYPE scxml SYSTEM "file:///etc/passwd"><scxml><state id="s"/></scxml>'


class Brought(BaseModel):
    n: str


def faults_of(document):
    with pytest.raises(NotCarriedError) as raised:
        read(document)
    return [str(fault) for fault in raised.value.faults]


def inside(state, root=""):
    return f"<scxml {root}>\n<state id='s'>\n{state}\n</state>\n</scxml>"


def test_a_document_is_read_from_a_path_from_bytes_and_from_text(tmp_path):
    text = '<?xml version="1.0" encoding="latin-1"?><scxml name="é"><state id="s"/></scxml>'
    path = tmp_path / "chart.scxml"
    path.write_bytes(text.encode("latin-1"))
    assert read(path).name == read(text).name == read(text.encode("latin-1")).name == "é"


def test_the_graph_is_named_and_begins_as_asked():
    graph = read("<scxml><state id='a'/><state id='b'/></scxml>", name="mine", version="7", entry_points=["b"])
    assert (graph.name, graph.version, list(graph.entry_points)) == ("mine", "7", ["b"])


def test_without_entry_points_a_graph_begins_where_its_document_does():
    assert list(read("<scxml initial='b'><state id='a'/><state id='b'/></scxml>").entry_points) == ["b"]
    regions = "<parallel id='p'><state id='a'/><state id='b'/></parallel>"
    door = read(f"<scxml initial='a b'>{regions}</scxml>").entry_points["initial"]
    assert door.state == ANY


def test_states_without_ids_are_numbered():
    graph = read("<scxml><state id='state.1'/><state/><state/><final/></scxml>")
    assert graph.states == ("state.1", "state.2", "state.3", "final.1")


def test_conditions_and_contents_name_themselves():
    [transition] = read(
        inside("<transition event='e' cond='1 &lt; 2'><raise event='f'/><cancel sendid='x'/></transition>")
    ).transitions
    assert transition.guard.__name__ == "1 < 2"
    assert [action.__name__ for action in transition.actions] == ["raise f, cancel x"]
    assert [action.raises for action in transition.actions] == [("f",)]


async def test_the_context_has_a_field_for_each_variable():
    document = "<scxml><datamodel><data id='n' expr='1'/><data id='list'>[1]</data></datamodel><state id='s'/></scxml>"
    async with rehearse(read(document)) as one, rehearse(read(document), payload={"n": "other"}) as other:
        assert one.context.model_dump() == {"n": 1, "list": [1]}
        assert other.context.model_dump() == {"n": "other", "list": [1]}


def test_a_context_of_ones_own_keeps_its_types_and_gets_the_variables_beside():
    class Mine(AgentContext):
        customer: str
        n: int = 5

    kind = read(
        "<scxml><datamodel><data id='n' expr='1'/><data id='m'/></datamodel><state id='s'/></scxml>", context=Mine
    ).context
    assert issubclass(kind, Mine)
    assert kind(customer="c").model_dump() == {"customer": "c", "n": 1, "m": None}
    with pytest.raises(ValueError, match="n\n"):
        kind(customer="c", n="no number")


@pytest.mark.parametrize("document", [LAUGHS, OUTSIDE])
def test_a_document_type_declaration_is_refused(document):
    assert faults_of(document) == ["line 1: a document type declaration can hide entities; drop <!DOCTYPE ...>"]


def test_what_is_not_xml_is_refused_with_its_line():
    assert faults_of("<scxml>\n<state>\n</scxml>") == ["line 3: mismatched tag; mend the XML"]
    assert faults_of("") == ["line 1: no element found; mend the XML"]
    assert "undefined entity" in faults_of("<scxml>&boom;</scxml>")[0]


def test_a_document_that_is_large_or_deep_is_refused():
    assert "it is 1048577 long" in faults_of(" " * (2**20 + 1))[0]
    assert "nested deeper than 100" in faults_of("<scxml>" + "<state>" * 200)[0]


def test_what_is_no_scxml_is_refused():
    assert faults_of("<svg/>")[0].startswith("<svg> in line 1: it is not an SCXML document")
    assert faults_of("<scxml xmlns='urn:other'/>")[0].startswith("<{urn:other}scxml> in line 1")


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (inside("<invoke src='x'/>"), "<invoke> in line 3: it is not carried over inside <state>"),
        (inside("<onentry><script>x()</script></onentry>"), "<script> in line 3: it is not carried over"),
        (inside("<onentry><x:do xmlns:x='urn:x'/></onentry>"), "<{urn:x}do> in line 3: it is not carried over"),
        (
            inside("<transition event='e' type='sideways'/>"),
            "type='sideways' is not carried over; use 'external', 'internal'",
        ),
        (inside("", "binding='soon'"), "<scxml> in line 1: binding='soon' is not carried over; use 'early', 'late'"),
        (inside("", "datamodel='xpath'"), "datamodel='xpath' is not carried over"),
        (inside("<onentry><send event='e' target='http://x'/></onentry>"), "target='http://x' is not carried over"),
        (inside("<onentry><send event='e' target='#_parent'/></onentry>"), "target='#_parent' is not carried over"),
        (
            inside("<onentry><send event='e' type='basichttp'/></onentry>"),
            "type='basichttp' is not carried over; use 'scxml', or leave it out",
        ),
        (
            inside("<onentry><send event='e' type='x' typeexpr='y'/></onentry>"),
            "it has both type and typeexpr; drop one",
        ),
        (
            inside("<transition c:targetpass='' xmlns:c='http://www.w3.org/2005/scxml-conformance'/>"),
            "<transition> in line 3: it belongs to a template of the W3C's tests; transform it for a data model",
        ),
        (
            inside("<c:pass xmlns:c='http://www.w3.org/2005/scxml-conformance'/>"),
            "scxml-conformance}pass> in line 3: it is not carried over inside <state>",
        ),
        (inside("<onentry><send/></onentry>"), "it needs one of 'event', 'eventexpr'"),
        (inside("<onentry><send event='e' delay='soon'/></onentry>"), "delay='soon' is not a duration"),
        (inside("<onentry><send event='e' target='#_internal' delay='1s'/></onentry>"), "cannot be delayed"),
        (
            inside("<onentry><send event='e'><content>1</content><param name='x' expr='1'/></send></onentry>"),
            "stands alone",
        ),
        (inside("<onentry><send event='e'><param name='x'/></send></onentry>"), "it has no value"),
        (inside("<onentry><cancel/></onentry>"), "it needs one of 'sendid', 'sendidexpr'"),
        (inside("<onentry><raise/></onentry>"), "the attribute 'event' is missing"),
        (inside("<onentry><assign location='1 + 1' expr='1'/></onentry>"), "is not a location"),
        (inside("<onentry><log expr='a b'/></onentry>"), "<log> in line 3: expr='a b': the end is expected"),
        (inside("<transition event='e' cond='x = 1'/>"), "<transition> in line 3: cond='x = 1'"),
        (inside("<transition event='e' target='t'/>"), "unknown state 't'; there are 's'"),
        (inside("<state id='s'/>"), "<state> in line 3: the id 's' occurs twice"),
        (inside("<history id='h'/>"), "it needs one <transition>"),
        (inside("<history id='h'><transition/></history>"), "it has no target"),
        (inside("<initial><transition event='e' target='a'/></initial><state id='a'/>"), "it cannot have event here"),
        (
            "<scxml><state initial='a'><initial><transition target='a'/></initial><state id='a'/></state></scxml>",
            "drop one",
        ),
        (inside("<datamodel><data id='_x'/></datamodel>"), "'_x' cannot name a field"),
        (inside("<datamodel><data id='scxml_session'/></datamodel>"), "'scxml_session' cannot name a field"),
        (inside("<datamodel><data id='copy'/></datamodel>"), "'copy' cannot name a field"),
        (inside("<datamodel><data id='class'/></datamodel>"), "'class' cannot name a field"),
        (inside("<datamodel><data id='n'/><data id='n'/></datamodel>"), "the variable 'n' is declared twice"),
        (inside("<datamodel><data id='n' expr='1 +'/></datamodel>"), "<data> in line 3: expr='1 +'"),
        (inside("<datamodel><data id='n' src='file:x'/></datamodel>"), "the attribute 'src' is not carried over"),
        (inside("<onentry colour='red'/>"), "the attribute 'colour' is not carried over; leave it out"),
        (
            inside("<onentry><log><raise event='e'/></log></onentry>"),
            "it is not carried over inside <log>; leave it out",
        ),
    ],
)
def test_what_cannot_be_carried_over_is_named_with_its_line(document, told):
    assert told in "\n".join(faults_of(document))


def test_all_that_is_wrong_is_told_at_once():
    told = faults_of(inside("<transition event='e' target='x' cond='1 +'/>\n<transition event='f' target='y'/>"))
    assert [line.split(":")[0] for line in told] == ["<transition> in line 3"] * 2 + ["<transition> in line 4"]
    with pytest.raises(NotCarriedError, match="for 3 reasons"):
        read(inside("<transition event='e' target='x' cond='1 +'/>\n<transition event='f' target='y'/>"))


def test_a_chart_that_cannot_be_is_refused_by_the_graph():
    with pytest.raises(InvalidGraphError, match="cannot be active together"):
        read("<scxml><state id='s'><transition event='e' target='a b'/></state><state id='a'/><state id='b'/></scxml>")


@pytest.mark.parametrize(
    "send",
    [
        "<send eventexpr='{}'/>",
        "<send eventexpr='null' target='#_internal'/>",
        "<send event='e'><content expr='&quot;\\ud800&quot;'/></send>",
        "<send event='e' target='#_internal'><content expr='&quot;\\ud800&quot;'/></send>",
        "<send event='e' delayexpr='5'/>",
        "<send event='e' namelist='nowhere'/>",
        "<send event='e' idlocation='nowhere' target='#_internal'/>",
    ],
)
async def test_a_send_that_cannot_be_sent_is_an_error_execution(send):
    document = inside(f"<onentry>{send}</onentry><transition event='error.execution' target='t'/>")
    document = document.replace("</scxml>", "<state id='t'/></scxml>")
    async with rehearse(read(document, entry_points=[EntryPoint("s", "door")]), at="door") as rehearsal:
        assert rehearsal.leaves == ("t",)


async def test_an_id_is_kept_of_what_is_sent_inside_too():
    document = inside(
        "<datamodel><data id='n'/></datamodel>"
        "<onentry><send event='e' id='mine' idlocation='n' target='#_internal'/><assign location='n'>text</assign>"
        "<send event='e' idlocation='n'/></onentry>"
    )
    async with rehearse(read(document)) as rehearsal:
        assert len(rehearsal.context.model_dump()["n"]) == 32


async def test_what_is_sent_carries_its_origin_only_where_the_document_asks_for_more_than_name_and_data():
    document = inside("<onentry><send event='e' id='one'/></onentry><transition event='e' target='t' cond='{cond}'/>")
    document = document.replace("</scxml>", "<state id='t'/></scxml>")
    async with (
        rehearse(read(document.format(cond="_event [&quot;data&quot;] === undefined"))) as plain,
        rehearse(read(document.format(cond="_event.sendid"))) as asking,
    ):
        assert plain.leaves == asking.leaves == ("t",)
        payloads = [(await each.agent.history())[-1].event.payload for each in (plain, asking)]
    assert payloads[0] == {}
    assert payloads[1]["scxml.event"]["origin"] == f"#_scxml_{asking.agent.id}"


@pytest.mark.parametrize("event", ["done.invoke.x", "error.execution", "after.1s.s"])
async def test_an_event_of_the_framework_cannot_be_sent_and_the_error_names_what_was_sent(event):
    document = inside(
        f"<onentry><send event='{event}' id='mine'/></onentry>"
        "<transition event='error.execution' cond='_event.sendid == &quot;mine&quot;' target='t'/>"
    ).replace("</scxml>", "<state id='t'/></scxml>")
    async with rehearse(read(document)) as rehearsal:
        assert rehearsal.leaves == ("t",)


async def test_the_session_is_known_at_every_entry_point_and_what_was_brought_stays():
    document = (
        "<scxml><datamodel><data id='n' expr='_sessionid'/><data id='m' expr='n'/></datamodel>"
        "<state id='a'/><state id='b'><state id='c'/><state id='d'/></state></scxml>"
    )
    graph = read(document, entry_points=[EntryPoint("d", takes=Brought)])
    async with rehearse(graph) as first, rehearse(graph, "d", {"n": "mine"}) as other:
        assert first.context.n == first.context.m == first.agent.id
        assert other.context.model_dump() == {"n": "mine", "m": "mine", "scxml_session": other.agent.id}


async def test_an_error_in_data_that_are_bound_at_the_start_is_an_event():
    document = inside(
        "<datamodel><data id='n' expr='_sessionid.x.y'/></datamodel>"
        "<transition event='error.execution' target='t' cond='n === undefined'/>"
    )
    async with rehearse(read(document.replace("</scxml>", "<state id='t'/></scxml>"))) as rehearsal:
        assert rehearsal.leaves == ("t",)


def test_a_transition_that_nothing_can_end_is_refused_by_the_graph():
    with pytest.raises(InvalidGraphError, match="taken forever"):
        read(inside("<transition/>"))


async def test_a_transition_that_never_ends_is_stopped_by_the_bound_of_microsteps():
    document = inside(
        "<transition event='e'><raise event='f'/></transition><transition event='f'><raise event='f'/></transition>"
    )
    async with rehearse(read(document, max_microsteps=7)) as rehearsal:
        with pytest.raises(MicrostepLimitError, match="in 7 microsteps"):
            await rehearsal.send("e")


# What differs from the standard, as docs/reference/scxml.md says.


@pytest.mark.parametrize(
    "name",
    ["class", "$x", "_x", "model_x", "scxml_session", "scxml_bound"]
    + [name for name in dir(AgentContext) if not name.startswith(("_", "model_"))],
)
def test_what_cannot_name_a_field_cannot_name_a_variable(name):
    (fault,) = faults_of(f"<scxml><datamodel><data id='{name}'/></datamodel><state id='s'/></scxml>")
    assert f"{name!r} cannot name a field of a context; rename the variable" in fault
    page = " ".join(SCXML_PAGE.read_text().split())
    assert f"`{name}`" in page or name in ("_x", "model_x")


@pytest.mark.parametrize("text", ["'5' * 2", "null + 1", "1 &lt; '2'", "1 / 0"])
async def test_what_is_not_converted_is_an_error_execution(text):
    transition = f"<transition event='error.execution' target='t'/><onentry><log expr=\"{text}\"/></onentry>"
    async with rehearse(read(f"<scxml><state id='s'>{transition}</state><state id='t'/></scxml>")) as agent:
        assert agent.leaves == ("t",)


async def test_an_event_that_enables_nothing_is_refused_and_eventless_transitions_are_not_asked():
    eventless = "<transition cond=\"_event.name == 'e' || _event.name == 'r'\" target='t'/>"
    raising = "<transition event='f'><raise event='r'/></transition>"
    async with rehearse(read(f"<scxml><state id='s'>{eventless}{raising}</state><state id='t'/></scxml>")) as agent:
        assert not (await agent.send("e")).applied
        assert agent.leaves == ("s",)
        assert (await agent.send("f")).applied  # what it raises enables nothing either, and they are asked
        assert agent.leaves == ("t",)


async def test_a_condition_with_an_error_during_error_execution_raises_no_other():
    handling = "<transition event='error.execution' cond='nowhere'/><transition event='error.execution' target='t'/>"
    going = "<transition event='e'><assign location='nowhere' expr='1'/></transition>"
    counting = "<transition event='error.execution' target='u'/>"
    states = f"<state id='s'>{going}{handling}</state><state id='t'>{counting}</state><state id='u'/>"
    async with rehearse(read(f"<scxml>{states}</scxml>")) as agent:
        outcome = await agent.send("e")
        assert (agent.leaves, [each.guard for each in outcome.guard_errors]) == (("t",), ["nowhere"])


async def test_cancel_takes_back_what_the_same_turn_has_sent():
    sending = "<transition event='go'><send id='x' event='e'/><cancel sendid='x'/></transition>"
    states = f"<state id='s'>{sending}<transition event='e' target='t'/></state><state id='t'/>"
    async with rehearse(read(f"<scxml>{states}</scxml>")) as agent:
        await agent.send("go")
        await agent.advance(1)
        assert agent.leaves == ("s",)


async def test_a_delayed_send_arrives_after_a_restart(sqlite_url):
    waiting = "<onentry><send event='late' delay='30s'/></onentry><transition event='late' target='t'/>"
    graph, clock = read(f"<scxml><state id='s'>{waiting}</state><state id='t'/></scxml>"), VirtualClock()
    async with Runtime.open(sqlite_url, graphs=[graph], clock=clock) as runtime:
        await runtime.start(graph.name, at="s", agent_id="a-1")
    async with Runtime.open(sqlite_url, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.resume("a-1")
        clock.advance(30)
        await agent.until("t")


async def test_a_history_state_as_the_default_of_another_is_named():
    inner = "<state id='b'><history id='i'><transition target='b1'/></history><state id='b1'/></state>"
    outer = f"<state id='a'><history id='h' type='deep'><transition target='i'/></history>{inner}</state>"
    with pytest.raises(InvalidGraphError, match="state 'h': its initial state 'i' is a history state"):
        read(f"<scxml>{outer}</scxml>")


async def test_an_eventless_transition_is_asked_after_an_error_of_a_condition_though_no_transition_took_the_event():
    states = """
      <state id="begin"><transition event="go" target="s"/></state>
      <state id="s">
        <transition cond="_event.name == 'error.execution'" target="t"/>
        <transition event="e" cond="missing.field" target="u"/>
        <transition event="f" cond="false" target="u"/>
      </state><state id="t"/><state id="u"/>"""
    async with rehearse(read(f"<scxml>{states}</scxml>")) as agent:
        await agent.send("go")
        assert not (await agent.send("f")).applied
        assert (await agent.send("e")).applied
        assert agent.leaves == ("t",)


async def test_an_eventless_transition_is_not_asked_after_an_event_that_no_transition_takes():
    transition = "<transition cond=\"_event.name == 'e'\" target='t'/>"
    async with rehearse(read(f"<scxml><state id='s'>{transition}</state><state id='t'/></scxml>")) as agent:
        assert not (await agent.send("e")).applied
        assert agent.leaves == ("s",)
