"""A person who asks in a place that only they read."""

from agent.memory.audience import PersonAudience, Place
from agent.ports import Asker
from agent.records import Person


def asker(person: str, thread: frozenset[str] = frozenset(), time_zone: str = "") -> Asker:
    """`thread`: what "this thread" means there."""
    return Asker(Person(person, "", time_zone), Place(PersonAudience(person)), thread=thread)
