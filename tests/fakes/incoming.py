"""Messages to the bot as a platform adapter would read them, with defaults for everything but the text."""

from datetime import UTC, datetime, timedelta
from itertools import count

from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LEASE = timedelta(seconds=30)

_numbers = count(1)


def dm(person: str) -> Place:
    """A place that only this person reads."""
    return Place(PersonAudience(person))


def said(
    text: str,
    *,
    person: str = "ann",
    conversation: str = "thread",
    place: Place | None = None,
    number: int | None = None,
) -> Incoming:
    """Return one message, a second after the one before; the same `number` is the same message."""
    n = next(_numbers) if number is None else number
    return Incoming(
        source="test",
        event_id=f"event-{n}",
        channel="channel",
        message_id=f"post-{n}",
        conversation=conversation,
        person=Person(person, person.title(), "Europe/Madrid"),
        place=place or dm(person),
        text=text,
        time=START + timedelta(seconds=n),
        permalink=f"https://example.test/{n}",
        reply_to="here",
    )
