"""Where learning pauses."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from agent.incoming import Incoming, person_source
from agent.memory.forgetting_plans import PAUSE, PAUSED
from agent.ports.clock import Clock
from agent.ports.memory import Profiles
from agent.ports.preferences import Preferences
from bot.chat.access.place_rules import chosen_at, name_at, place_owner
from bot.memory.learning import Learner
from bot.memory.requests import PauseLearning

# Pauses: people may stop the bot from learning from their messages.
#
# Rules
#   A pause applies to a person everywhere, to a person in one channel, or to everybody in one channel; any of them is
#   enough. Messages written during a pause are never learned from later: after a pause only messages written after
#   its end count, and messages still unlearned when a pause begins are skipped.


@dataclass(frozen=True, slots=True)
class LearningPauses:
    preferences: Preferences
    profiles: Profiles | None
    clock: Clock

    async def may_learn(self, incoming: Incoming) -> bool:
        """Return whether the bot may learn from this message. Raises StoreError."""
        with self.preferences.together(incoming.person.id, place_owner(incoming.channel)):
            of_person = await self.preferences.all_of(incoming.person.id)
            of_channel = await self._of_channel(incoming.source, incoming.channel)
        values = (of_person.get(PAUSE), of_person.get(name_in(incoming.channel)), of_channel)
        return all(_allows(value, incoming.time) for value in values)

    async def is_paused(self, person: str) -> bool:
        """Return whether the person has paused learning everywhere. Raises StoreError."""
        return (await self.preferences.all_of(person)).get(PAUSE) == PAUSED

    async def among(self, people: Collection[str], channel: str) -> frozenset[str]:
        """Return those of `people` who have paused learning, in the channel or everywhere. Raises StoreError."""
        paused = set[str]()
        for person in people:
            preferences = await self.preferences.all_of(person)
            if PAUSED in (preferences.get(PAUSE), preferences.get(name_in(channel))):
                paused.add(person)
        return frozenset(paused)

    async def lasting(self, person: str, channel: str) -> list[PauseLearning]:
        """Return the pauses that apply to this person in this channel, the widest first. Raises StoreError."""
        of_person = await self.preferences.all_of(person)
        of_channel = await self._of_channel(person_source(person), channel)
        candidates = (
            (of_person.get(PAUSE), PauseLearning()),
            (of_person.get(name_in(channel)), PauseLearning(here=True)),
            (of_channel, PauseLearning(here=True, for_everybody=True)),
        )
        return [pause for value, pause in candidates if value == PAUSED]

    async def is_paused_for_all(self, source: str, channel: str) -> bool:
        """Return whether learning is paused for everyone in this channel. Raises StoreError."""
        return await self._of_channel(source, channel) == PAUSED

    async def set(self, person: str, channel: str | None, *, on: bool) -> None:
        """Pause or resume learning of a person in a channel (None: everywhere). Raises StoreError."""
        name = PAUSE if channel is None else name_in(channel)
        now = (await self.preferences.all_of(person)).get(name)
        await self._set(person, name, now, on=on)
        if on and self.profiles is not None:
            await self.profiles.skip_learning(person=person, channel=channel)

    async def set_for_all(self, source: str, channel: str, *, on: bool) -> None:
        """Pause or resume learning of everybody whom the bot of this source answers in a channel. Raises StoreError."""
        await self._set(place_owner(channel), name_at(source, PAUSE), await self._of_channel(source, channel), on=on)
        if on and self.profiles is not None:
            await self.profiles.skip_learning(channel=channel, source=source)

    async def carry_over(self, channel: str, new: str) -> None:
        """Let the pauses of people in a channel hold under its new id, too. Raises StoreError."""
        for person, value in await self.preferences.all_named(name_in(channel)):
            await self.preferences.swap(person, name_in(new), None, value)

    async def _set(self, owner: str, name: str, now: str | None, *, on: bool) -> None:
        if on:
            await self.preferences.set(owner, name, PAUSED)
        elif now == PAUSED:
            await self.preferences.set(owner, name, self.clock.now().isoformat())

    async def _of_channel(self, source: str, channel: str) -> str | None:
        return chosen_at(await self.preferences.all_of(place_owner(channel)), source, PAUSE)


@dataclass(frozen=True, slots=True)
class LearningSchedule:
    """Implements `bot.chat.turns.runner.LearningRules`. `learner`: None where nothing is learned."""

    learner: Learner | None = None
    pauses: LearningPauses | None = None

    def due(self, now: datetime) -> datetime | None:
        return None if self.learner is None else self.learner.due(now)

    async def may_learn(self, incoming: Incoming) -> bool:
        return self.pauses is None or await self.pauses.may_learn(incoming)


def name_in(channel: str) -> str:
    """Return the name of the preference by which a person pauses learning in one channel."""
    return f"{PAUSE} in {channel}"


def _allows(value: str | None, written: datetime) -> bool:
    """Return whether a preference allows learning from a message of this time.

    `value`: None, PAUSED, or when a pause ended, in ISO's form.
    """
    if value is None:
        return True
    try:
        return written > datetime.fromisoformat(value)
    except ValueError:
        return False
