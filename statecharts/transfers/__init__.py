"""Two agents whose model chooses the next step: research that is repeated, and a review of drafts."""

from pathlib import Path

from gatechart import load
from statecharts.transfers import actions, context, invokes
from statecharts.transfers.invokes import Services
from statecharts.transfers.models import Scripted, Stubborn

_FOLDER = Path(__file__).parent

research = load(_FOLDER / "research.yaml", context=context.Research, bind=[actions, context, invokes])
review = load(_FOLDER / "review.yaml", context=context.Review, bind=[actions, context, invokes])

__all__ = ["Scripted", "Services", "Stubborn", "research", "review"]
