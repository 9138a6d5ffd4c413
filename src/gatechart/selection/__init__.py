"""Choose the target for handed-on work: filters, scores, and an explanation of the choice. Pure."""

from gatechart.selection.asking import problem_of, words_of_packet
from gatechart.selection.choose import choose
from gatechart.selection.embeddings import Embed, EmbeddingIndex, static_embeddings
from gatechart.selection.explaining import MOST_BYTES, MOST_TOLD, explanation_json, explanation_of, needs_text
from gatechart.selection.exploration import Exploring
from gatechart.selection.features import spoken
from gatechart.selection.learned import Learned
from gatechart.selection.needs import first_needs, needs_of, terms_of
from gatechart.selection.texts import LEAST, Likeness, TextIndex, index_of, texts_of

__all__ = [
    "LEAST",
    "MOST_BYTES",
    "MOST_TOLD",
    "Embed",
    "EmbeddingIndex",
    "Exploring",
    "Learned",
    "Likeness",
    "TextIndex",
    "choose",
    "explanation_json",
    "explanation_of",
    "first_needs",
    "index_of",
    "needs_of",
    "needs_text",
    "problem_of",
    "spoken",
    "static_embeddings",
    "terms_of",
    "texts_of",
    "words_of_packet",
]
