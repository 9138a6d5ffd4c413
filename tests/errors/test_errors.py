from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import pytest

from gatechart import errors
from gatechart.errors import (
    DefinitionError,
    EntryGuardError,
    EventError,
    Fault,
    GatechartError,
    InvalidGraphError,
    OutsideError,
    StoreOwnedError,
    UnknownGraphError,
    UnknownStateError,
    suggestion,
)
from tests.errors.samples import LEAVES, SAMPLES
from tests.support import NOW

BRANCHES = (DefinitionError, EventError, OutsideError)


# What each error says would have worked; one that has no entry here fails, so that none is forgotten.
REMEDIES: dict[str, str] = {
    "FrameworkAgentError": "; instead, a text",
    "ActionFailedError": "Fix the action, or the event's payload, or handle 'error.execution'",
    "AgentAsleepError": "call again when `gatechart move` has ended",
    "AgentEndedError": "wait for a state that it can reach",
    "AgentExistsError": "resume it, or start an agent with another id",
    "AgentTooLargeError": "store large values elsewhere and keep their keys in the context",
    "AmbiguousEntryError": "rename one of them",
    "AmbiguousTriggerError": "start one of them by name",
    "CallReusedError": "give a new call a new call_id",
    "ContextInvalidError": "Fix the action that set it",
    "DeadMailError": "fix the cause and retry(7) it",
    "DrawingError": "a text",  # the problem that it was given says it
    "EmbeddingError": "a text",  # the remedy that it was given
    "DuplicateGraphError": "a different name or version",
    "ElsewhereError": "a text",  # what can be done instead, which it was given
    "EngineRefusedError": "that `gatechart restate serve` is running",
    "EngineUnreachableError": "start the engine, or give the address",
    "EntryGuardError": "pass a payload that the guard accepts",
    "EntryRefusedError": "its entry points are one, two",
    "EntryTakenError": "register another id",
    "LookAlikeError": "choose one that differs",
    "TooManyEntriesError": "deregister one",
    "EventIdReusedError": "give a new event a new id",
    "EventRefusedError": "a text",  # the reason, which tells what would be accepted
    "ExitRaisedError": "raise an Exception there",
    "ExtraMissingError": "run `pip install 'gatechart[a text]'`",
    "FeedLaggedError": "a larger Limits(feed=...)",
    "HandoffStateError": "it can become 'one', 'two'",
    "HandoffNotAwaitedError": "lead to a state that waits for handoff.accepted",
    "NotFailedError": "go back to any version with rollback()",
    "NotReachedError": "wait again, or use a longer timeout",
    "OpenHandoffError": "cancel them, or wait until they end",
    "MailFailedError": "Fix the cause, or advance the clock",
    "NoInvokeError": "it runs 'one', 'two'",
    "NoTimerError": "find its number with mail()",
    "NoHandoffError": "look it up with handoffs() or `gatechart handoffs`",
    "UnknownHandoffError": "it has 'one', 'two'",
    "BacklogFullError": "a larger Limits(a text=...)",
    "BreakerOpenError": "close it with close_breaker('a text')",
    "ChoiceFailedError": "fix the function that computes vectors, or the filter or scorer",
    "GuardBudgetError": "write the guard as a named function",
    "InboxFullError": "Limits(when_full=WhenFull.WAIT) or a larger inbox",
    "IncompatibleGraphError": "register the graph that the agent was started with",
    "InsideLoopError": "await asyncio.to_thread(...)",
    "InsideTurnError": "use turn.send",
    "InvalidChartError": "even it out",
    "InvalidGraphError": "even it out",
    "InvalidChoosingError": "even it out",
    "InvalidToolError": "even it out",
    "InvocationOverError": "let the invoke end when it is cancelled",
    "McpPinsError": "use a file that can be read and written",
    "McpServerError": "check that it runs, that its name is right",
    "MicrostepLimitError": "Break the cycle with a guard",
    "MoveError": "a text",  # the remedy that it was given
    "NoGraphError": "pass graphs=[...]",
    "NoWorkError": "rate needed or in_time",
    "NoToolBoxError": "add an attribute or item `tools`",
    "BudgetUsedUpError": "raise the limit, or let `error.invoke.<id>` lead to a state",
    "IncompleteAnswerError": "enter the state again to get another",
    "ModelFailedError": "or check with its provider",
    "ToolNameTakenError": "give one of the two another name",
    "OutcomeUnknownError": "find out whether the tool has acted",
    "OwnershipLostError": "Open a new runtime",
    "ProjectionLagError": "try again once",
    "PacketError": "a text",  # the remedy that it was given
    "PayloadError": "Expected: a text",
    "ReadOnlyContextError": "or change a copy",
    "ReadOnlyError": "open it for writing",
    "RemoteDefinitionError": "see its log",
    "AnswerUnreadableError": "run the same version in both processes",
    "RemoteEventError": "see its log",
    "RemoteOutsideError": "see its log",
    "OwnerGoneError": "repeat the request",
    "ReservedEventError": "choose another name",
    "RequestLateError": "repeat the call as a new request",
    "RequestTimeoutError": "wait longer, or see what the owner is doing",
    "RollbackError": "go back to a later version",
    "RuntimeClosedError": "call it inside `async with Runtime.open(...)`",
    "SchemaOutdatedError": "run `gatechart upgrade`",
    "SchemaTooNewError": "install a newer gatechart",
    "SelectionAnswerError": "return",
    "SelectionFunctionError": "fix that function",
    "ServiceAddressError": "choose another address with --bind",
    "StaleAgentError": "send again",
    "StepRepeatedError": "give each step or wait of an invocation a unique name",
    "StepResultError": "return JSON values or a pydantic model",
    "StoreBusyError": "or wait longer",
    "StoreCorruptError": "restore it from a backup",
    "StoreFailedError": "again",
    "StoreMissingError": "name another",
    "StoreMovedError": "continue there",
    "StoreOwnedError": "end it first",
    "StoreReadOnlyError": "make file and folder writable",
    "StoreUnreachableError": "check that the server runs",
    "StoreUnreadableError": "make file and folders readable",
    "StoreUrlError": "use 'sqlite+aiosqlite:///agents.db'",
    "TakingBackError": "choose a version before or after the compensation",
    "TurnTimeoutError": "move slow work into an invoke",
    "UndeclaredEventError": "there are 'one', 'two'",
    "UndeclaredInvokeError": "there are 'one', 'two'",
    "UnknownAgentError": "`gatechart list`",
    "UnknownGraphError": "there are 'one', 'two'",
    "UnknownEffectError": "use one of 'one', 'two'",
    "UnknownInvokeError": "give a changed graph a new version",
    "UnknownFieldError": "there are 'one', 'two'",
    "UnknownMailError": "list them with mail(status='refused') or 'dead'",
    "UnknownEntryError": "look it up with directory()",
    "UnknownScheduleError": "look it up with schedules()",
    "UnknownSelectorError": "there are 'one', 'two'",
    "UnknownPlaceError": "pass the `next` of a page",
    "UnknownStateError": "there are 'one', 'two'",
    "UnknownTriggerError": "there are 'one', 'two'",
    "UnwritableError": "store large values elsewhere",
    "UnknownVersionError": "versions 7 to 7 are available",
}


def sample(kind: type) -> GatechartError:
    return kind(*(SAMPLES[field.type] for field in fields(kind)))


def test_the_walk_finds_every_error_of_the_module() -> None:
    defined = {each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, GatechartError)}
    assert set(LEAVES) == {each for each in defined if not each.__subclasses__()}
    assert {each.__name__ for each in LEAVES} >= set(REMEDIES)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_survives_pickling_with_all_its_facts(kind: type) -> None:
    error = sample(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    for field in fields(kind):
        assert getattr(again, field.name) == getattr(error, field.name) == SAMPLES[field.type]
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_raised_with_keywords_survives_pickling(kind: type) -> None:
    error = kind(**{field.name: SAMPLES[field.type] for field in fields(kind)})
    assert str(pickle.loads(pickle.dumps(error))) == str(sample(kind))


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_says_in_its_docstring_what_happened(kind: type) -> None:
    written = vars(kind)["__doc__"]
    assert written.endswith(".")
    assert not written.startswith(f"{kind.__name__}(")  # what dataclass writes where nobody did


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_names_what_would_have_worked(kind: type) -> None:
    assert kind.__name__ in REMEDIES, "a new error: add what it says would have worked to REMEDIES"
    assert REMEDIES[kind.__name__] in str(sample(kind))


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_tells_all_its_facts(kind: type) -> None:
    for field in fields(kind):
        marked = {each.name: SAMPLES[each.type] for each in fields(kind)}
        if field.type in {"str", "str | None"}:
            marked[field.name] = f"<{field.name}>"
            assert f"<{field.name}>" in str(kind(**marked))


@pytest.mark.parametrize("kind", LEAVES)
def test_an_error_belongs_to_exactly_one_branch(kind: type) -> None:
    assert sum(issubclass(kind, branch) for branch in BRANCHES) == 1


def test_the_root_has_the_three_branches_and_no_other_children() -> None:
    ours = [each for each in GatechartError.__subclasses__() if each.__module__.startswith("gatechart.")]
    assert sorted(ours, key=str) == sorted(BRANCHES, key=str)


def test_an_error_is_equal_to_itself_alone_so_that_it_can_be_hashed() -> None:
    error = UnknownGraphError("a", ())
    assert error != UnknownGraphError("a", ())
    assert {error: 1}[error] == 1


def test_a_name_that_is_nearly_right_is_suggested_first() -> None:
    text = str(UnknownStateError("lamp", "GREETNIG", ("DONE", "GREETING")))
    assert text == "'lamp' has no state 'GREETNIG': did you mean 'GREETING'? There are 'DONE', 'GREETING'"


def test_a_state_that_was_sought_in_all_graphs_is_in_none() -> None:
    text = str(UnknownStateError("", "GREETNIG", ("GREETING",)))
    assert text == "no graph has a state 'GREETNIG': did you mean 'GREETING'? There are 'GREETING'"


def test_where_nothing_is_known_the_error_says_that_there_is_none() -> None:
    assert str(UnknownGraphError("lamp", ())) == "no graph is named 'lamp': there are none"


def test_all_faults_stand_in_the_text_each_with_its_remedy() -> None:
    one, two = Fault("here", "it is odd", "even it out"), Fault("there", "it is round", "square it")
    assert str(InvalidGraphError("g", (one,))) == "graph 'g' has 1 fault\n  - here: it is odd; even it out"
    assert str(InvalidGraphError("g", (one, two))) == (
        "graph 'g' has 2 faults\n  - here: it is odd; even it out\n  - there: it is round; square it"
    )


def test_a_guard_of_an_entry_point_said_no_or_raised() -> None:
    assert "is_open said no" in str(EntryGuardError("g", "A", "is_open"))
    assert "is_open raised KeyError: 'x'" in str(EntryGuardError("g", "A", "is_open", "KeyError: 'x'"))


def test_the_owner_of_a_store_is_named_with_and_without_the_time() -> None:
    assert "process 12 on host since 2026-01-02 03:04:05 UTC;" in str(StoreOwnedError("a.db", "host", 12, NOW))
    assert "process 12 on host; end it first" in str(StoreOwnedError("a.db", "host", 12, None))


@pytest.mark.parametrize("wrong", [None, 7, ["A"]])
def test_what_is_no_text_is_near_to_no_name(wrong: Any) -> None:
    assert suggestion(wrong, ("A", "B")) == "there are 'A', 'B'"
