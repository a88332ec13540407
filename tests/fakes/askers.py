"""A person who asks in a place that only they read."""

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.ports.tools import Asker


def asker(person: str, thread: frozenset[str] = frozenset(), time_zone: str = "") -> Asker:
    """`thread`: what "this thread" means there."""
    return Asker(Person(person, "", time_zone), Place(PersonAudience(person)), thread=thread)
