"""The page about ratings of answers: counts of all, and what people shared with the operators.

Rule: its list is the view of operators (`agent.feedback.SharedFeedback`), no matter who looks at the page. It is the
only page that shows words, because people chose to share them. States are changed in the chat, where it is known by
whom.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from urllib.parse import urlencode

from agent.feedback import CountedBy, FeedbackFilter, FeedbackItem, FeedbackReason, RatingCounts, SharedFeedback
from agent.memory.audience import AudienceKind
from agent.ports.clock import Clock
from agent.ports.feedback import Feedback
from bot.chat.texts.formatting import shortened
from bot.feedback import texts as feedback_texts
from bot.feedback.orders import FILTERS
from bot.operators import texts as operator_texts
from bot.operators.pages import charts
from bot.operators.pages.frame import OperatorView, ViewAnswer
from bot.operators.pages.reports import PageChoice, requested
from bot.operators.pages.shown_places import NamesOf, ShownPlace, no_names, shown_places
from bot.operators.pages.views import Figure

DAYS: Final = (30, 7, 90)  # The first is the default
ANY: Final = ""  # No filter for a reason or a place
PAGE: Final = 20  # Ratings on a page
MAX_PAGES: Final = 1_000
TEXT_CHARS: Final = 2_000  # Of a question, an answer or a text: what a person reads on one screen
PLACE_CHARS: Final = 200  # Of a place in a link


def feedback_view(feedback: Feedback, clock: Clock, names_of: NamesOf = no_names) -> OperatorView:
    return OperatorView("/feedback", operator_texts.VIEW_FEEDBACK, partial(_show, feedback, clock, names_of))


@dataclass(frozen=True, slots=True)
class _Query:
    """What is shown. `place`: as in `FeedbackFilter`, "" for all."""

    days: int
    state: str
    reason: str
    place: str

    def link(self, **changed: object) -> str:
        values = {"days": self.days, "state": self.state, "reason": self.reason, "place": self.place} | changed
        return f"?{urlencode({name: value for name, value in values.items() if value})}"


async def _show(feedback: Feedback, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:
    asked = _Query(
        int(requested(query, "days", [f"{days}" for days in DAYS])),
        requested(query, "state", [*FILTERS]),
        requested(query, "reason", [ANY, *FeedbackReason]),
        query.get("place", "")[:PLACE_CHARS],
    )
    since = clock.now() - timedelta(days=asked.days)
    reason = FeedbackReason(asked.reason) if asked.reason else None
    chosen, view = FeedbackFilter(FILTERS[asked.state], reason, asked.place, since), SharedFeedback()
    counts, count = await feedback.counts(since), await feedback.count(view, chosen)
    pages = min(MAX_PAGES, max(1, -(-count // PAGE)))
    page = int(requested(query, "page", [f"{number}" for number in range(1, pages + 1)]))
    items = await feedback.listed(view, chosen, limit=PAGE, offset=PAGE * (page - 1))
    named = {one.key for one in counts[CountedBy.PLACE]} | {item.place for item in items} | {asked.place}
    where = await shown_places(named, names_of)
    return ViewAnswer(
        "feedback.html",
        {
            "periods": [
                PageChoice(operator_texts.DAYS.format(days=days), asked.link(days=days), days == asked.days)
                for days in sorted(DAYS)
            ],
            "states": [
                PageChoice(title, asked.link(state=name), name == asked.state)
                for name, title in feedback_texts.FILTERS.items()
            ],
            "reasons": [
                PageChoice(title, asked.link(reason=name), name == asked.reason)
                for name, title in {ANY: operator_texts.ANY_REASON, **feedback_texts.REASONS}.items()
            ],
            "place": where[asked.place] if asked.place else None,
            "all_places": asked.link(place=""),
            "figures": _figures(counts),
            "tables": [_table(by, counts, where, asked) for by in CountedBy],
            "items": [_row(item, where[item.place]) for item in items],
            "newer": asked.link(page=page - 1) if page > 1 else "",
            "older": asked.link(page=page + 1) if page < pages else "",
        },
    )


def _figures(counts: RatingCounts) -> list[Figure]:
    places = counts[CountedBy.PLACE]
    good, bad = sum(one.good for one in places), sum(one.bad for one in places)
    share = operator_texts.GOOD_SHARE.format(share=good / (good + bad or 1))
    return [Figure(operator_texts.GOOD, f"{good:,}", share), Figure(operator_texts.BAD, f"{bad:,}", "")]


def _table(by: CountedBy, counts: RatingCounts, where: Mapping[str, ShownPlace], asked: _Query) -> Mapping[str, object]:
    highest = max((one.good + one.bad for one in counts[by]), default=0)
    rows = list[Mapping[str, object]]()
    for one in counts[by]:
        is_channel = by is CountedBy.PLACE and bool(one.key)
        shown = where[one.key] if is_channel else ShownPlace(feedback_texts.count_name(by, one.key))
        bar = charts.parts([(0, one.good), (1, one.bad)], highest)
        link = asked.link(place=one.key) if is_channel else ""
        rows.append({"shown": shown, "good": f"{one.good:,}", "bad": f"{one.bad:,}", "bar": bar, "href": link})
    return {"title": feedback_texts.COUNTED_BY[by], "rows": rows}


def _row(item: FeedbackItem, place: ShownPlace) -> Mapping[str, object]:
    is_direct = item.audience.partition(":")[0] == AudienceKind.PERSON
    said = {
        operator_texts.FEEDBACK_QUESTION: item.question,
        operator_texts.FEEDBACK_ANSWER: item.answer,
        operator_texts.FEEDBACK_COMMENT: item.comment or None,
        operator_texts.FEEDBACK_CORRECTION: item.correction or None,
    }
    return {
        "id": item.id,
        "time": item.time,
        "reason": feedback_texts.NO_REASON if item.reason is None else feedback_texts.REASONS[item.reason],
        "state": feedback_texts.STATES[item.state],
        "owner": item.owner_name or item.owner,
        "who": item.person_name or item.person,
        "where": ShownPlace(operator_texts.IN_DIRECT) if is_direct else place,
        "link": item.link if item.link.startswith(("https://", "http://")) else "",
        "said": {name: shortened(text, TEXT_CHARS) for name, text in said.items() if text is not None},
    }
