"""Detectors of problems in an agent's behaviour, and presets of signals. Their base: `gatechart.values.detectors`."""

from gatechart.signals.circles import GoesInCircles
from gatechart.signals.failures import ErrorRate, RetriesOver, Same, ToolFailures, ToolRefusals
from gatechart.signals.lacking import Lacks
from gatechart.signals.measures import Confidence, Noticed, Risk, Sentiment
from gatechart.signals.no_progress import NoProgress, VisitsOver
from gatechart.signals.phrases import ASKING_FOR_A_PERSON, TROUBLE, Phrases
from gatechart.signals.presets import Preset, handing_on, looping
from gatechart.signals.questions import SameQuestion
from gatechart.signals.repeats import Repeats, SameCall
from gatechart.signals.said import Keywords, UserAsked
from gatechart.values.trail import (
    CALLED,
    MOVED,
    NOTED,
    PROGRESSED,
    REASONED,
    SAID,
    WAITED,
    Called,
    Moved,
    Noted,
    Progressed,
    Reasoned,
    Said,
    TrailEntry,
    Waited,
)

__all__ = [
    "ASKING_FOR_A_PERSON",
    "CALLED",
    "MOVED",
    "NOTED",
    "PROGRESSED",
    "REASONED",
    "SAID",
    "TROUBLE",
    "WAITED",
    "Called",
    "Confidence",
    "ErrorRate",
    "GoesInCircles",
    "Keywords",
    "Lacks",
    "Moved",
    "NoProgress",
    "Noted",
    "Noticed",
    "Phrases",
    "Preset",
    "Progressed",
    "Reasoned",
    "Repeats",
    "RetriesOver",
    "Risk",
    "Said",
    "Same",
    "SameCall",
    "SameQuestion",
    "Sentiment",
    "ToolFailures",
    "ToolRefusals",
    "TrailEntry",
    "UserAsked",
    "VisitsOver",
    "Waited",
    "handing_on",
    "looping",
]
