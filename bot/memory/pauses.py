"""Whether the bot may learn from what somebody says, where they say it: people may pause that.

Above: `bot.memory.desk` changes it, `bot.app` lets turns and the learner ask. Below: `bot.memory.words`, the ports
Preferences and Profiles.

Rules
  A pause of the person, of theirs in a channel, or of the channel for everybody: each is enough.
  What is said during a pause is never learned later. So after a pause only what was said after its end counts; and what
  waits to be learned from when a pause begins is passed over.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.memory.forgetting import PAUSED
from agent.ports import Clock, Preferences, Profiles
from agent.records import Incoming
from bot.memory.words import Pause

PAUSE: Final = "learning"
"""The preference's name."""


@dataclass(frozen=True, slots=True)
class Pauses:
    preferences: Preferences
    profiles: Profiles | None
    clock: Clock

    async def may_learn(self, incoming: Incoming) -> bool:
        """Whether this message may be learned from. Raises StoreError."""
        own = await self.preferences.of(incoming.person.id)
        common = await self.preferences.of(owner_of(incoming.channel))
        kept = (own.get(PAUSE), own.get(name_in(incoming.channel)), common.get(PAUSE))
        return all(_allows(one, incoming.time) for one in kept)

    async def is_paused(self, person: str) -> bool:
        """Whether the person has paused learning everywhere. Raises StoreError."""
        return (await self.preferences.of(person)).get(PAUSE) == PAUSED

    async def lasting(self, person: str, channel: str) -> list[Pause]:
        """The pauses for which nothing is learned from this person there, the widest first. Raises StoreError."""
        own = await self.preferences.of(person)
        common = await self.preferences.of(owner_of(channel))
        kept = (
            (own.get(PAUSE), Pause()),
            (own.get(name_in(channel)), Pause(here=True)),
            (common.get(PAUSE), Pause(here=True, for_everybody=True)),
        )
        return [pause for value, pause in kept if value == PAUSED]

    async def set(self, person: str | None, channel: str | None, *, on: bool) -> None:
        """Pause, or go on: for a person (None: everybody), in a channel (None: everywhere). Raises StoreError."""
        owner = owner_of(channel or "") if person is None else person
        name = PAUSE if person is None or channel is None else name_in(channel)
        if on:
            await self.preferences.set(owner, name, PAUSED)
            if self.profiles is not None:
                await self.profiles.pass_over(person=person, channel=channel)
        elif (await self.preferences.of(owner)).get(name) == PAUSED:
            await self.preferences.set(owner, name, self.clock.now().isoformat())


def owner_of(channel: str) -> str:
    """Under whose name choices for a channel are kept."""
    return f"channel:{channel}"


def name_in(channel: str) -> str:
    """The preference of a person who pauses learning in one channel."""
    return f"{PAUSE} in {channel}"


def _allows(kept: str | None, said: datetime) -> bool:
    """`kept`: nothing, that it is paused, or when a pause ended."""
    if kept is None:
        return True
    try:
        return said > datetime.fromisoformat(kept)
    except ValueError:
        return False
