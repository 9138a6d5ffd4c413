"""The closed set of effects."""

from typing import Any

import pytest

from gatechart.errors import UnknownEffectError
from gatechart.values.effects import compared


def test_an_effect_of_an_unknown_class_is_not_left_out_of_the_comparison_of_replays() -> None:
    wish: Any = "a pony"
    with pytest.raises(UnknownEffectError, match=r"'str'.*'Send', 'Timer'"):
        compared(wish)
