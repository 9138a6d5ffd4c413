"""The chart of `chart.yaml`, with the functions and types that it names."""

from pathlib import Path
from typing import Final

from gatechart.charts import load
from gatechart.contrib.human_desk import desk
from statecharts.telecom_support import actions, calls, context, data_steps, guards, mms_steps, service_steps, ticket

telecom_support: Final = load(
    Path(__file__).with_name("chart.yaml"),
    context=context.TelecomContext,
    bind=[actions, actions.because, calls, data_steps, guards, mms_steps, service_steps, ticket],
)
graphs: Final = (telecom_support, desk(time_limit=None))
"""The support, and the desk of the people to whom it transfers what it cannot repair.

Nobody works there while tasks are played, so no case becomes overdue.
"""
