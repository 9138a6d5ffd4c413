"""The chart of `chart.yaml`, with the functions and types that it names."""

from pathlib import Path

from gatechart.charts import load
from statecharts.customer_service import actions, context, knowledge_base

customer_service = load(Path(__file__).with_name("chart.yaml"), bind=[actions, context, knowledge_base])
