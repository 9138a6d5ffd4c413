"""An agent that hands its work to whoever is best, which changes with every choice: so one that is made again shows."""

from gatechart import AgentContext, Handoff, State, StateTransitionGraph, Transition
from gatechart.graph.definition import EntryPoint
from gatechart.graph.selection import Best
from gatechart.selection.explaining import explanation_of
from gatechart.stores import open_store
from gatechart.values.handoffs import HandoffQuery, HandoffStatus
from gatechart.values.homes import Role
from gatechart.values.profiles import Needs, Profile

HELPERS = ("odd", "even")


class Place:
    """Where the process leaves what its agents did."""

    folder = None


def note(name, text):
    with (Place.folder / name).open("a") as file:
        file.write(f"{text}\n")


def noted(folder, name):
    file = folder / name
    return file.read_text().splitlines() if file.exists() else []


def turn_about(packet, candidate):
    """Has the odd one the best at the first choice, the even one at the second, and so on."""
    if candidate.graph == "even":  # the first that is asked about
        note("choices", packet.handoff_id)
    return float(candidate.graph == best_at(len(noted(Place.folder, "choices"))))


def best_at(count):
    return HELPERS[(count - 1) % 2]


def helper(name):
    return StateTransitionGraph(
        name,
        context=AgentContext,
        states=[State("WORKING", on_entry=lambda context, event: note("taken", name)), State("DONE", final=True)],
        transitions=[Transition("WORKING", None, "DONE")],
        entry_points=[EntryPoint("WORKING", profile=Profile(domains=("help",)))],
    )


BEST = Best(Needs(domains=("help",)), order=turn_about)
handing = StateTransitionGraph(
    "handing",
    context=AgentContext,
    states=["TALKING", "WAITING", State("HELPED", final=True), State("FAILED", final=True)],
    transitions=[
        Transition(
            "TALKING",
            None,
            "WAITING",
            actions=Handoff(Best(Needs(domains=("help",)), order=turn_about), mode="delegate"),
        ),
        Transition("WAITING", "handoff.accepted"),
        Transition("WAITING", "handoff.completed", "HELPED"),
        Transition("WAITING", "handoff.*", "FAILED"),
    ],
    entry_points=["TALKING"],
)
helpers = [helper(each) for each in HELPERS]


def projection_in(folder):
    return f"sqlite+aiosqlite:///{folder}/projection.db"


async def check_handed(agent, folder):
    """There is one target and one explanation: those of the last choice. Return how often somebody chose."""
    assert agent.configuration == ("HELPED",)
    async with open_store(projection_in(folder), role=Role.READER) as store:
        (row,) = await store.handoffs(HandoffQuery())
        history = await store.history(agent.id)
    count = len(noted(folder, "choices"))
    best = best_at(count)
    assert (row.target_graph, set(noted(folder, "taken"))) == (best, {best})
    assert [each.status for each in row.changes[:2]] == [HandoffStatus.CHOOSING, HandoffStatus.PENDING]
    why = explanation_of(row.choice)
    assert (why.judged[0].id, why.seed, row.changes[1].details) == (f"{best}.WORKING", row.id, why.details)
    assert [entry.event.id for entry in history if entry.event.name == "handoff.choosing"] == [row.id]
    return count
