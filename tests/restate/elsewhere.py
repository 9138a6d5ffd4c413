"""Which tests of the other homes say nothing of Restate: by the capability that it lacks, or the reason."""

import inspect
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SAMPLE = (
    "runtime/capabilities",
    "runtime/exits",
    "runtime/failures",
    "runtime/ids",
    "runtime/inside_turn",
    "runtime/reserved",
    "runtime/until",
)
"""Modules whose tests run on Restate with those that are not slow."""

ALL = None
EMBEDDED = "it is about what is inside an embedded runtime"
GRAPHS = "the service has graphs of its own, and migrates"
LACKING = "needs {}"

NEEDS = {
    "prunes": {"runtime/prune": ALL},
    "migrates_ahead": {
        "runtime/migrate": ALL,  # resuming does it elsewhere
        "runtime/mended": {"test_an_idempotency_key_stays_the_same_when_a_migration_renames_the_state"},
        "runtime/handoffs_standing": {
            "test_who_waits_in_a_state_that_gets_another_name_waits_there",
            "test_an_agent_that_the_new_version_does_not_invoke_is_withdrawn_and_another_begins",
            "test_a_migration_into_a_state_invokes_its_agent",
        },
    },
    "watches_changes": {
        "runtime/invokes": {"test_a_stream_cannot_be_watched_inside_a_turn"},
        "clients/client": ALL,  # of `gatechart serve`, which tells changes
        "serving/parts": ALL,
        "serving/verbs": ALL,
        "serving/reserved": ALL,
    },
    "bounds_backlogs": {
        "runtime/mail": {
            "test_mail_for_agents_that_nobody_starts_is_bounded_for_all_of_them_together",
            "test_mail_for_agents_that_are_there_counts_for_nothing_though_they_are_not_in_memory",
        },
    },
    "reads_back_at_once": {"runtime/rollback": {"test_mail_that_waits_is_applied_after_the_rollback"}},
    "shows_at_once": {"runtime/until": {"test_many_wait_through_many_handles"}},
    "withdraws": {
        "runtime/cancelling": {"test_a_turn_that_was_accepted_but_has_not_begun_is_withdrawn"},
    },
    "tells_repeats": {
        "runtime/mail": {
            "test_mail_is_applied_in_the_order_accepted",
            "test_an_id_is_accepted_once_while_it_waits_and_after_it_was_applied",
            "test_an_id_with_other_content_is_refused",
            "test_posts_of_one_id_at_the_same_instant_are_accepted_once",
            "test_what_is_not_accepted_takes_no_room",
        },
    },
    "lists_all_mail": {
        "runtime/mail": {
            "test_mail_that_was_accepted_is_delivered_by_the_next_runtime",
            "test_mail_is_listed_page_by_page",
            "test_mail_that_waits_is_neither_retried_nor_discarded",
            "test_mail_cannot_be_listed_by_what_cannot_be",
        },
        "runtime/mended": {"test_a_number_that_no_mail_can_have_is_unknown"},
    },
}
"""Tests that need what `RestateRuntime.capabilities` says is not had, by the names of the fields."""

WHY_NOT = {
    EMBEDDED: {
        "runtime/commits": ALL,
        "runtime/doubt": ALL,
        "runtime/ends": {"test_an_erasure_goes_on_when_its_caller_is_cancelled"},
        "runtime/invokes": {
            "test_a_state_entered_while_the_runtime_closes_has_its_invoke_begun_by_the_next",
            "test_no_more_invokes_run_at_once_than_the_limits_allow",
        },
    },
    "nobody owns a database, and nobody has to ask whoever does": {"runtime/requests": ALL, "runtime/visiting": ALL},
    "the service does not know whether its caller has gone": {
        "runtime/cancelling": {"test_a_turn_that_fails_after_its_caller_has_gone_is_logged_and_undone"},
    },
    "a service has no callers that could wait for room": {
        "runtime/mail": {
            "test_a_poster_that_stops_waiting_for_room_takes_no_room",
            "test_a_poster_waits_for_room_and_those_who_came_first_go_first",
            "test_who_waits_for_room_is_told_that_the_runtime_closes",
        },
    },
    "the exception itself stays in the service": {
        "runtime/failures": {"test_what_an_action_raised_is_the_cause_of_the_error"},
        "runtime/inside_turn": {"test_a_call_that_could_wait_for_ever_is_an_error_inside_a_turn"},
    },
    GRAPHS: {
        "runtime/resume": {"test_an_agent_in_a_state_that_is_no_leaf_any_more_is_not_resumed"},
    },
    "agents are found in the order in which they were projected": {
        "runtime/start": {"test_many_agents_start_at_once"},
    },
    "sends of one process to an agent wait there for one another, and what others post goes before": {
        "runtime/mail": {"test_mail_whose_id_was_applied_by_a_send_while_it_waited_is_a_repeat"},
        "contrib/human_desk/human_desk": {"test_a_case_that_is_kept_too_late_ends_as_returned"},
    },
    "what a turn leaves for its own agent is taken before what others posted while it ran": {
        "runtime/lost_mail": {"test_an_agent_that_has_left_the_state_is_not_told"},
    },
}
"""Tests of which no capability speaks, with the reason why they say nothing of Restate."""

SETS_A_CLOCK = re.compile(r"clock\.|at_rest\(|pass_time\(|\bNOON\b")
LOOKS = {
    EMBEDDED: re.compile(
        r"\._(core|outside|host|asking)\b|\b(open_store|open_asking|_offer_instead|_held_back)\(|role="
    ),
    GRAPHS: re.compile(r"runtime\.register\("),
    LACKING.format("lists_all_mail"): re.compile(r"\.(retry|discard)\("),
    LACKING.format("watches_changes"): re.compile(r"\.(changes|stream)\("),
}
"""By what the text of a test tells as much."""


def home_of(item):
    """The home that a test of any home is run on; None where it is another test."""
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("place")


def is_sample(item):
    """Whether it runs with the tests that are not slow."""
    return _module_of(item) in SAMPLE


def why_not(item):
    """Why a test says nothing of Restate; None where it does."""
    for capability, tests in NEEDS.items():
        if _is_in(tests, item):
            return LACKING.format(capability)
    source = inspect.getsource(item.function)
    if SETS_A_CLOCK.search(source):
        return LACKING.format("takes_a_clock")
    reasons = [reason for reason, tests in WHY_NOT.items() if _is_in(tests, item)]
    reasons += [reason for reason, looks in LOOKS.items() if looks.search(source)]
    return reasons[0] if reasons else None


def _is_in(modules, item):
    module = _module_of(item)
    return module in modules and (modules[module] is ALL or item.originalname in modules[module])


def _module_of(item):
    return f"{item.path.parent.relative_to(TESTS).as_posix()}/{item.path.stem.removeprefix('test_')}"
