"""What hosts agents: delivers events, runs turns, commits."""

from gatechart.runtime.runtime import Runtime

__all__ = ["Runtime"]
