"""What learning reads of the choices that a directory keeps, from one refresh to the next."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart.hosting.choice_learning import Learning
from gatechart.hosting.kept_choices import KeptChoice
from gatechart.selection.learned import Learned
from gatechart.selection.observations import Observations, packed
from gatechart.selection.rewards import reward_of
from gatechart.values.directory import Ended
from gatechart.values.frozen import replaced

pytest.importorskip("numpy", reason="NOT TESTED on learning of choices: the extra gatechart[learning] is missing")

START = datetime(2030, 1, 1, tzinfo=UTC)
ENTRIES = ("orders.TAKING", "refunds.REVIEWING", "anna")


class Kept:
    """A directory that keeps choices by entry, each with a version that grows."""

    def __init__(self):
        self.entries = {}

    def change(self, name, choices):
        version, _ = self.entries.get(name, (0, ()))
        self.entries[name] = version + 1, tuple(choices)

    async def kept_choices(self, known):
        return dict(self.entries)


def choice(number, entry, source):
    features = packed({source.choice("abcdef") * 3: 1.0, source.choice("abcdef") * 3: 0.5})
    ended = source.choice([None, Ended.COMPLETED, Ended.FAILED])
    at = START + timedelta(minutes=number)
    ended_at = ended and at + timedelta(minutes=source.randrange(30))
    return KeptChoice(
        f"h{number}", at, features, ((entry, "", 0.5, 0.0),), 0.5, user=f"u{number % 4}", ended=ended, ended_at=ended_at
    )


async def test_what_is_read_step_by_step_is_what_is_read_at_once():
    source, kept = Random(4), Kept()
    learning = Learning(kept, Learned(trusted=True, loss=1e9, deficit=1e9), reward_of)
    for number in range(150):
        entry = source.choice(ENTRIES)
        _, choices = kept.entries.get(entry, (0, ()))
        match source.choice(["new", "new", "new", "end", "forget", "offered again"]):
            case "end":
                choices = [
                    each if each.ended else replaced(each, ended=Ended.COMPLETED, ended_at=START) for each in choices
                ]
            case "forget":
                choices = [each for each in choices if each.user != "u1"]
            case "offered again" if number:
                choices = [*choices, choice(source.randrange(number), entry, source)]
            case _:
                choices = [*choices, choice(number, entry, source)]
        kept.change(entry, {each.handoff: each for each in choices[-20:]}.values())
        await learning.lesson(packed({"aaa": 1.0}), dict.fromkeys(ENTRIES, 0.5), (), ("learned", "history"), START)
        listed = [each for _, choices in kept.entries.values() for each in choices]
        made = [observation for each in listed if (observation := each.observation(reward_of)) is not None]
        assert learning._observed == Observations().added(*made)
        assert learning._model.observations == learning._observed
