"""Five agents of a Chinese shop, and a reception that finds the right one among them by rules."""

from statecharts.support_team.reception import reception
from statecharts.support_team.rules import CASCADE, GENERALIST, ORDER, RULES, SPECIALIST, TOP
from statecharts.support_team.team import PROFILES, candidates, team

__all__ = [
    "CASCADE",
    "GENERALIST",
    "ORDER",
    "PROFILES",
    "RULES",
    "SPECIALIST",
    "TOP",
    "candidates",
    "reception",
    "team",
]
