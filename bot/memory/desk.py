"""A person's view of what is known about them: seeing it, and deciding about it.

Rules
  Only what may be shown at the viewer's place is listed, and only what is listed there can be decided about.
  What is deleted is shown and used no more; the messages that it came from teach it no more. For a minute it can be
  brought back, by whoever deleted it; then it is erased as forgetting erases.
  A correction is a statement of its own: it belongs to the place where it is made, and needs no source.
  "Everywhere" is for what comes from the person's own words alone, and works in replies to them alone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, assert_never

from agent.errors import StoreError
from agent.memory.audience import Place, label, may_flow_from
from agent.memory.facts import CORRECTION, Fact, led_to
from agent.memory.forgetting import EntriesPlan
from agent.memory.profile import TEXT_CHARS, Partition, ProfileEntry, UserProfile, opened, stated, tidy
from agent.memory.secrets import has_secret
from agent.memory.writing import NewFact, Written
from agent.ports import Clock, Conversations, Facts, Forgetting, Preferences, Profiles, Spending
from agent.records import Receipt, Remembered
from agent.spending import By, account
from agent.spending import Period as SpendingPeriod
from bot.host import MemoryAnswer, Suggestion, Viewer
from bot.local_time import zone_of
from bot.memory import suggestions, view, words
from bot.memory.export import Messages, as_json
from bot.memory.kept import Kept
from bot.memory.numbers import Numbers, decode
from bot.memory.pauses import Pauses

NUMBERS: Final = "memory numbers"
"""The preference that keeps which number stands for what."""
UNDO: Final = timedelta(minutes=1)
"""How long what was deleted can be brought back: long enough to see that it was the wrong one."""
TURN_DIGITS: Final = 19
"""Of a number that a database holds."""
TRIES: Final = 9
"""How often a change begins anew because something was learned meanwhile; between two of those are seconds."""
FACT_CHARS: Final = 2_000
"""As much as may be remembered at once."""
PAGE: Final = 200
"""Messages of an export that are read at once: some milliseconds in which no answer can be stored."""
MAX_THREADS: Final = 10_000
"""Of an export: more than anybody began, and a file that still opens."""


async def flowing(place: Place) -> frozenset[str]:
    """What may be shown where nobody can be asked who reads elsewhere."""
    return may_flow_from(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDesk:
    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    preferences: Preferences
    conversations: Conversations
    spending: Spending
    clock: Clock
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """What may be shown at a place."""

    @property
    def pauses(self) -> Pauses:
        return Pauses(self.preferences, self.profiles, self.clock)

    @property
    def kept(self) -> Kept:
        return Kept(self.facts, self.profiles, self.forgetting, self.clock)

    async def answer(self, viewer: Viewer, asked: str) -> MemoryAnswer:
        """What `/memory` with these words says to this person there, for them alone. Raises StoreError."""
        request = words.read(asked)
        match request:
            case words.Show(page):
                return await self._list(viewer, "", page)
            case words.Delete(which):
                return await self._decide(viewer, which, self._delete, undo=True)
            case words.Undo(which):
                return await self._undo(viewer, which)
            case words.Correct(which, text):
                return await self._decide(viewer, which, lambda one, here: self._correct(one, here, text))
            case words.Everywhere(which, on):
                return await self._decide(viewer, which, lambda one, here: self._open(one, here, on=on))
            case words.Export():
                return MemoryAnswer(view.EXPORTED, file=await self._export(viewer))
            case words.Pause():
                return MemoryAnswer(await self._pause(viewer, request))
            case words.Help():
                return MemoryAnswer(view.help_text())
            case words.Unclear(sentence):
                return MemoryAnswer(sentence)
            case _:
                assert_never(request)

    async def suggestions(self, viewer: Viewer, limit: int) -> tuple[Suggestion, ...]:
        """What the viewer may want to ask next. Raises StoreError."""
        here, person = await self.audiences(viewer.place), viewer.person.id
        threads = await self.conversations.threads(person, limit=suggestions.NEWEST, audiences=here)
        profile = await self.profiles.readable(person, here)
        return suggestions.suggestions(threads, profile.entries, limit)

    async def known(self, viewer: Viewer, *, past: bool = False) -> list[Remembered]:
        """Everything that is known about the viewer and may be shown to them there; `past`: also what is superseded."""
        person, here = viewer.person.id, await self.audiences(viewer.place)
        facts = [one for one in await self.facts.readable(person, here) if one.person and (past or one.is_valid)]
        return [*facts, *await self.profiles.known(person, here)]

    async def _list(self, viewer: Viewer, before: str = "", page: int = 1) -> MemoryAnswer:
        """The list as it is now, below what has just happened."""
        known = await self.known(viewer)
        numbers = await self._numbered(viewer, lambda earlier: earlier.including(view.key_of(one) for one in known))
        shown, here, pages = view.page_of(known, numbers, page)
        own = await self.facts.in_own_words(viewer.person.id, [one.id for one in shown if isinstance(one, Fact)])
        entries = view.listed(shown, numbers, zone_of(viewer.person.time_zone), own)
        paused = view.lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        heading = view.HEADING if entries else view.NOTHING
        parts = [before, paused, view.full_text(known), heading]
        return MemoryAnswer("\n\n".join(filter(None, parts)), entries, here, pages)

    async def _numbers(self, viewer: Viewer) -> Numbers:
        return decode((await self.preferences.of(viewer.person.id)).get(NUMBERS, ""))

    async def _numbered(self, viewer: Viewer, how: Callable[[Numbers], Numbers]) -> Numbers:
        """Change the numbers, however many lists are made at the same moment: no number is given twice."""
        person = viewer.person.id
        for _ in range(TRIES):
            kept = (await self.preferences.of(person)).get(NUMBERS)
            before = decode(kept or "")
            after = how(before)
            if after == before or await self.preferences.swap(person, NUMBERS, kept, after.encode()):
                return after
        raise StoreError("Your list was made in several places at once; please ask for it again.")

    async def _key(self, viewer: Viewer, which: str) -> str | None:
        """The key of an entry that is named by its number or its key."""
        return (await self._numbers(viewer)).key(int(which)) if which.isdecimal() else which

    async def _decide(
        self, viewer: Viewer, which: str, do: Callable[[Remembered, Viewer], Awaitable[str]], *, undo: bool = False
    ) -> MemoryAnswer:
        """Do it to the entry that is meant, if it is still known and may be shown here; then show the list.

        `undo`: what is done can be undone.
        """
        key = await self._key(viewer, which)
        meant = next((one for one in await self.known(viewer) if view.key_of(one) == key), None)
        if meant is None:
            return MemoryAnswer(view.NO_NUMBER.format(number=which) if which.isdecimal() else view.GONE)
        shown = await self._list(viewer, await do(meant, viewer))
        return replace(shown, undo=view.key_of(meant)) if undo else shown

    async def _delete(self, one: Remembered, viewer: Viewer) -> str:
        plan, until = await self._plan(one, viewer), self.clock.now() + UNDO
        key, number = view.key_of(one), (await self._numbers(viewer)).of.get(view.key_of(one))
        return view.deleted_text(one, number, await self.forgetting.delete_entries(plan, key, until))

    async def _undo(self, viewer: Viewer, which: str) -> MemoryAnswer:
        if which.startswith(words.OF_TURN):
            turn = which.removeprefix(words.OF_TURN)
            known = turn.isdecimal() and len(turn) < TURN_DIGITS
            return MemoryAnswer(await self.kept.take_back(int(turn), viewer.person.id) if known else view.NOT_BACK)
        key = await self._key(viewer, which) if which else None
        back = None if which and key is None else await self.forgetting.undo(viewer.person.id, key)
        if back is None:
            return MemoryAnswer(view.NOT_BACK)
        shown = next((one for one in await self.known(viewer) if view.key_of(one) == back), None)
        said = view.named(shown) if shown else view.ELSEWHERE
        return await self._list(viewer, view.BACK.format(said=said))

    async def settle(self, key: str) -> None:
        """Erase what was deleted under this key at once: nobody is left to bring it back. Raises StoreError."""
        await self.forgetting.wipe(key)

    async def _erase(self, one: Remembered, viewer: Viewer) -> Receipt:
        return await self.forgetting.forget_entries(await self._plan(one, viewer), self.clock.now())

    async def _plan(self, one: Remembered, viewer: Viewer) -> EntriesPlan:
        person = viewer.person.id
        if isinstance(one, ProfileEntry):
            return EntriesPlan(person, entries=frozenset({one.id}))
        history = await self.facts.readable(person, frozenset({one.audience}))
        return EntriesPlan(person, facts=led_to(history, one.id))

    async def _correct(self, one: Remembered, viewer: Viewer, text: str) -> str:
        if has_secret(text):
            return view.NO_SECRETS
        own = text.removeprefix(f"{one.key}:").strip()
        most = TEXT_CHARS if isinstance(one, ProfileEntry) else FACT_CHARS
        if len(own) > most:
            return view.TOO_LONG.format(most=most)
        if own == (one.text if isinstance(one, ProfileEntry) else one.value):
            return view.SAME
        keep = self._state(one, viewer, own) if isinstance(one, ProfileEntry) else self._write(one, viewer, own)
        added = await keep
        if added is None:
            return view.BUSY if isinstance(one, ProfileEntry) else view.BOUND
        before, after = view.key_of(one), view.key_of(added)
        await self._numbered(viewer, lambda numbers: numbers.moved(before, after))
        # The new one stands before the old one falls, whatever happens in between.
        narrower = added.audience != one.audience and not one.everywhere
        return view.corrected_text(one, await self._erase(one, viewer), narrower=narrower)

    async def _write(self, one: Fact, viewer: Viewer, own: str) -> Fact | None:
        """Keep the person's own words as a fact; None if something greater than their word stands in the way."""
        written = await self.facts.write(
            NewFact(
                id="",
                key=one.key,
                value=own,
                source=CORRECTION,
                timestamp=self.clock.now(),
                audience=label(viewer.place.audience),
                person=viewer.person.id,
                authority=one.authority,
                scope=one.scope,
                scope_id=one.scope_id,
                is_constraint=one.is_constraint,
                constraint_type=one.constraint_type,
            )
        )
        if not isinstance(written, Written):
            return None
        if one.everywhere:
            await self.facts.open(viewer.person.id, written.fact.id, everywhere=True)
        return written.fact

    async def _state(self, one: ProfileEntry, viewer: Viewer, own: str) -> ProfileEntry | None:
        """Keep the person's own words beside the entry; None if the profile changed all the time."""
        partition, now = Partition(viewer.person.id, label(viewer.place.audience)), self.clock.now()
        entry = replace(one, id=0, text=tidy(own), audience=partition.audience, sources=(), time=now, confidence=1.0)
        if not await self._change(partition, lambda profile: stated(profile, entry, now)):
            return None
        entries = (await self.profiles.of(partition)).entries
        return max((kept for kept in entries if kept.text == entry.text), key=lambda kept: kept.id, default=None)

    async def _open(self, one: Remembered, viewer: Viewer, *, on: bool) -> str:
        person = viewer.person.id
        if isinstance(one, Fact):
            if on and one.id not in await self.facts.in_own_words(person, [one.id]):
                return view.NOT_YOUR_WORDS
            await self.facts.open(person, one.id, everywhere=on)
            return view.USED_EVERYWHERE if on else view.USED_HERE
        partition = Partition(person, one.audience)
        if not await self._change(partition, lambda profile: opened(profile, one.id, everywhere=on)):
            return view.BUSY
        return view.USED_EVERYWHERE if on else view.USED_HERE

    async def _change(self, partition: Partition, how: Callable[[UserProfile], UserProfile]) -> bool:
        """Change a profile, however often somebody learns meanwhile."""
        for _ in range(TRIES):
            if await self.profiles.save(partition, how(await self.profiles.of(partition))):
                return True
        return False

    async def _export(self, viewer: Viewer) -> str:
        person, now = viewer.person, self.clock.now()
        here = await self.audiences(viewer.place)
        threads = await self.conversations.threads(person.id, limit=MAX_THREADS, audiences=here)
        totals = await self.spending.totals(SpendingPeriod.month_of(now), By.DAY, person=person.id)
        chosen = await self.preferences.of(person.id)
        choices = {name: value for name, value in chosen.items() if name != NUMBERS}
        known, messages = await self.known(viewer, past=True), await self._messages(person.id, here)
        made = as_json, person, known, threads, messages, choices, account(totals, now), now
        return await asyncio.to_thread(*made)  # megabytes, while other answers grow

    async def _messages(self, person: str, here: frozenset[str]) -> Messages:
        """What they wrote and were answered, the newest first, as far as it fits."""
        messages, before = Messages(), None
        while page := await self.conversations.own(person, here, before=before, limit=PAGE):
            if not messages.take(page):
                break
            before = page[-1].id
        return messages

    async def _pause(self, viewer: Viewer, asked: words.Pause) -> str:
        channel = viewer.channel if asked.here else None
        if asked.for_everybody and not (viewer.manages and viewer.channel):
            return view.NOT_THE_MANAGER
        await self.pauses.set(None if asked.for_everybody else viewer.person.id, channel or None, on=asked.on)
        done = view.pause_text(on=asked.on, here=bool(channel), for_everybody=asked.for_everybody)
        if asked.on:
            return done
        still = view.lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        return "\n\n".join(filter(None, [done, still]))
