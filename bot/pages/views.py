"""What the operators' page shows of the bot itself: how it does, what fails, its tools, its audit, its settings.

Rule: numbers, times, and names, which are foreign text. No words of anybody: no message, fact, or argument of a tool.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from agent.ports import Clock, Ledger
from bot.pages.frame import OperatorView, ViewAnswer
from bot.pages.recent import HourSeen, Recent, SocketsSeen
from bot.texts import setup_texts
from bot.texts.formatting import counted

LATE_S: Final = 1.0
"""The loop: later than this, people notice."""
LATELY: Final = timedelta(minutes=5)
MANY_WAIT: Final = 100
"""Questions: more than one process answers in some minutes."""


@dataclass(frozen=True, slots=True)
class OperatorSources:
    """What the pages read. `about`: version, models, store; `served`: the names of the platforms that are to be."""

    recent: Recent
    ledger: Ledger
    clock: Clock
    about: Callable[[], Mapping[str, str]]
    platforms: "ConnectedPlatforms"
    served: Sequence[str] = ()


class ConnectedPlatforms(Protocol):
    @property
    def troubles(self) -> Mapping[str, str]:
        """Why a platform is not connected, by its name."""
        ...


def operator_views(sources: OperatorSources) -> tuple[OperatorView, ...]:
    return (OperatorView("/", setup_texts.VIEW_NOW, partial(now, sources)),)


# Now.


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, what it is, and what stands beside it."""

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
            "troubles": [f"{name}: {why}" for name, why in sorted(troubles.items())],
            "figures": [
                *_of_turns(hour),
                Figure(
                    setup_texts.BACKLOG,
                    f"{load.waiting:,}",
                    setup_texts.RUNNING.format(answers=counted(load.running, "answer grows", "answers grow")),
                    is_bad=load.waiting > MANY_WAIT,
                ),
                Figure(setup_texts.LOOP_LATE, seconds(late_s), setup_texts.LOOP_LATE_SAYS, is_bad=late_s > LATE_S),
            ],
            "minutes": hour.turns,
            "most": max(1, *hour.turns),
            "minutes_say": setup_texts.MINUTES_SAY.format(most=max(hour.turns), all=hour.ended),
            "platforms": _platforms(sources, recent.sockets(), moment),
            "late": [{"name": name, "by": span(late)} for name, late in sorted(recent.late_s.items()) if late > 0],
        },
    )


def _of_turns(hour: HourSeen) -> list[Figure]:
    lately = sum(hour.turns[-5:]) / 5
    half, most = hour.quantile(0.5), hour.quantile(0.95)
    beside = setup_texts.FIRST_TEXT_SAYS.format(most=seconds(most)) if most is not None else setup_texts.NONE_YET
    return [
        Figure(setup_texts.TURNS_A_MINUTE, f"{lately:.1f}", setup_texts.TURNS_SAY.format(hour=hour.ended)),
        Figure(setup_texts.FIRST_TEXT, setup_texts.DASH if half is None else seconds(half), beside),
        Figure(
            setup_texts.FAILED_TURNS,
            f"{hour.failed:,}",
            setup_texts.FAILED_SAY.format(share=hour.failed / (hour.ended or 1)),
            is_bad=hour.failed > 0,
        ),
    ]


def _platforms(sources: OperatorSources, seen: Sequence[SocketsSeen], moment: datetime) -> list[Mapping[str, object]]:
    known, troubles = {one.platform.casefold(): one for one in seen}, sources.platforms.troubles
    away = {name.casefold() for name in troubles}
    rows = list[Mapping[str, object]]()
    for name in sorted({*sources.served, *known}):
        one = known.get(name.casefold(), SocketsSeen(name, 0, None, None))
        rows.append(
            {
                "name": name.capitalize(),
                "connected": name.casefold() not in away and (one.count > 0 or one.silent_s is not None),
                "sockets": f"{one.count:,}",
                "oldest": setup_texts.DASH if one.oldest is None else span((moment - one.oldest).total_seconds()),
                "silent": setup_texts.DASH if one.silent_s is None else seconds(one.silent_s),
            }
        )
    return rows


# How times look.


def seconds(value: float) -> str:
    """ "40 ms", "2.4 s", "90 s"."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 10 else f"{value:,.0f} s"


def span(value: float) -> str:
    """In the two largest units: "3 d 4 h", "12 min"."""
    minutes = int(value // 60)
    hours, days = minutes // 60, minutes // 1440
    if days:
        return f"{days:,} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{value:.0f} s"
