"""Tells whom each of some situations is handed to, and why: `python -m statecharts.support_team`."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import Console

from gatechart import HandoffPacket
from gatechart.handoff import Reason
from gatechart.results import Choice
from gatechart.selection import choose, terms_of
from statecharts.support_team import CASCADE, candidates

SITUATIONS = {
    "退款政策是什么？": Reason.KNOWLEDGE_GAP,
    "特殊订单查询失败": Reason.TOOL_FAILURE,
    "我要取消订单": Reason.OUT_OF_SCOPE,
    "转人工": Reason.USER_ESCALATION,
    "冰箱坏了，谁能修？": Reason.OUT_OF_SCOPE,
}


def chosen(packet: HandoffPacket, now: datetime) -> tuple[Choice, ...]:
    """Return the choices made for a packet, one after another until somebody matches."""
    made: list[Choice] = []
    for best in CASCADE:
        made.append(choose(packet, terms_of(best, packet), candidates(), now=now, seed=packet.handoff_id))
        if made[-1].candidate is not None:
            break
    return tuple(made)


def main() -> None:
    """Print the choices, with the reason of each."""
    console = Console(markup=False, highlight=False, soft_wrap=True)
    for problem, reason in SITUATIONS.items():
        console.print(f"{problem} ({reason.value})")
        for choice in chosen(HandoffPacket(reason=reason, current_problem=problem), datetime.now(UTC)):
            console.print(f"  {choice.explanation.details}")


if __name__ == "__main__":
    main()
