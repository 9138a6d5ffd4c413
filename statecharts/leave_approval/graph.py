"""The chart of `chart.yaml`, with the functions and types that it names."""

from pathlib import Path

from gatechart.charts import load
from statecharts.leave_approval import actions, context

leave_approval = load(Path(__file__).with_name("chart.yaml"), bind=[actions, context])
