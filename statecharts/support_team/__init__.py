"""Five agents of a Chinese shop, and the rules by which one that cannot go on finds the right one among them."""

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
    "team",
]
