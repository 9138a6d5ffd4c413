"""Signals of problems in an agent's behaviour: detectors, presets, and the trail that detectors read."""

from gatechart.graph.signals import Signal, Signals, answered
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
from gatechart.values.detectors import AnyOf, Detector, Look
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
    "AnyOf",
    "Called",
    "Confidence",
    "Detector",
    "ErrorRate",
    "GoesInCircles",
    "Keywords",
    "Lacks",
    "Look",
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
    "Signal",
    "Signals",
    "ToolFailures",
    "ToolRefusals",
    "TrailEntry",
    "UserAsked",
    "VisitsOver",
    "Waited",
    "answered",
    "handing_on",
    "looping",
]
