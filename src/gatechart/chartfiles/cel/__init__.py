"""Expressions in CEL, the Common Expression Language: `syntax` and `parser` read them, `program` evaluates them.

Source: https://github.com/google/cel-spec. The language has no assignments, no loops but over lists, and calls
nothing of Python. `types` finds parts that always fail, and `costs` bounds the cost of an evaluation.
"""

from gatechart.chartfiles.cel.guard import MAX_STEPS, Cel, compiled, seen

__all__ = ["MAX_STEPS", "Cel", "compiled", "seen"]
