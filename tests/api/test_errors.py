"""Every error that there is travels: the other side raises the same class with the same facts."""

from dataclasses import fields
from datetime import UTC, datetime

import pytest

import gatechart.cli
import gatechart.contrib  # noqa: F401
from gatechart.api.errors import ErrorDocument
from gatechart.errors import (
    DefinitionError,
    EventError,
    Fault,
    FileFault,
    GatechartError,
    OutsideError,
    RemoteDefinitionError,
    RemoteEventError,
    RemoteOutsideError,
    StoreOwnedError,
)

SAMPLES = {
    "str": "a text",
    "str | None": None,
    "bool": True,
    "bool | None": True,
    "int": 7,
    "int | None": None,
    "float": 2.5,
    "tuple[str, ...]": ("one", "two"),
    "tuple[Fault, ...]": (Fault("state 'A'", "it is odd", "even it out"),),
    "tuple[FileFault, ...]": (FileFault(1, 2, ("states", 0), "it is odd", "even it out"),),
    "datetime | None": datetime(2030, 1, 1, 12, 0, 0, 123456, tzinfo=UTC),
}


def below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


KINDS = [
    each
    for each in dict.fromkeys(below(GatechartError))
    if each.__module__.startswith("gatechart.") and not each.__subclasses__()  # nobody raises the bases
]


def travelled(error):
    return ErrorDocument.model_validate_json(ErrorDocument.of(error).model_dump_json()).value()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_comes_back_as_itself_with_all_its_facts(kind):
    error = kind(*(SAMPLES[field.type] for field in fields(kind)))
    again = travelled(error)
    assert type(again) is kind
    assert [getattr(again, field.name) for field in fields(kind)] == [
        getattr(error, field.name) for field in fields(kind)
    ]
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_for_strangers_is_the_same_error_without_the_words_of_exceptions(kind):
    error = kind(*(SAMPLES[field.type] for field in fields(kind)))
    assert {field.name for field in fields(kind)} >= set(kind.private)
    for name in kind.private:
        setattr(error, name, "KeyError: 'secret'")
    document = ErrorDocument.for_stranger(error, "4f2a")
    assert "secret" not in document.model_dump_json()
    assert (document.reference, "4f2a" in document.message) == (("4f2a", True) if kind.private else ("", False))
    again = document.value()
    assert type(again) is kind
    for field in fields(kind):
        if field.name not in kind.private:
            assert getattr(again, field.name) == getattr(error, field.name)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_that_holds_what_was_raised_says_that_this_is_private(kind):
    assert {field.name for field in fields(kind)} & {"raised"} <= set(kind.private)


def test_no_two_errors_have_one_name():
    assert len({kind.__name__ for kind in KINDS}) == len(KINDS)


def test_a_moment_comes_back_in_utc():
    owned = travelled(StoreOwnedError("a.db", "host", 17, SAMPLES["datetime | None"]))
    assert owned.since.utcoffset().total_seconds() == 0


@pytest.mark.parametrize(
    ("branch", "general"),
    [
        (DefinitionError, RemoteDefinitionError),
        (EventError, RemoteEventError),
        (OutsideError, RemoteOutsideError),
    ],
)
def test_an_error_of_a_newer_gatechart_becomes_a_general_one_of_the_same_blame(branch, general):
    class NewerError(branch):
        def __str__(self):
            return "more than is known here"

    error = travelled(NewerError())
    assert type(error) is general
    assert (error.error, error.message) == ("NewerError", "more than is known here")
    assert isinstance(error, branch)


def test_facts_that_do_not_fit_the_class_make_a_general_error_too():
    for facts in ({"agent_id": []}, {"agent": "a"}, {}):
        document = ErrorDocument(error="UnknownAgentError", message="no a", facts=facts, blame="event")
        assert type(document.value()) is RemoteEventError


def test_what_is_no_error_of_gatechart_is_blamed_on_the_outside():
    error = travelled(ZeroDivisionError("division by zero"))
    assert str(error).startswith("the host of the agents raised ZeroDivisionError: division by zero")
    assert type(error) is RemoteOutsideError
