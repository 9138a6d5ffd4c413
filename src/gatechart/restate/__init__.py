"""Agents on Restate, a distributed engine: one virtual object for each, one short invocation for each event.

Needs the extra `gatechart[restate]`. `RestateRuntime` is what callers open, `serving` what the engine calls.
"""

from gatechart.restate.runtime import RestateRuntime
from gatechart.restate.service import register, serving
from gatechart.restate.terms import Terms

__all__ = ["RestateRuntime", "Terms", "register", "serving"]
