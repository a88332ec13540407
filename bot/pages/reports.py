"""What the operators' page shows of the store: money and tokens, slow turns, schedules, what places know.

Rule: numbers, times, and names, which are foreign text. No words of anybody: no message, argument, or text of a
schedule; of what somebody keeps for themselves, no name either.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from heapq import nlargest
from typing import Final, Protocol

from markupsafe import Markup

from agent.errors import SettingsError
from agent.memory.audience import AudienceKind
from agent.memory.documents import Document
from agent.ports import Clock
from agent.schedules import Schedule, ScheduleState, in_words
from agent.spending import NANO, EndedTurn, Money, SpendingPeriod, SpendingSpread, Spent, Total, TurnTook
from bot.access.budgets import cost_text
from bot.pages import charts
from bot.pages.charts import ChartColumn, ChartRange
from bot.pages.frame import OperatorView, ViewAnswer
from bot.pages.views import Figure, seconds
from bot.texts import page_texts
from bot.texts.formatting import counted, money

SPENDING_DAYS: Final = (30, 7, 90)  # The first is shown unless another is asked for; as everywhere below
MEASURES: Final = ("money", "tokens")
SLOW_DAYS: Final = {1: timedelta(hours=1), 7: timedelta(hours=6)}  # And how long is between two bars of their chart
STATES: Final = (ScheduleState.ACTIVE, ScheduleState.PAUSED, ScheduleState.ENDED)
SLOWEST: Final = 20
MAX_TURNS: Final = 20_000  # The last of them are measured: more than a process answers in a day
MAX_ROWS: Final = 200
MODEL, TOOL, WAIT, REST = 0, 1, 2, 4  # The series of a turn's steps


class Oversight(Protocol):
    """What is read of the store. Every method raises StoreError."""

    async def spread(self, period: SpendingPeriod) -> SpendingSpread: ...
    async def ended(self, since: datetime, limit: int) -> list[EndedTurn]:
        """The last turns that ended since then, without those that waited for their asker."""
        ...

    async def took(self, turns: Collection[int]) -> list[TurnTook]:
        """Those of these turns that are over, the slowest first."""
        ...

    async def schedules(self, state: str, limit: int) -> tuple[list[tuple[Schedule, str]], dict[str, int]]:
        """Without their words, with their owners' names; and how many there are in each state."""
        ...

    async def documents(self, limit: int) -> tuple[list[Document], int, int]:
        """The newest, how many there are, and of how many passages."""
        ...

    async def sharing(self, limit: int) -> list[str]:
        """The channels that share what is said there with their teams."""
        ...


def report_views(oversight: Oversight, clock: Clock) -> tuple[OperatorView, ...]:
    views = (
        ("/spending", page_texts.VIEW_SPENDING, spending),
        ("/slow", page_texts.VIEW_SLOW, slow),
        ("/turn", "", one_turn),
        ("/schedules", page_texts.VIEW_SCHEDULES, schedules),
        ("/places", page_texts.VIEW_PLACES, places),
    )
    return tuple(OperatorView(path, title, partial(show, oversight, clock)) for path, title, show in views)


@dataclass(frozen=True, slots=True)
class PageChoice:
    """One of some forms of a page."""

    title: str
    href: str
    is_shown: bool


def _chosen(query: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """What is asked for, if it is known; else the first."""
    return query[name] if query.get(name) in known else known[0]


# Money and tokens.


async def spending(oversight: Oversight, clock: Clock, query: Mapping[str, str]) -> ViewAnswer:
    days = int(_chosen(query, "days", [f"{days}" for days in SPENDING_DAYS]))
    measure = _chosen(query, "show", MEASURES)
    period = SpendingPeriod.days_until(clock.now(), days)
    found = await oversight.spread(period)
    whole, of_days, value = found.whole, found.of_days(), _money if measure == "money" else _tokens
    every = [period.first + timedelta(days=at) for at in range(days)]
    series = _series(found, value)
    models = [Total(model, spent) for model, spent in found.of_models().items()]
    tables = (
        (page_texts.BY_MODEL, models),
        (page_texts.BY_PERSON, found.people),
        (page_texts.BY_CHANNEL, found.channels),
        *([(page_texts.BY_WORKSPACE, found.workspaces)] if len(found.workspaces) > 1 else []),
    )
    return ViewAnswer(
        "spending.html",
        {
            "periods": [
                PageChoice(page_texts.DAYS.format(days=one), f"?days={one}&show={measure}", one == days)
                for one in sorted(SPENDING_DAYS)
            ],
            "measures": [
                PageChoice(title, f"?days={days}&show={one}", one == measure)
                for one, title in zip(MEASURES, page_texts.MEASURES, strict=True)
            ],
            "period": period,
            "figures": _spending_figures(whole, days),
            "chart": _spending_chart(found, every, series, value, measure) if whole.calls else None,
            "series": [(charts.key(at, hatched=True), name) for at, name in enumerate(series)] if whole.calls else [],
            "days": [
                _spent_row(f"{day}", "", of_days[f"{day}"], None) for day in reversed(every) if f"{day}" in of_days
            ],
            "tables": [_spent_table(title, totals, whole, value) for title, totals in tables],
            "estimated": whole.usage.estimated,
        },
    )


def _money(spent: Spent) -> float:
    return float(spent.cost)


def _tokens(spent: Spent) -> float:
    return float(_read(spent) + _written(spent))


def _read(spent: Spent) -> int:
    used = spent.usage
    return used.input_uncached + used.input_cached + used.input_written


def _written(spent: Spent) -> int:
    return spent.usage.output + spent.usage.reasoning


def _spending_figures(whole: Spent, days: int) -> list[Figure]:
    share = whole.usage.input_cached / (_read(whole) or 1)
    each = Money(round(whole.cost / days))
    return [
        Figure(page_texts.SPENT, cost_text(whole), page_texts.SPENT_SAYS.format(each=money(each))),
        Figure(page_texts.MODEL_CALLS, f"{whole.calls:,}", page_texts.UNPRICED.format(count=whole.unpriced)),
        Figure(page_texts.TOKENS_IN, f"{_read(whole):,}", page_texts.CACHED.format(share=share)),
        Figure(page_texts.TOKENS_OUT, f"{_written(whole):,}", page_texts.REASONED.format(count=whole.usage.reasoning)),
    ]


def _series(found: SpendingSpread, value: Callable[[Spent], float]) -> list[str]:
    """The models of a chart; the last stands for all others."""
    models = found.of_models()
    ordered = sorted(models, key=lambda model: (-value(models[model]), model))
    some = ordered[: charts.MAX_SERIES - 1]
    return [*some, page_texts.OTHERS] if len(ordered) > len(some) else some


def _spending_chart(
    found: SpendingSpread, days: Sequence[date], series: Sequence[str], value: Callable[[Spent], float], measure: str
) -> Markup:
    at = {model: number for number, model in enumerate(series)}
    columns = {f"{day}": [0.0] * len(series) for day in days}
    for (day, model), spent in found.by_day.items():
        if day in columns:
            columns[day][at.get(model, len(series) - 1)] += value(spent)
    name = page_texts.CHARTS[MEASURES.index(measure)]
    says = page_texts.CHART_SAYS.format(first=days[0], last=days[-1], models=", ".join(series))
    shown = [ChartColumn(_short(day), tuple(columns[f"{day}"])) for day in days]
    number = _dollars if measure == "money" else _short_number
    return charts.stacked(name, says, shown, series, number, "spent")


def _dollars(value: float) -> str:
    return f"${value / NANO:,.0f}" if value >= 1_000 * NANO else money(Money(round(value)))


def _short_number(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


@dataclass(frozen=True, slots=True)
class SpentRow:
    """`bar`: how much of all it is; None for no bar."""

    who: str
    beside: str
    calls: str
    read: str
    written: str
    cost: str
    bar: Markup | None


def _spent_row(who: str, beside: str, spent: Spent, bar: Markup | None) -> SpentRow:
    about = "~" if spent.usage.estimated else ""
    read, written = f"{about}{_read(spent):,}", f"{about}{_written(spent):,}"
    return SpentRow(who, beside, f"{spent.calls:,}", read, written, cost_text(spent), bar)


@dataclass(frozen=True, slots=True)
class SpentTable:
    title: str
    head: str
    rows: Sequence[SpentRow]
    more: bool
    """There is somebody who is not listed."""


def _spent_table(
    titles: tuple[str, str], totals: Sequence[Total], whole: Spent, value: Callable[[Spent], float]
) -> SpentTable:
    ordered = sorted(totals, key=lambda total: (-value(total.spent), -total.spent.calls, total.key))
    highest = max((value(total.spent) for total in ordered), default=0.0)
    rows = list[SpentRow]()
    for total in ordered:
        channel = total.key.rpartition(":")[2] if titles == page_texts.BY_CHANNEL else total.key
        who = total.name or channel or page_texts.FORGOTTEN
        beside = total.key if total.key != who else ""
        rows.append(_spent_row(who, beside, total.spent, charts.parts([(0, value(total.spent))], highest)))
    listed = sum(total.spent.calls for total in ordered)
    return SpentTable(*titles, rows, listed < whole.calls)


# Slow turns.


async def slow(oversight: Oversight, clock: Clock, query: Mapping[str, str]) -> ViewAnswer:
    days = int(_chosen(query, "days", [f"{days}" for days in SLOW_DAYS]))
    now = clock.now()
    found = await oversight.ended(now - timedelta(days=days), MAX_TURNS)
    slowest = nlargest(SLOWEST, found, key=lambda one: one.seconds)
    told = await oversight.took([one.id for one in slowest])
    longest, spans = max((one.seconds for one in told), default=0.0), _spans(found, now, days)
    return ViewAnswer(
        "slow.html",
        {
            "periods": [PageChoice(page_texts.SLOW_PERIODS[one], f"?days={one}", one == days) for one in SLOW_DAYS],
            "figures": _time_figures(found),
            "chart": charts.ranges(page_texts.TIME_CHART, page_texts.TIME_CHART_SAYS, spans, seconds, "time")
            if found
            else None,
            "spans": [(one.label, *map(seconds, one.values)) for one in reversed(spans) if one.values is not None],
            "cut": len(found) == MAX_TURNS,
            "keys": [(charts.key(at), title) for at, title in page_texts.TURN_PARTS.items()],
            "turns": [_turn_row(one, longest) for one in told],
        },
    )


def _time_figures(found: Sequence[EndedTurn]) -> list[Figure]:
    times = sorted(one.seconds for one in found)
    half, most, last = (_quantile(times, share) for share in (0.5, 0.95, 1.0))
    return [
        Figure(page_texts.TURNS, f"{len(found):,}", page_texts.TURNS_SAYS),
        Figure(page_texts.HALF, _seconds(half), page_texts.HALF_SAYS),
        Figure(page_texts.MOST, _seconds(most), page_texts.MOST_SAYS),
        Figure(page_texts.SLOWEST, _seconds(last), page_texts.SLOWEST_SAYS),
    ]


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Of values in their order: the one within which this share of them is."""
    return ordered[max(0, -(-int(len(ordered) * share * 100) // 100) - 1)] if ordered else None


def _seconds(value: float | None) -> str:
    return page_texts.DASH if value is None else seconds(value)


def _spans(found: Sequence[EndedTurn], now: datetime, days: int) -> list[ChartRange]:
    each = SLOW_DAYS[days]
    count = timedelta(days=days) // each
    times = [list[float]() for _ in range(count)]
    for one in found:
        at = count - 1 - (now - one.ended) // each
        if 0 <= at < count:
            times[at].append(one.seconds)
    some = list[ChartRange]()
    for at, measured in enumerate(times):
        begin = now - each * (count - at)
        ordered = sorted(measured)
        half, most = _quantile(ordered, 0.5), _quantile(ordered, 0.95)
        label = f"{begin:%H:%M}" if days == 1 else f"{_short(begin.date())} {begin:%H}h"
        some.append(ChartRange(label, None if half is None or most is None else (half, most)))
    return some


@dataclass(frozen=True, slots=True)
class TurnParts:
    """Seconds of a turn, by what they went into: it waited for a place, a model wrote, tools ran, and the rest."""

    waited: float
    models: float
    tools: float
    rest: float


def turn_parts(one: TurnTook) -> TurnParts:
    """They add up to the turn's time. What goes on side by side counts once."""
    calls = [(call.timing.began, call.timing.ms) for call in one.calls if call.timing is not None]
    tools = [(tool.began, tool.ms or 0) for tool in one.tools]
    waited = 0.0 if one.began is None else min(one.seconds, max(0.0, (one.began - one.taken).total_seconds()))
    asked = min(_covered(calls, one), one.seconds - waited)
    both = min(_covered([*calls, *tools], one), one.seconds - waited)
    ran = max(0.0, both - asked)
    return TurnParts(waited, asked, ran, max(0.0, one.seconds - waited - asked - ran))


def _covered(spans: Sequence[tuple[datetime, int]], one: TurnTook) -> float:
    """How many seconds of the turn these spans cover together."""
    covered, until = 0.0, 0.0
    for begin, end in sorted(_within(one, began, ms) for began, ms in spans):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered


def _within(one: TurnTook, began: datetime, ms: int) -> tuple[float, float]:
    """Seconds from the beginning of the turn, and no further than its end: the clocks may be of two machines."""
    begin = min(one.seconds, max(0.0, (began - one.taken).total_seconds()))
    return begin, min(one.seconds, begin + ms / 1000)


def _turn_row(one: TurnTook, longest: float) -> Mapping[str, object]:
    spent = turn_parts(one)
    values = ((WAIT, spent.waited), (MODEL, spent.models), (TOOL, spent.tools), (REST, spent.rest))
    return {
        "href": f"/turn?id={one.id}",
        "when": _when(one.ended),
        "name": one.name or one.person,
        "channel": one.channel.rpartition(":")[2],
        "took": seconds(one.seconds),
        "parts": [seconds(value) for _, value in values],
        "bar": charts.parts(values, longest),
        "outcome": one.outcome,
    }


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


async def one_turn(oversight: Oversight, clock: Clock, query: Mapping[str, str]) -> ViewAnswer:  # noqa: ARG001 -- as its neighbours
    number = query.get("id", "")
    known = number.isascii() and number.isdecimal() and len(number) < 19
    found = await oversight.took([int(number)]) if known else []
    if not found:
        return ViewAnswer("sorry.html", {"says": page_texts.TURN_NOT_THERE}, 404)
    one = found[0]
    spent = sum((Spent(1, call.usage, call.cost or Money(0), int(call.cost is None)) for call in one.calls), Spent())
    facts = (
        one.name or one.person,
        f"{one.source}, {one.channel.rpartition(':')[2]}",
        f"{one.taken.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC",
        seconds(one.seconds),
        one.outcome,
        cost_text(spent),
        counted(one.attempts, "claim", "claims"),
    )
    return ViewAnswer(
        "turn.html",
        {
            "id": one.id,
            "facts": dict(zip(page_texts.TURN_FACTS, facts, strict=True)),
            "steps": _steps(one),
            "keys": [(charts.key(at), title) for at, title in page_texts.TURN_PARTS.items()],
            "untimed": one.began is None or any(call.timing is None for call in one.calls),
        },
    )


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A line of a turn: what it did, what is known of that, since when and for how long."""

    what: str
    says: str
    since: str
    took: str
    bar: Markup


def _steps(one: TurnTook) -> list[TurnStep]:
    lines = list[tuple[float, float, int, str, str]]()
    for call in one.calls:
        if call.timing is not None:
            used = call.usage
            read, written = used.input_uncached + used.input_cached + used.input_written, used.output + used.reasoning
            first = _seconds(None if call.timing.first_ms is None else call.timing.first_ms / 1000)
            says = page_texts.MODEL_STEP.format(read=read, cached=used.input_cached, written=written, first=first)
            lines.append((*_within(one, call.timing.began, call.timing.ms), MODEL, call.model, says))
    for tool in one.tools:
        says = page_texts.TOOL_STEP.format(decision=tool.decision, effect=tool.effect, outcome=tool.outcome)
        lines.append((*_within(one, tool.began, tool.ms or 0), TOOL, tool.tool, says))
    first = min((begin for begin, *_ in lines), default=one.seconds)
    last = max((end for _, end, *_ in lines), default=one.seconds)
    began = first if one.began is None else min(first, max(0.0, (one.began - one.taken).total_seconds()))
    waits, why = page_texts.WAITED_AND_PREPARED if one.began is None else page_texts.WAITED
    lines.append((0.0, began, WAIT, waits, why))
    if began < first:
        lines.append((began, first, REST, page_texts.PREPARED[0], page_texts.PREPARED[1]))
    if last < one.seconds:
        lines.append((last, one.seconds, REST, page_texts.SHOWED[0], page_texts.SHOWED[1]))
    return [
        TurnStep(what, says, seconds(begin), seconds(end - begin), charts.part(begin, end - begin, one.seconds, series))
        for begin, end, series, what, says in sorted(lines)
    ]


# Schedules, and what places know.


async def schedules(oversight: Oversight, clock: Clock, query: Mapping[str, str]) -> ViewAnswer:
    state = _chosen(query, "state", STATES)
    shown, counts = await oversight.schedules(state, MAX_ROWS)
    return ViewAnswer(
        "schedules.html",
        {
            "states": [
                PageChoice(f"{one.capitalize()} ({counts.get(one, 0):,})", f"?state={one}", one == state)
                for one in STATES
            ],
            "state": state,
            "schedules": [_schedule_row(one, name, clock.now()) for one, name in shown],
            "more": counts.get(state, 0) - len(shown),
        },
    )


def _schedule_row(one: Schedule, name: str, now: datetime) -> Mapping[str, object]:
    made = one.made
    try:
        rule = in_words(made.timing, now)
    except (ValueError, SettingsError):
        rule = ""
    where = page_texts.IN_DIRECT if made.direct else made.channel.rpartition(":")[2]
    return {
        "id": one.id,
        "name": name or made.person,
        "kind": made.kind.value,
        "where": where,
        "rule": rule or page_texts.DASH,
        "next": page_texts.DASH if one.next is None else _when(one.next),
        "last": page_texts.DASH if one.last is None else _when(one.last),
        "looks": made.check is not None,
    }


async def places(oversight: Oversight, clock: Clock, query: Mapping[str, str]) -> ViewAnswer:  # noqa: ARG001 -- as its neighbours
    documents, count, passages = await oversight.documents(MAX_ROWS)
    channels = await oversight.sharing(MAX_ROWS + 1)
    return ViewAnswer(
        "places.html",
        {
            "figures": [
                Figure(page_texts.DOCUMENTS, f"{count:,}", page_texts.DOCUMENTS_SAY),
                Figure(page_texts.PASSAGES, f"{passages:,}", page_texts.PASSAGES_SAY),
            ],
            "documents": [_document_row(one) for one in documents],
            "more": count - len(documents),
            "sharing": [channel.rpartition(":")[2] for channel in channels[:MAX_ROWS]],
            "more_share": len(channels) > MAX_ROWS,
        },
    )


def _document_row(one: Document) -> Mapping[str, object]:
    kind = AudienceKind(one.audience.partition(":")[0])
    return {
        "name": one.name or page_texts.OWN_DOCUMENT,
        "web": one.web is not None,
        "fault": bool(one.web and one.web.fault),
        "where": page_texts.IN_DIRECT if kind is AudienceKind.PERSON else one.channel.rpartition(":")[2],
        "readers": page_texts.READERS[kind],
        "by": one.by or page_texts.DASH,
        "when": _when(one.time),
        "pages": f"{one.pages:,}" if one.pages else page_texts.DASH,
        "passages": f"{one.passages:,}",
    }
