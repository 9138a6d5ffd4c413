"""`value` makes what `dataclass(frozen=True, slots=True)` makes, only faster."""

from __future__ import annotations

import inspect
import pickle
from copy import deepcopy
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields, replace

import pytest

from gatechart.values.frozen import maker, replaced, value


@value
class Parcel:
    """Something on its way."""

    to: str
    weight: int = field(compare=False)
    stamps: tuple[str, ...] = ()

    @property
    def is_stamped(self) -> bool:
        """Whether there is a stamp on it."""
        return bool(self.stamps)


@dataclass(frozen=True, slots=True)
class Twin:
    """The same, as dataclasses make it."""

    to: str
    weight: int = field(compare=False)
    stamps: tuple[str, ...] = ()


PARCEL = Parcel("Ada", 3)


def test_arguments_are_taken_by_place_and_by_name_with_the_same_defaults():
    assert (PARCEL.to, PARCEL.weight, PARCEL.stamps) == ("Ada", 3, ())
    assert Parcel(weight=3, to="Ada", stamps=("1d",)) == replace(PARCEL, stamps=("1d",))
    assert inspect.signature(Parcel).parameters == inspect.signature(Twin).parameters


@pytest.mark.parametrize("arguments", [{}, {"to": "Ada"}, {"to": "Ada", "weight": 3, "colour": "red"}])
def test_wrong_arguments_are_told_as_of_a_dataclass(arguments):
    with pytest.raises(TypeError) as told:
        Parcel(**arguments)
    with pytest.raises(TypeError) as twins:
        Twin(**arguments)
    assert str(told.value) == str(twins.value).replace("Twin", "Parcel")


def test_a_value_cannot_be_changed_and_has_no_room_for_more():
    with pytest.raises(FrozenInstanceError):
        PARCEL.to = "Grace"
    with pytest.raises(FrozenInstanceError):
        del PARCEL.to
    assert not hasattr(PARCEL, "__dict__")


def test_values_are_equal_hashed_and_told_as_those_of_a_dataclass():
    assert Parcel("Ada", 4) == PARCEL != Parcel("Grace", 3)
    assert hash(Parcel("Ada", 4)) == hash(PARCEL)
    assert repr(PARCEL) == repr(Twin("Ada", 3)).replace("Twin", "Parcel")
    assert [each.name for each in fields(Parcel)] == ["to", "weight", "stamps"]


def test_a_value_survives_copying_and_pickling():
    stamped = replace(PARCEL, stamps=("1d",))
    assert deepcopy(stamped) == pickle.loads(pickle.dumps(stamped)) == stamped
    assert stamped.is_stamped


def test_a_value_with_other_contents_is_told_as_dataclasses_tell_it():
    stamped = replaced(PARCEL, stamps=("1d",), weight=4)
    assert (stamped.to, stamped.weight, stamped.stamps) == ("Ada", 4, ("1d",))
    assert (PARCEL.weight, PARCEL.stamps) == (3, ())
    assert replaced(stamped) == stamped
    with pytest.raises(TypeError, match="colour"):
        replaced(PARCEL, colour="red")


@value
class Form:
    """One with many fields, which is filled in another way."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    g: int
    h: int = 8


@value
class LongerForm(Form):
    """One that inherits many fields."""

    i: int = 9


@pytest.mark.parametrize("kind", [Form, LongerForm])
def test_one_with_many_fields_is_a_frozen_value_of_its_class(kind):
    form = kind(*range(7))
    assert type(form) is kind
    assert [getattr(form, each.name) for each in fields(kind)][:8] == [0, 1, 2, 3, 4, 5, 6, 8]
    assert pickle.loads(pickle.dumps(form)) == deepcopy(form) == form != replaced(form, a=1)
    with pytest.raises(FrozenInstanceError):
        form.a = 1
    with pytest.raises(FrozenInstanceError):
        replaced(form, a=1).a = 2


@pytest.mark.parametrize("kind", [Parcel, Form, LongerForm])
def test_a_maker_builds_what_its_class_does(kind):
    make = maker(kind)
    contents = range(len([each for each in fields(kind) if each.default is MISSING]))
    made, built = make(*contents), kind(*contents)
    assert made == built
    assert type(made) is kind
    assert repr(made) == repr(built)
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, 1)
    with pytest.raises(TypeError, match="colour"):
        make(*contents, colour="red")


@pytest.mark.parametrize("count", [1, 30])
def test_a_field_may_have_any_name(count):
    names = ("kind", "self", "value", "names", "open", "made")[: None if count > 1 else 1]
    made = {name: int for name in (*names, *(f"f{index}" for index in range(count))) if name != "self"}
    kind = value(type("Many", (), {"__annotations__": made}))
    built = kind(*range(len(made)))
    assert [getattr(built, name) for name in made] == list(range(len(made)))
    assert maker(kind)(*range(len(made))) == built
