"""The views of the operators' page on the bot itself: the present state, failures, tools, audit, settings.

Rule: they show numbers, times, and names, which are untrusted text. They show no content: no message, fact, or argument
of a tool.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import Final, Protocol

from agent.doors import Door, door_of
from agent.incoming import platform_of
from agent.messages import ResultStatus
from agent.outgoing import FAILED_KEPT
from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from agent.ports.outbox import Outbox
from agent.ports.shard_leases import ListedShard
from agent.ports.spending import Spending
from agent.ports.tool_audit import CallEnd, ToolAudit
from agent.ports.tools import Tool
from agent.spending import By, SpendingPeriod, Spent
from agent.tool_policy import DecidedBy, PolicyRow
from agent.toolbox.registry import UNASKED
from bot.budgets.report import cost_text
from bot.chat.audit import WAITS, change_words
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, platform_name, shortened
from bot.operators import texts as operator_texts
from bot.operators.pages.frame import OperatorView, ViewAnswer
from bot.operators.pages.last_hour import ACCEPTED, HourSeen, Recent, SocketsSeen
from bot.operators.pages.shown_places import NamesOf, ShownPlace, no_names, shown_places
from bot.settings.declaration import SettingOrigin, ShownSetting

MAX_UNDELIVERED: Final = 50  # Events of webhooks; the command lists all
LATE_S: Final = 1.0  # A delay of the event loop that people notice
LATELY: Final = timedelta(minutes=5)
LONG_BACKLOG: Final = 100  # Waiting questions: more than a process answers in some minutes


@dataclass(frozen=True, slots=True)
class OperatorSources:
    """The sources of the views. `about`: version, models, store; `served`: the names of the platforms to serve;
    `shards`: None where this `process` is the only one on its database.
    """

    recent: Recent
    ledger: Ledger
    audit: ToolAudit
    clock: Clock
    settings: Sequence[ShownSetting]
    secrets: Sequence[str]  # Never shown
    about: Callable[[], Mapping[str, str]]
    platforms: "ConnectedPlatforms"
    tools: "OfferedTools"
    served: Sequence[str] = ()
    shards: Callable[[datetime], Awaitable[Sequence[ListedShard]]] | None = None
    process: str = ""
    names_of: NamesOf = no_names
    outbox: Outbox | None = None
    """Events that could not be delivered."""
    spending: Spending | None = None


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """All tools, the unreachable servers with the reason (`away`), and the policy table: the rows of its file
    (`fixed`), then those set by command, by their numbers (`numbered`).
    """

    tools: Callable[[], Sequence[Tool]]
    away: Callable[[], Mapping[str, str]]
    fixed: Sequence[PolicyRow]
    numbered: Callable[[], Mapping[int, PolicyRow]]


class ConnectedPlatforms(Protocol):
    @property
    def troubles(self) -> Mapping[str, str]:
        """The reasons why platforms are not connected, by their names."""
        ...


def operator_views(sources: OperatorSources) -> tuple[OperatorView, ...]:
    views = {
        "/": now,
        "/failures": failures,
        "/tools": tools_and_policy,
        "/requests": requests,
        "/audit": audit,
        "/settings": all_settings,
    }
    return tuple(OperatorView(path, operator_texts.VIEWS[path], partial(show, sources)) for path, show in views.items())


# Now.


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, its name, and the note beside it."""

    name: str
    value: str
    beside: str
    is_bad: bool = False


async def now(sources: OperatorSources, _: Mapping[str, str]) -> ViewAnswer:
    recent, moment = sources.recent, sources.clock.now()
    hour, load = recent.hour(), await sources.ledger.load()
    late_s = recent.latest_beat_s(LATELY)
    troubles = sources.platforms.troubles
    return ViewAnswer(
        "now.html",
        {
            "about": sources.about(),
            "since": span((moment - recent.since).total_seconds()),
            "troubles": [{"name": platform_name(name), "why": why} for name, why in sorted(troubles.items())],
            "figures": [
                *_of_turns(hour),
                Figure(
                    operator_texts.BACKLOG,
                    f"{load.waiting:,}",
                    operator_texts.RUNNING.format(answers=counted(load.running, "answer", "answers")),
                    is_bad=load.waiting > LONG_BACKLOG,
                ),
                Figure(
                    operator_texts.LOOP_LATE, seconds(late_s), operator_texts.LOOP_LATE_SAYS, is_bad=late_s > LATE_S
                ),
            ],
            "minutes": hour.turns,
            "most": max(1, *hour.turns),
            "minutes_say": operator_texts.MINUTES_SAY.format(most=max(hour.turns), all=hour.ended),
            "platforms": _platforms(sources, recent.sockets(), moment),
            "shards": [
                _shard(sources, shard, moment) for shard in (await sources.shards(moment) if sources.shards else ())
            ],
            "late": [{"name": name, "by": span(late)} for name, late in sorted(recent.late_s.items()) if late > 0],
        },
    )


def _of_turns(hour: HourSeen) -> list[Figure]:
    per_minute = sum(hour.turns[-5:]) / 5
    median, p95 = hour.quantile(0.5), hour.quantile(0.95)
    first_text_note = (
        operator_texts.FIRST_TEXT_SAYS.format(most=seconds(p95)) if p95 is not None else operator_texts.NONE_YET
    )
    return [
        Figure(operator_texts.TURNS_A_MINUTE, f"{per_minute:.1f}", operator_texts.TURNS_SAY.format(hour=hour.ended)),
        Figure(operator_texts.FIRST_TEXT, operator_texts.DASH if median is None else seconds(median), first_text_note),
        Figure(
            operator_texts.FAILED_TURNS,
            f"{hour.failed:,}",
            operator_texts.FAILED_SAY.format(share=hour.failed / (hour.ended or 1)),
            is_bad=hour.failed > 0,
        ),
    ]


def _platforms(sources: OperatorSources, seen: Sequence[SocketsSeen], moment: datetime) -> list[Mapping[str, object]]:
    by_name, troubles = {sockets.platform.casefold(): sockets for sockets in seen}, sources.platforms.troubles
    away = {name.casefold() for name in troubles}
    rows = list[Mapping[str, object]]()
    in_parts = {*map(platform_of, by_name)} - by_name.keys()
    for name in sorted({*sources.served, *by_name} - in_parts):
        sockets = by_name.get(name.casefold(), SocketsSeen(name, 0, None, None))
        rows.append(
            {
                "name": platform_name(name),
                "connected": name.casefold() not in away and (sockets.count > 0 or sockets.silent_s is not None),
                "sockets": f"{sockets.count:,}",
                "oldest": operator_texts.DASH
                if sockets.oldest is None
                else span((moment - sockets.oldest).total_seconds()),
                "silent": operator_texts.DASH if sockets.silent_s is None else seconds(sockets.silent_s),
            }
        )
    return rows


def _shard(sources: OperatorSources, shard: ListedShard, moment: datetime) -> Mapping[str, object]:
    process = shortened(shard.owner, NAME_CHARS) or operator_texts.NOBODY
    return {
        "name": f"{shard.number} of {shard.count}",
        "process": f"{process} {operator_texts.THIS_ONE}"
        if shard.owner and shard.owner == sources.process
        else process,
        "held": bool(shard.owner),
        **{
            name: operator_texts.DASH if at is None else span((moment - at).total_seconds())
            for name, at in (("since", shard.since), ("seen", shard.last_renewed), ("heard", shard.heard))
        },
    }


# Failures, and what to do.

ONGOING_WITHIN: Final = timedelta(hours=1)  # A failure within this time counts as still going on


async def failures(sources: OperatorSources, _: Mapping[str, str]) -> ViewAnswer:
    moment = sources.clock.now()
    seen = [
        {
            "what": operator_texts.FAILURES[failure.kind.value][0],
            "remedy": operator_texts.FAILURES[failure.kind.value][1],
            "where": shortened(failure.where, NAME_CHARS),
            "count": f"{failure.count:,}",
            "last": failure.last,
            "ago": span((moment - failure.last).total_seconds()),
            "lasts": moment - failure.last < ONGOING_WITHIN,
        }
        for failure in sources.recent.failures()
    ]
    away = [{"name": platform_name(name), "why": why} for name, why in sorted(sources.platforms.troubles.items())]
    servers = [{"name": name, "why": why} for name, why in sorted(sources.tools.away().items())]
    since = span((moment - sources.recent.since).total_seconds())
    return ViewAnswer(
        "failures.html",
        {
            "failures": seen,
            "platforms": away,
            "servers": servers,
            "since": since,
            "disabled": [] if sources.outbox is None else sorted((await sources.outbox.disabled()).items()),
            "undelivered_days": FAILED_KEPT.days,
            "undelivered": [] if sources.outbox is None else await sources.outbox.failed(MAX_UNDELIVERED),
        },
    )


# Requests of other programs.


async def requests(sources: OperatorSources, _: Mapping[str, str]) -> ViewAnswer:
    moment = sources.clock.now()
    endpoints = [
        {
            "name": shortened(seen.name, NAME_CHARS),
            "accepted": f"{seen.accepted:,}",
            "refused": [
                {"count": f"{count:,}", "why": why, "remedy": remedy}
                for end, count in sorted(seen.ends.items())
                if end not in ACCEPTED
                for why, remedy in [operator_texts.REQUEST_ENDS[end.value]]
            ],
            "last": seen.last,
            "ago": span((moment - seen.last).total_seconds()),
        }
        for seen in sources.recent.endpoints()
    ]
    since = span((moment - sources.recent.since).total_seconds())
    doors = [] if sources.spending is None else await _costs_of_doors(sources.spending, moment)
    return ViewAnswer("requests.html", {"endpoints": endpoints, "since": since, "doors": doors})


async def _costs_of_doors(spending: Spending, now: datetime) -> list[Mapping[str, str]]:
    """What the turns of each door cost today and in this month (UTC)."""
    day, month = SpendingPeriod.days_until(now, 1), SpendingPeriod.month_of(now)
    today = {total.key: total.spent for total in await spending.totals(day, By.DOOR)}
    so_far = {total.key: total.spent for total in await spending.totals(month, By.DOOR)}
    return [
        {
            "name": operator_texts.DOORS[door],
            "today": cost_text(today.get(door, Spent())),
            "month": cost_text(so_far.get(door, Spent())),
            "calls": f"{so_far.get(door, Spent()).calls:,}",
        }
        for door in Door
    ]


# Tools and policy.


async def tools_and_policy(sources: OperatorSources, _: Mapping[str, str]) -> ViewAnswer:
    offered = sources.tools
    numbered = [(operator_texts.ROW_OF_FILE, row) for row in offered.fixed]
    numbered += [(f"{number}", row) for number, row in offered.numbered().items()]
    tools = [
        {
            "name": shortened(tool.name, NAME_CHARS),
            "does": shortened(tool.description, DOES_CHARS),
            "effect": operator_texts.TOOL_EFFECTS.get(tool.effect, tool.effect.value),
            "usual": operator_texts.RUNS if tool.effect in UNASKED else operator_texts.ASKS,
            "rows": [f"{number}: {row.answer}" for number, row in numbered if fnmatchcase(tool.name, row.tools)],
        }
        for tool in offered.tools()
    ]
    rows = [
        {"number": number, "tools": row.tools, "who": row.who, "where": row.where, "answer": row.answer.value}
        for number, row in numbered
    ]
    away = [{"name": name, "why": why} for name, why in sorted(offered.away().items())]
    return ViewAnswer("tools.html", {"tools": tools, "rows": rows, "away": away})


# The audit.

PAGE: Final = 100  # Rows of the audit on a page
NAME_CHARS: Final = 80
DOES_CHARS: Final = 160
CHANGE_CHARS: Final = 400
_ABOUT: Final = {
    DecidedBy.OPERATOR.value: operator_texts.OPERATORS_ACT,
    DecidedBy.OWNER.value: operator_texts.OWNERS_TOKEN,
    DecidedBy.FEEDBACK.value: operator_texts.FEEDBACK_STATE,
}


async def audit(sources: OperatorSources, query: Mapping[str, str]) -> ViewAnswer:
    before = query.get("before", "")
    is_number = before.isascii() and before.isdecimal() and len(before) <= MAX_DIGITS
    # One more than is shown: it says whether there is an older page.
    calls = await sources.audit.newest(PAGE + 1, int(before) if is_number else None)
    names = await sources.audit.names_of({call.person for call in calls if call.person})
    places = await shown_places({call.channel for call in calls if call.channel}, sources.names_of)
    rows = [
        {
            "time": call.time,
            "who": shortened(names.get(call.person, ""), NAME_CHARS) or call.person or operator_texts.DASH,
            "id": call.person if names.get(call.person) else "",
            "where": places.get(call.channel, ShownPlace(operator_texts.DASH)),
            "kind": operator_texts.PLACES.get(call.audience.partition(":")[0], ""),
            "door": operator_texts.DOORS.get(door_of(call.person, call.channel), ""),
            "tool": shortened(call.tool, NAME_CHARS),
            "about": _ABOUT.get(call.decided_by, operator_texts.POLICY_CHANGE),
            "change": "" if call.tool else shortened(change_words(call), CHANGE_CHARS),
            "effect": operator_texts.TOOL_EFFECTS.get(call.effect, call.effect),
            "decision": reply_texts.DECISIONS.get(call.decision, call.decision),
            "by": call.decided_by,
            "outcome": operator_texts.NO_END_YET if call.outcome == CallEnd.BEGUN else call.outcome,
            "is_bad": call.outcome not in {CallEnd.BEGUN, ResultStatus.SUCCESS, WAITS},
            "took": operator_texts.DASH if call.ms is None else seconds(call.ms / 1000),
            "size": operator_texts.DASH if call.size is None else byte_size(call.size),
        }
        for call in calls[:PAGE]
    ]
    older = calls[PAGE - 1].id if len(calls) > PAGE else None
    return ViewAnswer("audit.html", {"rows": rows, "older": older, "is_first": not is_number})


MAX_DIGITS: Final = 18  # Of an integer that every database accepts


# Settings.


async def all_settings(sources: OperatorSources, _: Mapping[str, str]) -> ViewAnswer:
    rows = [
        {
            "name": setting.name,
            "value": _shown_value(setting, sources.secrets),
            "is_secret": setting.value is None,
            "origin": operator_texts.ORIGINS[setting.origin.value].format(name=setting.name),
            "is_set": setting.origin is not SettingOrigin.DEFAULT,
        }
        for setting in sources.settings
    ]
    return ViewAnswer("settings.html", {"chosen": [row for row in rows if row["is_set"]], "rows": rows})


def _shown_value(setting: ShownSetting, secrets: Sequence[str]) -> str:
    if setting.value is None or any(secret in setting.value for secret in secrets):
        return operator_texts.SECRET_SET
    return shortened(setting.value, VALUE_CHARS) or operator_texts.NOT_SET


VALUE_CHARS: Final = 600


# Formatting times and sizes.


def byte_size(count: int) -> str:
    """Format a number of bytes: "512 B", "1.4 kB", "12 MB"."""
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{count} B"


def seconds(value: float) -> str:
    """Format seconds: "40 ms", "2.4 s", "90 s"."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"


def span(value: float) -> str:
    """Format seconds in the two largest units: "3 d 4 h", "12 min"."""
    minutes = int(value // 60)
    hours, days = minutes // 60, minutes // 1440
    if days:
        return f"{days:,} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{value:.0f} s"
