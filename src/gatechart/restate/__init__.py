"""Agents on Restate, a distributed engine: one virtual object per agent, one short invocation per event.

Needs the extra `gatechart[restate]`. Callers open `RestateRuntime`; `serving` answers the engine.
"""

from gatechart.errors.extras import needing

with needing("restate", "gatechart.restate"):
    from gatechart.restate.runtime import RestateRuntime
    from gatechart.restate.service import register, serving
    from gatechart.restate.terms import Terms

__all__ = ["RestateRuntime", "Terms", "register", "serving"]
