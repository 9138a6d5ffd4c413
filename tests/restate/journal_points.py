"""Points on an agent's way through the engine's journal, at which the process of its service can kill itself."""

from functools import wraps

from gatechart.restate import agent_object, invokes, journals
from gatechart.restate.invoke_session import Session
from gatechart.values.escapes import ESCAPE_DUE

OF_INVOKES = ("report made", "report journaled", "answer had")
OF_ENTRIES = ("entry written",)
OF_TURNS = ("turn decided", "turn carried out")
OF_CHOICES = ("choice made", "choice journaled")
OF_ATTEMPTS = ("attempt decided", "attempt carried out")
"""Of turns that try a way out, or find that there is none."""


def install(points):
    """Have all agents of this process pass the points, each as near to an entry of the engine's journal as can be."""
    Session.report = _passing(points, Session.report, after="report made")
    for name in ("note_step", "post_report"):
        setattr(invokes, name, _passing_plain(points, getattr(invokes, name), "report journaled"))
    invokes.answer_of = _passing(points, invokes.answer_of, before="report journaled", after="answer had")
    journals.write_record = _passing(points, journals.write_record, after="entry written")
    agent_object.decide = _passing(points, agent_object.decide, after="turn decided")
    agent_object.choice_for = _passing(points, agent_object.choice_for, after="choice made")
    agent_object.journaled_choice = _passing(points, agent_object.journaled_choice, after="choice journaled")
    agent_object.carry_out = _passing(points, agent_object.carry_out, after="turn carried out")
    _install_attempts(points)


def _install_attempts(points):
    decide, carry_out = agent_object.decide, agent_object.carry_out
    is_attempt = False

    @wraps(decide)
    async def decided(*arguments, **named):
        nonlocal is_attempt
        result = await decide(*arguments, **named)
        if ESCAPE_DUE in repr(arguments):
            is_attempt = True
            points.pass_by("attempt decided")
        return result

    @wraps(carry_out)
    async def carried_out(*arguments):
        nonlocal is_attempt
        result = await carry_out(*arguments)
        if is_attempt:
            is_attempt = False
            points.pass_by("attempt carried out")
        return result

    agent_object.decide, agent_object.carry_out = decided, carried_out


def _passing(points, function, before="", after=""):
    @wraps(function)
    async def passed_by(*arguments, **named):
        if before:
            points.pass_by(before)
        result = await function(*arguments, **named)
        if after:
            points.pass_by(after)
        return result

    return passed_by


def _passing_plain(points, function, before):
    @wraps(function)
    def passed_by(*arguments):
        points.pass_by(before)
        return function(*arguments)

    return passed_by
