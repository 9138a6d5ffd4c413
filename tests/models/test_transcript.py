"""A transcript is read from a journal's entries, and says what is known, what is open, and what may be replaced."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gatechart.handoff import Message, ToolCall
from gatechart.handoff.conversation import SUMMARY
from gatechart.models import Finish, Usage
from gatechart.models.contents import with_own_ids
from gatechart.models.entries import CallResult, Compaction, Feedback, Heard, ModelTurn, text_of
from gatechart.models.hearing import SourceMessages, compared
from gatechart.models.transcript import Transcript

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def user(text):
    return Message(role="user", content=text)


def turn(number, *calls, by="1.f", text="", **more):
    message = Message(role="agent", content=text or f"turn {number}", time=NOON, tool_calls=calls)
    usage = Usage(input_tokens=10 * number, output_tokens=1)
    return ModelTurn(number=number, by=by, state="A", message=message, finish=Finish.CALLS, usage=usage, **more)


def read(**entries):
    """A transcript with entries under names such as `turn_1`."""
    named = {name.replace("_", "."): entry for name, entry in entries.items()}
    return Transcript({name: text_of(name, entry) for name, entry in named.items()})


CALL = ToolCall(name="look", arguments={"n": 1}, id="a")


def test_a_turn_and_the_results_of_its_calls_are_one_message():
    talk = read(heard_1_0=Heard(messages=(user("hi"),)), turn_1=turn(1, CALL, CALL.model_copy(update={"id": "b"})))
    assert [place for place, _ in talk.open_calls()] == [0, 1]
    talk.add("result.1.1", text_of("result.1.1", CallResult(turn=1, place=1, error="no")))
    assert [place for place, _ in talk.open_calls()] == [0]
    assert talk.untold(()) == ()  # it is no whole message yet
    talk.add("result.1.0", text_of("result.1.0", CallResult(turn=1, place=0, output={"n": 2})))
    said, own = talk.messages
    assert (said, [(call.output, call.error) for call in own.tool_calls]) == (
        user("hi"),
        [({"n": 2}, ""), (None, "no")],
    )
    assert talk.untold(()) == (own,)


def test_entries_of_other_names_are_left_alone():
    talk = Transcript({"gatechart.run.1": "0", "welcome": '"done"'})
    assert (talk.messages, talk.turns, talk.last, talk.size, talk.is_answered) == ((), 0, None, 0, False)


def test_whoever_spoke_last_had_the_last_word():
    talk = read(turn_1=turn(1))
    assert talk.is_answered
    talk.add("feedback.1", text_of("feedback.1", Feedback(turn=1, message=user("no"))))
    assert not talk.is_answered


messages = st.lists(st.sampled_from([user("a"), user("b"), Message(role="agent", content="a")]), max_size=6)


@given(messages, messages)
def test_what_is_heard_is_what_exceeds_the_transcript_and_is_never_heard_again(before, said):
    talk = read(heard_1_0=Heard(messages=tuple(before)))
    new = compared(talk, SourceMessages("", said)).new
    talk.add("heard.1.1", text_of("heard.1.1", Heard(messages=new)))
    assert compared(talk, SourceMessages("", said)).new == ()
    assert all(talk.messages.count(each) == max(before.count(each), said.count(each)) for each in (*before, *said))


@given(st.lists(st.booleans(), max_size=8), st.integers(1, 8))
def test_a_summary_stands_for_the_older_part_and_nothing_of_it_is_heard_again(kinds, keep):
    talk, said = Transcript(), []
    for number, is_turn in enumerate(kinds, start=1):
        name = f"turn.{number}" if is_turn else f"heard.{number}.0"
        said += [] if is_turn else [user(f"{number}")]
        entry = turn(number) if is_turn else Heard(messages=(user(f"{number}"),))
        talk.add(name, text_of(name, entry))
    old, new = talk.split(keep)
    assert (*old.messages, *new.messages) == talk.messages
    assert len(new.messages) == min(keep, len(kinds))
    summary = Message(role=SUMMARY, content="so far")
    usage = old.usage_of("1.f")
    entry = Compaction(turns=talk.turns, summary=summary, by="1.f", usage=usage, known=old.known_of(said))
    new.add("compaction.9", text_of("compaction.9", entry))
    assert new.messages[0] == summary
    assert (new.turns, new.usage_of("1.f")) == (talk.turns, talk.usage_of("1.f"))
    assert compared(new, SourceMessages("", said)).new == ()


def test_a_call_gets_an_id_of_its_own_if_it_has_none_or_one_that_is_taken():
    other = CALL.model_copy(update={"arguments": {"other": 1}})
    message = turn(1, CALL, other, CALL.model_copy(update={"id": ""})).message
    ids = [call.id for call in with_own_ids(message, set()).tool_calls]
    assert (ids[0], len(set(ids)), all(ids)) == ("a", 3, True)
    assert with_own_ids(message, {"a"}).tool_calls[0].id != "a"


def entries_of(*pairs):
    return {name: text_of(name, entry) for name, entry in pairs}


def state_of(transcript):
    return (
        transcript.messages,
        transcript.forms,
        transcript.slots(),
        transcript.turns,
        transcript.last,
        transcript.usage,
    )


TALK = (
    ("heard.1.0", Heard(messages=(user("one"),))),
    ("turn.1.again", turn(1, ToolCall(name="f", id="c1"))),
    ("result.1.0", CallResult(turn=1, place=0, output={"of": [1]})),
    ("turn.2", turn(2, text="done", form=1)),
    ("heard.3.0", Heard(messages=(user("two"),))),
)


@given(st.integers(0, len(TALK)), st.booleans())
def test_a_continued_transcript_is_the_one_that_is_read_from_all_entries(count, is_asked):
    earlier = Transcript(entries_of(*TALK[:count]))
    if is_asked:
        state_of(earlier)
    before, entries = state_of(Transcript(entries_of(*TALK[:count]))), entries_of(*TALK)
    assert state_of(earlier.continued(entries)) == state_of(Transcript(entries))
    assert state_of(earlier) == before


@given(st.permutations(TALK), st.integers(0, len(TALK)))
def test_a_transcript_whose_entries_are_no_longer_there_is_read_anew(others, count):
    earlier, entries = Transcript(entries_of(*TALK)), entries_of(*others[:count])
    assert state_of(earlier.continued(entries)) == state_of(Transcript(entries))


def test_the_result_of_a_call_shows_in_a_turn_that_was_asked_for_again():
    transcript = Transcript(entries_of(*TALK[:2]))
    assert transcript.messages[-1].tool_calls[0].output is None
    transcript.add(*entries_of(TALK[2]).popitem())
    assert transcript.messages[-1].tool_calls[0].output == {"of": [1]}
    assert not any(slot.is_open for slot in transcript.slots())
