"""The contract finds what a store does wrong with handoffs."""

import pytest

from gatechart.stores import MemoryStore
from gatechart.testing.contracts import HandoffContract
from gatechart.values import Answer, HandoffQuery, ReserveSlot, Verdict


class SettlesFromAnyStatus(MemoryStore):
    async def commit(self, units):
        entries = self._handoffs._book.entries
        entries |= {name: each._replace(status=each.changes[0].status) for name, each in entries.items()}
        return await super().commit(units)


class AnswersEveryTime(MemoryStore):
    def _answer(self, answer):
        super()._answer(answer)
        self._pending.put(answer.reply)
        return Verdict.COMMITTED


class LosesItsPlaces(MemoryStore):
    async def commit(self, units):
        self._handoffs._book._places.clear()
        return await super().commit(units)


class NeverGivesPlacesBack(MemoryStore):
    def __init__(self):
        super().__init__()
        self._handoffs._book.release = lambda handoff: None


class KeepsHandoffsOfTheErased(MemoryStore):
    def __init__(self):
        super().__init__()
        self._handoffs.forget = lambda agent_id: None


class ErasesWhatIsOffered(MemoryStore):
    def __init__(self):
        super().__init__()
        self._handoffs.is_offered = lambda agent_id: False


class PrunesWhoIsWaitedFor(MemoryStore):
    def __init__(self):
        super().__init__()
        self._handoffs.at_work = set


class FindsWithoutTheStatus(MemoryStore):
    async def handoffs(self, query):
        return await super().handoffs(HandoffQuery(query.source, query.target, None, query.request, query.id))


class TakesWhatWasNeverOffered(MemoryStore):
    async def commit(self, units):
        verdicts = await super().commit(units)
        return [
            Verdict.COMMITTED if isinstance(unit, Answer | ReserveSlot) else verdict
            for unit, verdict in zip(units, verdicts, strict=True)
        ]


@pytest.mark.parametrize(
    ("store", "law", "arguments"),
    [
        (SettlesFromAnyStatus(), HandoffContract.test_an_offer_is_taken_once, (False,)),
        (AnswersEveryTime(), HandoffContract.test_an_answer_consumes_its_mail_and_replies_once, ()),
        (AnswersEveryTime(), HandoffContract.test_an_answer_without_its_mail_is_stale, ()),
        (LosesItsPlaces(), HandoffContract.test_places_are_bounded_and_a_repeat_takes_no_second, ()),
        (NeverGivesPlacesBack(), HandoffContract.test_what_is_over_gives_its_place_back, (False,)),
        (KeepsHandoffsOfTheErased(), HandoffContract.test_an_erased_agent_takes_its_handoffs_along, ()),
        (ErasesWhatIsOffered(), HandoffContract.test_an_agent_to_which_something_is_offered_is_not_erased, ()),
        (PrunesWhoIsWaitedFor(), HandoffContract.test_a_pruning_leaves_who_has_a_part_in_an_open_handoff, ()),
        (FindsWithoutTheStatus(), HandoffContract.test_handoffs_are_found_by_all_that_is_asked, ()),
        (TakesWhatWasNeverOffered(), HandoffContract.test_an_answer_to_what_was_taken_meanwhile_is_stale, ()),
    ],
)
async def test_the_contract_finds_what_a_store_does_wrong(store, law, arguments):
    with pytest.raises(AssertionError):
        await law(HandoffContract(), store, *arguments)
