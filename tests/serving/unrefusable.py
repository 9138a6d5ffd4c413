"""What Schemathesis is not to make up, as no schema can refuse it. Schemathesis itself runs this file."""

import re

import schemathesis

from gatechart.values.delays import PATTERN, seconds_of


@schemathesis.hook
def filter_body(_context, body):
    """Leave out durations of more than a hundred years: a pattern cannot add up."""
    deadline = body.get("deadline") if isinstance(body, dict) else None
    is_delay = isinstance(deadline, str) and re.fullmatch(PATTERN, deadline) is not None
    return not is_delay or seconds_of(deadline) is not None
