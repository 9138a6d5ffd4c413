"""What the states do: they search, write, and ask the model where to go on."""

from __future__ import annotations

from dataclasses import dataclass, field

from gatechart import Work
from statecharts.transfers.context import Research, Review
from statecharts.transfers.models import Call, Model

_MOST_TURNS = 3  # of the model in one entry of a state


@dataclass
class Services:
    """The model, and a library in which everything is found by its number."""

    model: Model
    library: list[str] = field(default_factory=lambda: ["tides", "moons", "winds"])


async def choose(work: Work[Services]) -> str:
    """Let the model choose among the transfers, and tell it what came of calls that led nowhere."""
    answers: list[str] = []
    for turn in range(1, _MOST_TURNS + 1):
        offer = await work.transfer_tools()
        if not offer.tools:
            break
        text = "\n".join((offer.text, *answers))
        calls: list[Call] = await work.step(f"model {turn}", work.services.model.calls, text, offer.openai())
        if not calls:
            break
        answers = [(await work.transfer(each.tool, each.arguments, call_id=each.id)).answer for each in calls]
    return "no choice"


async def search_deeply(context: Research, work: Work[Services]) -> str:
    """Return the next finding."""
    library = work.services.library
    return f"{context.question}: {library[len(context.findings) % len(library)]}"


async def check_progress(_context: Research, work: Work[Services]) -> str:
    """Ask the model whether enough is known."""
    return await choose(work)


async def generate_document(context: Research, _work: Work[Services]) -> str:
    """Write up what was found."""
    return "\n".join(context.findings)


async def review_draft(_context: Review, work: Work[Services]) -> str:
    """Ask the model whether the draft is good."""
    return await choose(work)


async def fix_draft(context: Review, _work: Work[Services]) -> str:
    """Change the draft as the last remark says."""
    return f"{context.text} ({context.remarks[-1]} is fixed)"
