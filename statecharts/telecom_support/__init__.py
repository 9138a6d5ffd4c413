"""Technical support of a phone company, by the policy and the flow charts of tau2-bench's telecom domain."""

from statecharts.telecom_support.graph import telecom_support

__all__ = ["telecom_support"]
