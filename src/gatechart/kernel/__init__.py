"""The kernel: plan the steps of a statechart. Pure, without contexts or effects."""
