"""An online shop: general enquiries, orders, advanced orders, refunds, and the desk of a person."""

from statecharts.online_shop.graphs import advanced_orders, general_enquiries, online_shop, orders, refunds

__all__ = ["advanced_orders", "general_enquiries", "online_shop", "orders", "refunds"]
