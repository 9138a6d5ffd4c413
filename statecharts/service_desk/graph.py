"""The chart of `chart.yaml`, with the functions and types that it names."""

from pathlib import Path

from gatechart.charts import load
from statecharts.service_desk import actions, context, guards

service_desk = load(Path(__file__).with_name("chart.yaml"), bind=[actions, context, guards])
