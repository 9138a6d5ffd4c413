"""The contract finds what a store does wrong with handoffs."""

from dataclasses import replace

import pytest

from gatechart.stores import MemoryStore
from gatechart.stores.operations import InsertMail
from gatechart.testing.contracts import HandoffContract
from gatechart.values.commits import RejectionReport, ReserveSlot, Verdict
from gatechart.values.handoffs import HandoffQuery


class ChangesFromAnyStatus(MemoryStore):
    async def commit(self, units):
        handoffs = self._tables.handoffs
        handoffs |= {name: replace(each, status=each.changes[0].status) for name, each in handoffs.items()}
        return await super().commit(units)


class AnswersEveryTime(MemoryStore):
    async def commit(self, units):
        verdicts = await super().commit(units)
        for unit in units:
            if isinstance(unit, RejectionReport):
                self._tables.apply(InsertMail(unit.reply))
        return [
            Verdict.COMMITTED if isinstance(unit, RejectionReport) else verdict
            for unit, verdict in zip(units, verdicts, strict=True)
        ]


class LosesItsSlots(MemoryStore):
    async def commit(self, units):
        self._tables._slots.clear()
        return await super().commit(units)


class NeverFreesSlots(MemoryStore):
    def __init__(self):
        super().__init__()
        self._tables._free = lambda handoff_id: None


class KeepsHandoffsOfTheErased(MemoryStore):
    async def erase(self, agent_id):
        kept = dict(self._tables.handoffs)
        is_erased = await super().erase(agent_id)
        self._tables.handoffs = kept
        return is_erased


class ErasesWhatIsOffered(MemoryStore):
    def __init__(self):
        super().__init__()
        self._tables.is_offered = lambda agent_id: False


class PrunesWhoIsWaitedFor(MemoryStore):
    def __init__(self):
        super().__init__()
        self._tables.with_open_handoffs = set


class FindsWithoutTheStatus(MemoryStore):
    async def handoffs(self, query):
        return await super().handoffs(HandoffQuery(query.source, query.target, None, query.request, query.id))


class TakesWhatWasNeverOffered(MemoryStore):
    async def commit(self, units):
        verdicts = await super().commit(units)
        return [
            Verdict.COMMITTED if isinstance(unit, RejectionReport | ReserveSlot) else verdict
            for unit, verdict in zip(units, verdicts, strict=True)
        ]


@pytest.mark.parametrize(
    ("store", "law", "arguments"),
    [
        (ChangesFromAnyStatus(), HandoffContract.test_an_offer_is_taken_once, (False,)),
        (AnswersEveryTime(), HandoffContract.test_an_answer_consumes_its_mail_and_replies_once, ()),
        (AnswersEveryTime(), HandoffContract.test_an_answer_without_its_mail_is_stale, ()),
        (LosesItsSlots(), HandoffContract.test_places_are_bounded_and_a_repeat_takes_no_second, ()),
        (NeverFreesSlots(), HandoffContract.test_what_is_over_gives_its_place_back, (False,)),
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
