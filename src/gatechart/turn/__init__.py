"""The processing of one event to completion, SCXML's macrostep: the only place that calls guards and actions."""

from gatechart.turn.arguments import (
    checked_addressee,
    checked_due,
    checked_id,
    checked_key,
    checked_moment,
    checked_name,
    checked_words,
    known_handoff,
    known_id,
    known_number,
    raised_name,
    sought_id,
)
from gatechart.turn.dead_letter_notices import error_mail, keeps
from gatechart.turn.handoff_acceptance import begin_with_offer
from gatechart.turn.handoff_dispatch import (
    REQUESTED,
    delegated,
    is_about_handoff,
    is_awaited,
    is_word_of_handoff,
    no_later,
    requested,
    take_mail,
)
from gatechart.turn.handoff_offers import ACCEPTED
from gatechart.turn.handoff_rejections import Rejection, Void, readable, rejected, rejection, withdrawn
from gatechart.turn.handoff_state import Standing, failures, still_awaited
from gatechart.turn.internal_events import ERROR_EXECUTION, told
from gatechart.turn.macrostep import Macrostep
from gatechart.turn.payload import check_finite, check_numbers_kept, fit_payload, own_copy, plain_payload
from gatechart.turn.turn_context import Turn, log_of
from gatechart.turn.turns import begin, beginnings, committed_context, take_turn

__all__ = [
    "ACCEPTED",
    "ERROR_EXECUTION",
    "REQUESTED",
    "Macrostep",
    "Rejection",
    "Standing",
    "Turn",
    "Void",
    "begin",
    "begin_with_offer",
    "beginnings",
    "check_finite",
    "check_numbers_kept",
    "checked_addressee",
    "checked_due",
    "checked_id",
    "checked_key",
    "checked_moment",
    "checked_name",
    "checked_words",
    "committed_context",
    "delegated",
    "error_mail",
    "failures",
    "fit_payload",
    "is_about_handoff",
    "is_awaited",
    "is_word_of_handoff",
    "keeps",
    "known_handoff",
    "known_id",
    "known_number",
    "log_of",
    "no_later",
    "own_copy",
    "plain_payload",
    "raised_name",
    "readable",
    "rejected",
    "rejection",
    "requested",
    "sought_id",
    "still_awaited",
    "take_mail",
    "take_turn",
    "told",
    "withdrawn",
]
