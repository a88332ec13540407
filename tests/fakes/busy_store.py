"""A store with weeks of use in it: people, channels, turns with their model and tool calls, written at once."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import sqlalchemy as sa

from store.message_tables import conversation, person
from store.model_calls import model_call
from store.tool_calls import tool_call
from store.turn_tables import DONE, turn

MODELS: Final = ("openai:gpt-6.1-terra", "anthropic:claude-sonnet-5", "ollama:llama3.2")
TOOLS: Final = ("recall", "web_search", "remember")
CALLS_OF_A_TURN: Final = 10
AT_ONCE: Final = 2_000


def fill(
    connection: sa.Connection,
    now: datetime,
    *,
    turns: int,
    days: int,
    people: Sequence[str],
    calls: int = CALLS_OF_A_TURN,
) -> None:
    """Write `turns` turns in the last `days` days, of these people by their names, each with `calls` model calls."""
    random = Random(7)
    connection.execute(sa.insert(person), [
        {"id": f"slack:U{at:05}", "name": name, "time_zone": "UTC"} for at, name in enumerate(people)
    ])  # fmt: skip
    connection.execute(sa.insert(conversation), [
        {"id": f"thread {at}", "audience": "team:slack:T1"} for at in range(min(turns, 500))
    ])  # fmt: skip
    for first in range(0, turns, AT_ONCE):
        numbers = range(first, min(turns, first + AT_ONCE))
        generated = [_turn(random, now, number, turns, days, len(people), calls) for number in numbers]
        connection.execute(sa.insert(turn), [one for one, _, _ in generated])
        connection.execute(sa.insert(model_call), [call for _, some, _ in generated for call in some])
        connection.execute(sa.insert(tool_call), [call for _, _, some in generated for call in some])


def _turn(
    random: Random, now: datetime, number: int, turns: int, days: int, people: int, calls: int
) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a turn's row, and those of its calls. Some people ask more than others, each in three channels; weekends
    are quiet.
    """
    taken = now - timedelta(days=days) * (1 - (number + 1) / (turns + 1))
    if taken.weekday() > 4 and random.random() < 0.8:
        taken = max(now - timedelta(days=days), taken - timedelta(days=2))
    person_ = int(people * random.random() ** 2)
    who, channel = f"slack:U{person_:05}", f"slack:T1:C{(person_ + random.choice((0, 0, 1, 5))) % 40:03}"
    kind = min(int(random.expovariate(1.2)), len(MODELS) - 1)
    at = began = taken + timedelta(seconds=random.expovariate(2))
    models, tools = list[dict[str, Any]](), list[dict[str, Any]]()
    of_turn = {"turn": number + 1, "person": who, "channel": channel}
    at += timedelta(milliseconds=80)
    for order in range(1, calls + 1):
        ms = int(random.lognormvariate(7.2, 0.8))
        models.append(of_turn | {
            "number": order, "kind": "turn", "model": MODELS[kind], "day": at.date(),
            "input_uncached": random.randrange(4_000), "input_cached": random.randrange(20_000), "input_written": 0,
            "output": random.randrange(900), "reasoning": random.randrange(300), "bytes_up": 9_000,
            "estimated": kind == 2, "cost": None if kind == 2 else random.randrange(40_000_000),
            "began": at, "ms": ms, "first_ms": ms // 3,
        })  # fmt: skip
        at += timedelta(milliseconds=ms)
        if order < calls and random.random() < 0.5:
            took = int(random.lognormvariate(5.5, 1))
            tools.append(of_turn | {
                "time": at, "call": f"{order}.1", "audience": "team:slack:T1", "tool": random.choice(TOOLS),
                "arguments": '{"query": "a word of theirs"}', "effect": "reads", "decision": "unasked",
                "decided_by": "effect", "outcome": "success", "ms": took, "size": 900,
            })  # fmt: skip
            at += timedelta(milliseconds=took)
    ended = at + timedelta(milliseconds=random.randrange(100, 900))
    row = {
        "id": number + 1, "state": DONE, "source": "slack:T1", "event_id": f"E{number}", "channel": channel,
        "message_id": f"{number}", "conversation": f"thread {number % min(turns, 500)}", "person": who,
        "taken": taken, "began": began, "ended": ended, "epoch": 1, "attempts": 1, "outcome": "answered",
        "usage": '{"output": 1}',
    }  # fmt: skip
    return row, models, tools
