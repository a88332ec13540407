"""The operators' reports on the store: spending, slow turns, schedules, documents of places.

Rule: they show numbers, times, and names, which are untrusted text. They show no content: no message, argument, or text
of a schedule; and no names of documents that people keep for themselves.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from heapq import nlargest
from typing import Final, Protocol

from markupsafe import Markup

from agent.errors import SettingsError
from agent.memory.audience import AudienceKind
from agent.memory.documents import Document
from agent.ports.clock import Clock
from agent.schedules.definitions import Schedule, ScheduleState
from agent.schedules.times import in_words
from agent.spending import NANO, EndedTurn, Money, SpendingPeriod, SpendingSpread, Spent, Total, TurnTook
from bot.budgets.report import cost_text
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, money
from bot.operators import texts as operator_texts
from bot.operators.pages import charts
from bot.operators.pages.charts import ChartColumn, ChartRange
from bot.operators.pages.frame import OperatorView, ViewAnswer
from bot.operators.pages.shown_places import NamesOf, ShownPlace, no_names, shown_places
from bot.operators.pages.views import Figure, seconds

SPENDING_DAYS: Final = (30, 7, 90)  # The first is the default; as everywhere below
MEASURES: Final = ("money", "tokens")
SLOW_DAYS: Final = {1: timedelta(hours=1), 7: timedelta(hours=6)}  # Each with the time span of a bar in its chart
STATES: Final = (ScheduleState.ACTIVE, ScheduleState.PAUSED, ScheduleState.ENDED)
SLOWEST: Final = 20
MAX_TURNS: Final = 20_000  # The latest turns that are measured: more than a process answers in a day
MAX_ROWS: Final = 200
MODEL, TOOL, WAIT, REST = 0, 1, 2, 4  # The series of a turn's steps


class OperatorReports(Protocol):
    """Reads the store for the reports. Every method raises StoreError."""

    async def spread(self, period: SpendingPeriod) -> SpendingSpread: ...
    async def ended_turns(self, since: datetime, limit: int) -> list[EndedTurn]:
        """Return the latest turns that ended since then, without those that waited for their asker."""
        ...

    async def durations(self, turns: Collection[int]) -> list[TurnTook]:
        """Return those of these turns that have ended, the slowest first."""
        ...

    async def schedules(self, state: str, limit: int) -> tuple[list[tuple[Schedule, str]], dict[str, int]]:
        """Return schedules without their text, each with its owner's name; and the number in each state."""
        ...

    async def documents(self, limit: int) -> tuple[list[Document], int, int]:
        """Return the newest documents, the number of all documents, and the number of all passages."""
        ...

    async def sharing(self, limit: int) -> list[str]:
        """Return the channels whose facts are shared with their teams."""
        ...


def report_views(reports: OperatorReports, clock: Clock, names_of: NamesOf = no_names) -> tuple[OperatorView, ...]:
    views = (
        ("/spending", operator_texts.VIEW_SPENDING, spending),
        ("/slow", operator_texts.VIEW_SLOW, slow),
        ("/turn", "", one_turn),
        ("/schedules", operator_texts.VIEW_SCHEDULES, schedules),
        ("/places", operator_texts.VIEW_PLACES, places),
    )
    return tuple(OperatorView(path, title, partial(show, reports, clock, names_of)) for path, title, show in views)


@dataclass(frozen=True, slots=True)
class PageChoice:
    """A link to one variant of a page."""

    title: str
    href: str
    is_shown: bool


def requested(query: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """Return the requested value if it is one of `known`, else the first of them."""
    return query[name] if query.get(name) in known else known[0]


# Spending and tokens.


async def spending(reports: OperatorReports, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:
    days = int(requested(query, "days", [f"{days}" for days in SPENDING_DAYS]))
    measure = requested(query, "show", MEASURES)
    period = SpendingPeriod.days_until(clock.now(), days)
    spread = await reports.spread(period)
    total, by_day, value = spread.whole, spread.of_days(), _money if measure == "money" else _tokens
    days_shown = [period.first + timedelta(days=at) for at in range(days)]
    series = _series(spread, value)
    models = [Total(model, spent) for model, spent in spread.of_models().items()]
    where = await shown_places((total.key for total in spread.channels), names_of)
    tables = (
        (operator_texts.BY_MODEL, models),
        (operator_texts.BY_PERSON, spread.people),
        (operator_texts.BY_CHANNEL, [replace(total, name=where[total.key].name) for total in spread.channels]),
        # With a single workspace this table would repeat the sum.
        *([(operator_texts.BY_WORKSPACE, spread.workspaces)] if len(spread.workspaces) > 1 else []),
    )
    return ViewAnswer(
        "spending.html",
        {
            "periods": [
                PageChoice(operator_texts.DAYS.format(days=choice), f"?days={choice}&show={measure}", choice == days)
                for choice in sorted(SPENDING_DAYS)
            ],
            "measures": [
                PageChoice(title, f"?days={days}&show={choice}", choice == measure)
                for choice, title in zip(MEASURES, operator_texts.MEASURES, strict=True)
            ],
            "period": period,
            "figures": _spending_figures(total, days),
            "chart": _spending_chart(spread, days_shown, series, value, measure) if total.calls else None,
            "series": [(charts.key(at, hatched=True), name) for at, name in enumerate(series)] if total.calls else [],
            "days": [
                _spent_row(f"{day}", "", by_day[f"{day}"], None) for day in reversed(days_shown) if f"{day}" in by_day
            ],
            "tables": [_spent_table(title, totals, total, value) for title, totals in tables],
            "estimated": total.usage.estimated,
        },
    )


def _money(spent: Spent) -> float:
    return float(spent.cost)


def _tokens(spent: Spent) -> float:
    return float(_read(spent) + _written(spent))


def _read(spent: Spent) -> int:
    usage = spent.usage
    return usage.input_uncached + usage.input_cached + usage.input_written


def _written(spent: Spent) -> int:
    return spent.usage.output + spent.usage.reasoning


def _spending_figures(total: Spent, days: int) -> list[Figure]:
    share = total.usage.input_cached / (_read(total) or 1)
    daily = Money(round(total.cost / days))
    return [
        Figure(operator_texts.SPENT, cost_text(total), operator_texts.SPENT_SAYS.format(each=money(daily))),
        Figure(operator_texts.MODEL_CALLS, f"{total.calls:,}", operator_texts.UNPRICED.format(count=total.unpriced)),
        Figure(operator_texts.TOKENS_IN, f"{_read(total):,}", operator_texts.CACHED.format(share=share)),
        Figure(
            operator_texts.TOKENS_OUT,
            f"{_written(total):,}",
            operator_texts.REASONED.format(count=total.usage.reasoning),
        ),
    ]


def _series(spread: SpendingSpread, value: Callable[[Spent], float]) -> list[str]:
    """Return the models of a chart; the last one may stand for all others."""
    models = spread.of_models()
    ordered = sorted(models, key=lambda model: (-value(models[model]), model))
    first = ordered[: charts.MAX_SERIES - 1]
    return [*first, operator_texts.OTHERS] if len(ordered) > len(first) else first


def _spending_chart(
    spread: SpendingSpread, days: Sequence[date], series: Sequence[str], value: Callable[[Spent], float], measure: str
) -> Markup:
    series_of = {model: number for number, model in enumerate(series)}
    columns = {f"{day}": [0.0] * len(series) for day in days}
    for (day, model), spent in spread.by_day.items():
        if day in columns:
            columns[day][series_of.get(model, len(series) - 1)] += value(spent)
    name = operator_texts.CHARTS[MEASURES.index(measure)]
    says = operator_texts.CHART_SAYS.format(first=days[0], last=days[-1], models=", ".join(series))
    bars = [ChartColumn(_short(day), tuple(columns[f"{day}"])) for day in days]
    number = _dollars if measure == "money" else _short_number
    return charts.stacked(name, says, bars, series, number, "spent")


def _dollars(value: float) -> str:
    return f"${value / NANO:,.0f}" if value >= 1_000 * NANO else money(Money(round(value)))


def _short_number(value: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


def _short(day: date) -> str:
    return f"{day:%b} {day.day}"


@dataclass(frozen=True, slots=True)
class SpentRow:
    """A row of a table of spending. `bar`: its share of the largest row; None for no bar."""

    who: str
    beside: str
    calls: str
    read: str
    written: str
    cost: str
    bar: Markup | None


def _spent_row(who: str, beside: str, spent: Spent, bar: Markup | None) -> SpentRow:
    tilde = "~" if spent.usage.estimated else ""
    read, written = f"{tilde}{_read(spent):,}", f"{tilde}{_written(spent):,}"
    return SpentRow(who, beside, f"{spent.calls:,}", read, written, cost_text(spent), bar)


@dataclass(frozen=True, slots=True)
class SpentTable:
    title: str
    head: str
    rows: Sequence[SpentRow]
    more: bool
    """Not every person, channel or model is listed."""


def _spent_table(
    titles: tuple[str, str], totals: Sequence[Total], overall: Spent, value: Callable[[Spent], float]
) -> SpentTable:
    ordered = sorted(totals, key=lambda total: (-value(total.spent), -total.spent.calls, total.key))
    highest = max((value(total.spent) for total in ordered), default=0.0)
    rows = list[SpentRow]()
    for total in ordered:
        who = total.name or total.key or operator_texts.FORGOTTEN
        beside = total.key if total.key != who else ""
        rows.append(_spent_row(who, beside, total.spent, charts.parts([(0, value(total.spent))], highest)))
    listed = sum(total.spent.calls for total in ordered)
    return SpentTable(*titles, rows, listed < overall.calls)


# Slow turns.


async def slow(reports: OperatorReports, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:
    days = int(requested(query, "days", [f"{days}" for days in SLOW_DAYS]))
    now = clock.now()
    turns = await reports.ended_turns(now - timedelta(days=days), MAX_TURNS)
    slowest = nlargest(SLOWEST, turns, key=lambda turn: turn.seconds)
    details = await reports.durations([turn.id for turn in slowest])
    where = await shown_places((turn.channel for turn in details), names_of)
    longest, spans = max((turn.seconds for turn in details), default=0.0), _spans(turns, now, days)
    return ViewAnswer(
        "slow.html",
        {
            "periods": [
                PageChoice(operator_texts.SLOW_PERIODS[each], f"?days={each}", each == days) for each in SLOW_DAYS
            ],
            "figures": _time_figures(turns),
            "chart": charts.ranges(operator_texts.TIME_CHART, operator_texts.TIME_CHART_SAYS, spans, seconds, "time")
            if turns
            else None,
            "spans": [(span.label, *map(seconds, span.values)) for span in reversed(spans) if span.values is not None],
            "cut": len(turns) == MAX_TURNS,
            "keys": [(charts.key(at), title) for at, title in operator_texts.TURN_PARTS.items()],
            "turns": [_turn_row(turn, where[turn.channel], longest) for turn in details],
        },
    )


def _time_figures(turns: Sequence[EndedTurn]) -> list[Figure]:
    times = sorted(turn.seconds for turn in turns)
    median, p95, maximum = (_quantile(times, share) for share in (0.5, 0.95, 1.0))
    return [
        Figure(operator_texts.TURNS, f"{len(turns):,}", operator_texts.TURNS_SAYS),
        Figure(operator_texts.HALF, _seconds(median), operator_texts.HALF_SAYS),
        Figure(operator_texts.MOST, _seconds(p95), operator_texts.MOST_SAYS),
        Figure(operator_texts.SLOWEST, _seconds(maximum), operator_texts.SLOWEST_SAYS),
    ]


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the quantile of sorted values; None without any."""
    return ordered[max(0, -(-int(len(ordered) * share * 100) // 100) - 1)] if ordered else None


def _seconds(value: float | None) -> str:
    return operator_texts.DASH if value is None else seconds(value)


def _spans(turns: Sequence[EndedTurn], now: datetime, days: int) -> list[ChartRange]:
    span = SLOW_DAYS[days]
    count = timedelta(days=days) // span
    times = [list[float]() for _ in range(count)]
    for turn in turns:
        index = count - 1 - (now - turn.ended) // span
        if 0 <= index < count:
            times[index].append(turn.seconds)
    ranges = list[ChartRange]()
    for index, measured in enumerate(times):
        begin = now - span * (count - index)
        ordered = sorted(measured)
        median, p95 = _quantile(ordered, 0.5), _quantile(ordered, 0.95)
        label = f"{begin:%H:%M}" if days == 1 else f"{_short(begin.date())} {begin:%H}h"
        ranges.append(ChartRange(label, None if median is None or p95 is None else (median, p95)))
    return ranges


@dataclass(frozen=True, slots=True)
class TurnParts:
    """The seconds of a turn: waiting for a slot, the model's calls, tools, and the rest."""

    waited: float
    models: float
    tools: float
    rest: float


def turn_parts(turn: TurnTook) -> TurnParts:
    """Divide a turn's time into its parts, which add up to it. Concurrent calls count once."""
    calls = [(call.timing.began, call.timing.ms) for call in turn.calls if call.timing is not None]
    tools = [(tool.began, tool.ms or 0) for tool in turn.tools]
    waited = 0.0 if turn.began is None else min(turn.seconds, max(0.0, (turn.began - turn.taken).total_seconds()))
    model_s = min(_covered(calls, turn), turn.seconds - waited)
    busy_s = min(_covered([*calls, *tools], turn), turn.seconds - waited)
    tool_s = max(0.0, busy_s - model_s)
    return TurnParts(waited, model_s, tool_s, max(0.0, turn.seconds - waited - model_s - tool_s))


def _covered(spans: Sequence[tuple[datetime, int]], turn: TurnTook) -> float:
    """Return how many seconds of the turn these spans cover together."""
    covered, until = 0.0, 0.0
    for begin, end in sorted(_within(turn, start, ms) for start, ms in spans):
        covered += max(0.0, end - max(begin, until))
        until = max(until, end)
    return covered


def _within(turn: TurnTook, start: datetime, ms: int) -> tuple[float, float]:
    """Return start and end in seconds of the turn, clamped to it: the clocks may be those of two machines."""
    begin = min(turn.seconds, max(0.0, (start - turn.taken).total_seconds()))
    return begin, min(turn.seconds, begin + ms / 1000)


def _turn_row(turn: TurnTook, where: ShownPlace, longest: float) -> Mapping[str, object]:
    spent = turn_parts(turn)
    values = ((WAIT, spent.waited), (MODEL, spent.models), (TOOL, spent.tools), (REST, spent.rest))
    return {
        "href": f"/turn?id={turn.id}",
        "when": _when(turn.ended),
        "name": turn.name or turn.person,
        "where": where,
        "took": seconds(turn.seconds),
        "parts": [seconds(value) for _, value in values],
        "bar": charts.parts(values, longest),
        "outcome": turn.outcome,
    }


def _when(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


async def one_turn(reports: OperatorReports, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:  # noqa: ARG001 -- as its neighbours
    number = query.get("id", "")
    is_number = number.isascii() and number.isdecimal() and len(number) < 19
    turns = await reports.durations([int(number)]) if is_number else []
    if not turns:
        return ViewAnswer("sorry.html", {"says": operator_texts.TURN_NOT_THERE}, 404)
    turn = turns[0]
    where = (await shown_places([turn.channel], names_of))[turn.channel]
    spent = sum((Spent(1, call.usage, call.cost or Money(0), int(call.cost is None)) for call in turn.calls), Spent())
    facts = (
        turn.name or turn.person,
        ", ".join(filter(None, [turn.source, where.name, where.beside])),
        f"{turn.taken.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC",
        seconds(turn.seconds),
        turn.outcome,
        cost_text(spent),
        counted(turn.attempts, "claim", "claims"),
    )
    return ViewAnswer(
        "turn.html",
        {
            "id": turn.id,
            "facts": dict(zip(operator_texts.TURN_FACTS, facts, strict=True)),
            "steps": _steps(turn),
            "keys": [(charts.key(at), title) for at, title in operator_texts.TURN_PARTS.items()],
            "untimed": turn.began is None or any(call.timing is None for call in turn.calls),
        },
    )


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A step of a turn: what it was, its details, its start and its duration."""

    what: str
    says: str
    since: str
    took: str
    bar: Markup


def _steps(turn: TurnTook) -> list[TurnStep]:
    lines = list[tuple[float, float, int, str, str]]()
    for call in turn.calls:
        if call.timing is not None:
            usage = call.usage
            read, written = (
                usage.input_uncached + usage.input_cached + usage.input_written,
                usage.output + usage.reasoning,
            )
            first = _seconds(None if call.timing.first_ms is None else call.timing.first_ms / 1000)
            says = operator_texts.MODEL_STEP.format(read=read, cached=usage.input_cached, written=written, first=first)
            lines.append((*_within(turn, call.timing.began, call.timing.ms), MODEL, call.model, says))
    for tool in turn.tools:
        says = operator_texts.TOOL_STEP.format(
            decision=reply_texts.DECISIONS.get(tool.decision, tool.decision), effect=tool.effect, outcome=tool.outcome
        )
        lines.append((*_within(turn, tool.began, tool.ms or 0), TOOL, tool.tool, says))
    first = min((begin for begin, *_ in lines), default=turn.seconds)
    last = max((end for _, end, *_ in lines), default=turn.seconds)
    began = first if turn.began is None else min(first, max(0.0, (turn.began - turn.taken).total_seconds()))
    waits, detail = operator_texts.WAITED_AND_PREPARED if turn.began is None else operator_texts.WAITED
    lines.append((0.0, began, WAIT, waits, detail))
    # Between taking the question and the first call the bot reads memory and builds the context: time of its own, shown
    # as such.
    if began < first:
        lines.append((began, first, REST, operator_texts.PREPARED[0], operator_texts.PREPARED[1]))
    if last < turn.seconds:
        lines.append((last, turn.seconds, REST, operator_texts.SHOWED[0], operator_texts.SHOWED[1]))
    return [
        TurnStep(
            what, says, seconds(begin), seconds(end - begin), charts.part(begin, end - begin, turn.seconds, series)
        )
        for begin, end, series, what, says in sorted(lines)
    ]


# Schedules, and documents of places.


async def schedules(reports: OperatorReports, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:
    state = requested(query, "state", STATES)
    rows, counts = await reports.schedules(state, MAX_ROWS)
    where = await shown_places((item.definition.channel for item, _ in rows if not item.definition.direct), names_of)
    return ViewAnswer(
        "schedules.html",
        {
            "states": [
                PageChoice(f"{choice.capitalize()} ({counts.get(choice, 0):,})", f"?state={choice}", choice == state)
                for choice in STATES
            ],
            "state": state,
            "schedules": [_schedule_row(schedule, name, where, clock.now()) for schedule, name in rows],
            "more": counts.get(state, 0) - len(rows),
        },
    )


def _schedule_row(
    schedule: Schedule, name: str, where: Mapping[str, ShownPlace], now: datetime
) -> Mapping[str, object]:
    terms = schedule.definition
    try:
        rule = in_words(terms.timing, now)
    except (ValueError, SettingsError):
        rule = ""
    return {
        "id": schedule.id,
        "name": name or terms.person,
        "kind": terms.kind.value,
        "where": ShownPlace(operator_texts.IN_DIRECT) if terms.direct else where[terms.channel],
        "rule": rule or operator_texts.DASH,
        "next": operator_texts.DASH if schedule.next is None else _when(schedule.next),
        "last": operator_texts.DASH if schedule.last is None else _when(schedule.last),
        "looks": terms.check is not None,
    }


async def places(reports: OperatorReports, clock: Clock, names_of: NamesOf, query: Mapping[str, str]) -> ViewAnswer:  # noqa: ARG001 -- as its neighbours
    documents, count, passages = await reports.documents(MAX_ROWS)
    channels = await reports.sharing(MAX_ROWS + 1)
    where = await shown_places([*(document.channel for document in documents), *channels[:MAX_ROWS]], names_of)
    return ViewAnswer(
        "places.html",
        {
            "figures": [
                Figure(operator_texts.DOCUMENTS, f"{count:,}", operator_texts.DOCUMENTS_SAY),
                Figure(operator_texts.PASSAGES, f"{passages:,}", operator_texts.PASSAGES_SAY),
            ],
            "documents": [_document_row(document, where[document.channel]) for document in documents],
            "more": count - len(documents),
            "sharing": [where[channel] for channel in channels[:MAX_ROWS]],
            "more_share": len(channels) > MAX_ROWS,
        },
    )


def _document_row(document: Document, channel: ShownPlace) -> Mapping[str, object]:
    kind, _, team = document.audience.partition(":")
    kind = AudienceKind(kind)
    where = ShownPlace(team) if not document.channel else channel
    return {
        "name": document.name or operator_texts.OWN_DOCUMENT,
        "web": document.web is not None,
        "fault": bool(document.web and document.web.fault),
        "where": ShownPlace(operator_texts.IN_DIRECT) if kind is AudienceKind.PERSON else where,
        "readers": operator_texts.READERS[kind],
        "by": document.by or operator_texts.DASH,
        "when": _when(document.time),
        "pages": f"{document.pages:,}" if document.pages else operator_texts.DASH,
        "passages": f"{document.passages:,}",
    }
