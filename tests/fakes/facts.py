"""Short functions to write facts."""

from datetime import datetime

from agent.memory.facts import Fact
from agent.memory.writing import NewFact, Written
from agent.ports.memory import Facts


async def remember(
    facts: Facts, person: str, text: str, audience: str, now: datetime, source_message: int | None = None
) -> Fact:
    """Write a fact that a person asked to remember, without a key."""
    new = NewFact(
        id="",
        key="",
        value=text,
        source="user",
        timestamp=now,
        audience=audience,
        person=person,
        source_message=source_message,
    )
    outcome = await facts.write(new)
    assert isinstance(outcome, Written), outcome
    return outcome.fact


def fact(
    id_: str, person: str, text: str, audience: str, time: datetime, *, key: str = "", permalink: str | None = None
) -> Fact:
    return Fact(id_, key, text, "user", time, audience, person, permalink=permalink)
