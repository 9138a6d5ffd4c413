"""The shop's own systems, and how the charts ask them: outside turns, each answer recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

from gatechart import ToolBox, Work
from statecharts.online_shop.context import ShopContext
from statecharts.online_shop.tools import ask_manufacturer, ask_workshop


class Shop(Protocol):
    """What the shop can be asked and told."""

    async def status(self, order_id: str) -> str:
        """How an order stands. Raises LookupError for one that is not known."""
        ...

    async def order_special(self, maker: str, wish: str) -> str:
        """Has something made as wished, and returns the number of that order. Raises ConnectionError."""
        ...


class Services(Protocol):
    """What the charts need from outside."""

    @property
    def shop(self) -> Shop:
        """The shop's own systems."""
        ...

    @property
    def tools(self) -> ToolBox:
        """The tools of `tools.TOOLS`, or others of the same names."""
        ...


async def look_up(context: ShopContext, work: Work[Services]) -> str:
    """How the customer's order stands."""
    order = str(context.entities.get("order_id", ""))
    status: str = await work.step("status", work.services.shop.status, order)
    return status


async def order_from_workshop(context: ShopContext, work: Work[Services]) -> str:
    """Order the special item from the shop's own workshop, and return the order number."""
    wish = str(context.entities.get("wish", context.current_problem))
    return (await work.call(ask_workshop, wish)).unwrap()


async def order_from_manufacturer(context: ShopContext, work: Work[Services]) -> str:
    """Order the special item from the manufacturer, and return the order number."""
    wish = str(context.entities.get("wish", context.current_problem))
    return (await work.call(ask_manufacturer, wish)).unwrap()


@dataclass(frozen=True)
class Books:
    """A shop that lies in memory."""

    orders: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # how each stands
    makers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))  # the number that each gives out

    async def status(self, order_id: str) -> str:
        """See Shop."""
        if order_id not in self.orders:
            raise LookupError(f"no order {order_id!r}")
        return self.orders[order_id]

    async def order_special(self, maker: str, wish: str) -> str:
        """See Shop."""
        if maker not in self.makers:
            raise ConnectionError(f"the {maker} does not answer")
        return f"{self.makers[maker]}-{len(wish)}"


BOOKS: Final = Books(
    orders=MappingProxyType({"A-1042": "sent on Tuesday", "A-1043": "being packed"}),
    makers=MappingProxyType({"manufacturer": "M"}),  # the workshop does not answer
)
