"""The page about requests for a human that are open or taken.

Rule: it shows no words, and not who asked in direct messages: operators see that people wait, and where.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from agent.handoffs import Handoff, HandoffState
from agent.memory.audience import PersonAudience
from agent.ports.clock import Clock
from agent.ports.handoffs import Handoffs
from bot.operators import texts as operator_texts
from bot.operators.pages.frame import OperatorView, ViewAnswer
from bot.operators.pages.shown_places import NamesOf, ShownPlace, no_names, shown_places

MAX_LISTED: Final = 200


def handoffs_view(handoffs: Handoffs, clock: Clock, names_of: NamesOf = no_names) -> OperatorView:
    return OperatorView("/handoffs", operator_texts.VIEW_HANDOFFS, partial(_show, handoffs, clock, names_of))


async def _show(handoffs: Handoffs, clock: Clock, names_of: NamesOf, _: Mapping[str, str]) -> ViewAnswer:
    found, now = await handoffs.listed(limit=MAX_LISTED), clock.now()
    where = await shown_places({_place(one) for one in found if not _is_direct(one)}, names_of)
    rows = [
        {
            "number": one.number,
            "since": one.time,
            "hours": int((now - one.time).total_seconds() // 3600),
            "where": ShownPlace(operator_texts.IN_DIRECT) if _is_direct(one) else where[_place(one)],
            "who": operator_texts.NOT_SHOWN if _is_direct(one) else one.asker_name or one.person,
            "taker": (one.taker_name or one.taker) if one.state is HandoffState.TAKEN else operator_texts.NOBODY_YET,
        }
        for one in found
    ]
    return ViewAnswer("handoffs.html", {"rows": rows, "is_cut": len(found) == MAX_LISTED})


def _place(handoff: Handoff) -> str:
    return f"{handoff.question.source}:{handoff.question.channel}"


def _is_direct(handoff: Handoff) -> bool:
    return isinstance(handoff.question.place.audience, PersonAudience)
