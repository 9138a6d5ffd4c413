"""Choose the target for work that is handed on: profiles, needs, scores, and learning from earlier choices."""

from gatechart.graph.selection import Best, NeedRule
from gatechart.selection.choose import choose
from gatechart.selection.embeddings import Embed, EmbeddingIndex, static_embeddings
from gatechart.selection.exploration import Exploring
from gatechart.selection.learned import Learned
from gatechart.selection.needs import terms_of
from gatechart.values.profiles import Candidate, Hours, Needs, Profile

__all__ = [
    "Best",
    "Candidate",
    "Embed",
    "EmbeddingIndex",
    "Exploring",
    "Hours",
    "Learned",
    "NeedRule",
    "Needs",
    "Profile",
    "choose",
    "static_embeddings",
    "terms_of",
]
