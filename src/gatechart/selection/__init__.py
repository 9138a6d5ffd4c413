"""The choice of whom to hand work to: filters, scores, and why it came out as it did. Pure."""

from gatechart.selection.choose import choose
from gatechart.selection.explaining import MOST_BYTES, MOST_TOLD, explanation_json, explanation_of, needs_text
from gatechart.selection.needs import first_needs, needs_of, terms_of
from gatechart.selection.texts import LEAST, TextIndex, index_of

__all__ = [
    "LEAST",
    "MOST_BYTES",
    "MOST_TOLD",
    "TextIndex",
    "choose",
    "explanation_json",
    "explanation_of",
    "first_needs",
    "index_of",
    "needs_of",
    "needs_text",
    "terms_of",
]
