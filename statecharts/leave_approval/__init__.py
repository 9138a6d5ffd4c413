"""A request for leave: new, submitted again after a rejection, or urgent."""

from statecharts.leave_approval.graph import leave_approval
from statecharts.leave_approval.scenarios import scenarios

__all__ = ["leave_approval", "scenarios"]
