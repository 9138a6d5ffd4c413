"""Parts of runtimes and agents that tests read or disturb, for facts that no public call shows.

A test that a public call can serve uses that call. Only this module names these private attributes.
"""

from gatechart.values.commits import Posting


def core_of(runtime):
    """Return the core of an embedded runtime: its tasks, breakers, tool gates and chooser."""
    return runtime._core


def store_of(runtime):
    """Return the store that an embedded runtime reads and commits to."""
    return core_of(runtime).store


def clock_of(runtime):
    """Return the clock of an embedded runtime."""
    return core_of(runtime).clock


def services_of(runtime):
    """Return the services that an embedded runtime was opened with."""
    return core_of(runtime).services


def effects_of(runtime):
    """Return the part of an embedded runtime that carries out effects: mail, timers and invokes."""
    return runtime._effects


def host_of(agent):
    """Return the object that a handle passes its calls to: for an embedded runtime, the agent in memory."""
    return agent._host


def calls_of(runtime):
    """Return the calls of a Restate runtime to its service."""
    return runtime._calls


async def accept_mail(runtime, mail):
    """Commit mail and deliver it without the checks of `post`, as a release without these checks did."""
    await core_of(runtime).persist(Posting(mail), lambda: effects_of(runtime).accept(mail))


def withhold_mail(runtime):
    """Leave the mail that is accepted from now on in the store, and deliver none of it."""
    effects_of(runtime).inboxes.deliver = lambda mail: None
