"""A person's view of what is known about them: seeing it, and deciding about it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, assert_never

from cachetools import LRUCache

from agent.errors import Refused, StoreError
from agent.memory.audience import Place, label, may_flow_from
from agent.memory.documents import SHARING
from agent.memory.facts import CORRECTION, Fact, led_to
from agent.memory.forgetting_plans import PAUSED, EntriesPlan, OneReply
from agent.memory.profile import TEXT_CHARS, Partition, ProfileEntry, ProfileField, UserProfile, opened, stated, tidy
from agent.memory.secrets import has_secret
from agent.memory.writing import NewFact, Written
from agent.ports import Clock, Conversations, Facts, Forgetting, Jobs, Ledger, Preferences, Profiles, Replies, Spending
from agent.records import DELETE_REPLY, EPHEMERAL_PAGE, Answered, Remembered, ReplyVerdict, ShownPage, Thread
from agent.schedules import Schedules
from agent.spending import By, SpendingPeriod, account
from bot.access.acl import AccessRules
from bot.caches import MAX_ENTRIES
from bot.host import MemoryAnswer, Suggestion, Viewer
from bot.memory import view
from bot.memory.learning import KeptNotice, LearningPauses
from bot.memory.retention import Delete
from bot.memory.view import EntryNumbers, ExportedMessages, as_json, decode_numbers
from bot.reply_surface import PageGone, PageLocked, SurfaceError
from bot.texts import command_texts, memory_texts, reply_texts
from bot.texts.formatting import shortened, zone_of

# What somebody may want to ask next, from what is known about them. Pure.
#
# Rule: only what may be shown where it is suggested goes in, and only what the person said or asked themselves.

TITLE_CHARS: Final = 60  # What fits a button on a phone
QUESTION_CHARS: Final = 300
NEWEST: Final = 3  # Of each kind: an older one is hardly what somebody is about now


def suggestions(threads: Sequence[Thread], entries: Sequence[ProfileEntry], limit: int) -> tuple[Suggestion, ...]:
    """At most `limit`, by turns of each kind: the latest thread, the newest goal, the newest project, and so on."""
    newest = sorted(entries, key=lambda entry: entry.time, reverse=True)
    goals = [entry.text for entry in newest if entry.field is ProfileField.GOALS]
    projects = [entry.key or entry.text for entry in newest if entry.field is ProfileField.PROJECTS]
    forms = (
        (memory_texts.GO_ON_WITH, [thread.title for thread in threads]),
        (memory_texts.GOAL, goals),
        (memory_texts.PROJECT, projects),
    )
    kinds = [[_suggestion(form, what) for what in _distinct(some)] for form, some in forms]
    by_turns = [kind[place] for place in range(NEWEST) for kind in kinds if place < len(kind)]
    return tuple(by_turns[: max(limit, 0)])


def _distinct(texts: Sequence[str]) -> list[str]:
    lines = (" ".join(text.split()).rstrip(".") for text in texts)
    return list(dict.fromkeys(filter(None, lines)))[:NEWEST]


def _suggestion(form: tuple[str, str], what: str) -> Suggestion:
    title, question = form
    room = TITLE_CHARS - len(title.format(what=""))
    return Suggestion(title.format(what=shortened(what, room)), question.format(what=shortened(what, QUESTION_CHARS)))


NUMBERS: Final = "memory numbers"  # The preference that keeps which number stands for what
# How long what was deleted can be brought back: long enough to see that it was the wrong one.
UNDO: Final = timedelta(minutes=1)
TURN_DIGITS: Final = 19  # Of a number that a database holds
# How often a change begins anew because something was learned meanwhile; between two of those are seconds.
TRIES: Final = 9
FACT_CHARS: Final = 2_000  # As much as may be remembered at once
PAGE: Final = 200  # Messages of an export that are read at once: some milliseconds in which no answer can be stored
MAX_THREADS: Final = 10_000  # Of an export: more than anybody began, and a file that still opens


async def flowing(place: Place) -> frozenset[str]:
    """What may be shown where nobody can be asked who reads elsewhere."""
    return may_flow_from(place)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDesk:
    """Rules
    Only what may be shown at the viewer's place is listed, and only what is listed there can be decided about. What
    is deleted is shown and used no more; the messages that it came from teach it no more. For a minute it can be
    brought back, by whoever deleted it; then it is erased as forgetting erases.
    A correction is a statement of its own: it belongs to the place where it is made, and needs no source.
    "Everywhere" is for what comes from the person's own words alone, and works in replies to them alone.
    """

    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    preferences: Preferences
    conversations: Conversations
    spending: Spending
    schedules: Schedules
    clock: Clock
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """What may be shown at a place."""

    @property
    def pauses(self) -> LearningPauses:
        return LearningPauses(self.preferences, self.profiles, self.clock)

    @property
    def kept(self) -> KeptNotice:
        return KeptNotice(self.facts, self.profiles, self.forgetting, self.clock)

    async def answer(self, viewer: Viewer, asked: str) -> MemoryAnswer:
        """What `/memory` with these words says to this person there, for them alone. Raises StoreError."""
        request = view.read_memory_request(asked)
        match request:
            case view.ShowMemory(page):
                return await self._list(viewer, "", page)
            case view.ShowEntry(which):
                return await self._opened(viewer, which)
            case view.DeleteEntry(which):
                return await self._decide(viewer, which, self._delete, undo=True)
            case view.UndoDelete(which):
                return await self._undo(viewer, which)
            case view.CorrectEntry(which, text):
                return await self._decide(viewer, which, lambda one, here: self._correct(one, here, text))
            case view.UseEverywhere(which, on):
                return await self._decide(viewer, which, lambda one, here: self._open(one, here, on=on))
            case view.ExportMemory():
                return MemoryAnswer(memory_texts.EXPORTED, file=await self._export(viewer))
            case view.PauseLearning():
                return await self._pause(viewer, request)
            case view.ShareOwn(on):
                await self.preferences.set(viewer.person.id, SHARING, None if on else PAUSED)
                return MemoryAnswer(memory_texts.OWN_SHARED if on else memory_texts.OWN_NOT_SHARED)
            case view.MemoryHelp():
                return MemoryAnswer(command_texts.help_text(memory_texts.MEMORY_HELP))
            case view.UnclearMemory(sentence):
                return MemoryAnswer(sentence, refused=True)
            case _:
                assert_never(request)

    async def suggestions(self, viewer: Viewer, limit: int) -> tuple[Suggestion, ...]:
        """What the viewer may want to ask next. Raises StoreError."""
        here, person = await self.audiences(viewer.place), viewer.person.id
        threads = await self.conversations.threads(person, limit=NEWEST, audiences=here)
        profile = await self.profiles.readable(person, here)
        return suggestions(threads, profile.entries, limit)

    async def known(self, viewer: Viewer, *, past: bool = False) -> list[Remembered]:
        """Everything that is known about the viewer and may be shown to them there; `past`: also what is superseded."""
        person, here = viewer.person.id, await self.audiences(viewer.place)
        facts = [one for one in await self.facts.readable(person, here) if one.person and (past or one.is_valid)]
        return [*facts, *await self.profiles.known(person, here)]

    async def _opened(self, viewer: Viewer, which: str) -> MemoryAnswer:
        """One entry, and the page on which it stands."""
        key = await self._key(viewer, which)
        listed = await self._list(viewer, key=key)
        found = tuple(entry for entry in listed.entries if entry.key == key)
        return replace(listed, text="", entries=found, opened=True) if found else _missing(which)

    async def _list(self, viewer: Viewer, before: str = "", page: int = 1, key: str | None = None) -> MemoryAnswer:
        """The list as it is now, below what has just happened: that page, or the one on which this entry stands."""
        known = await self.known(viewer)
        numbers = await self._numbered(viewer, lambda earlier: earlier.including(view.key_of(one) for one in known))
        shown, here, pages = view.page_of(known, numbers, page, key)
        own = await self.facts.in_own_words(viewer.person.id, [one.id for one in shown if isinstance(one, Fact)])
        entries = view.listed_entries(shown, numbers, zone_of(viewer.person.time_zone), own)
        paused = view.lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        heading = memory_texts.MEMORY_HEADING if entries else memory_texts.NOTHING_REMEMBERED
        out = (await self.preferences.of(viewer.person.id)).get(SHARING) == PAUSED
        kept_back = memory_texts.OWN_KEPT_BACK if out else ""
        parts = [before, paused, kept_back, view.full_text(known), heading]
        return MemoryAnswer("\n\n".join(filter(None, parts)), entries, here, pages)

    async def _numbers(self, viewer: Viewer) -> EntryNumbers:
        return decode_numbers((await self.preferences.of(viewer.person.id)).get(NUMBERS, ""))

    async def _numbered(self, viewer: Viewer, how: Callable[[EntryNumbers], EntryNumbers]) -> EntryNumbers:
        """Change the numbers, however many lists are made at the same moment: no number is given twice."""
        person = viewer.person.id
        for _ in range(TRIES):
            kept = (await self.preferences.of(person)).get(NUMBERS)
            before = decode_numbers(kept or "")
            after = how(before)
            if after == before or await self.preferences.swap(person, NUMBERS, kept, after.encode()):
                return after
        raise StoreError(memory_texts.LISTS_AT_ONCE)

    async def _key(self, viewer: Viewer, which: str) -> str | None:
        return (await self._numbers(viewer)).key(int(which)) if which.isdecimal() else which

    async def _decide(
        self, viewer: Viewer, which: str, do: Callable[[Remembered, Viewer], Awaitable[str]], *, undo: bool = False
    ) -> MemoryAnswer:
        """Do it to the entry that is meant, if it is still known and may be shown here; then show the list. `do` may
        raise Refused: then nothing is changed.

        `undo`: what is done can be undone.
        """
        key = await self._key(viewer, which)
        meant = next((one for one in await self.known(viewer) if view.key_of(one) == key), None)
        if meant is None:
            return _missing(which)
        try:
            done = await do(meant, viewer)
        except Refused as why:
            return replace(await self._list(viewer, str(why)), refused=True)
        shown = await self._list(viewer, done)
        return replace(shown, undo=view.key_of(meant)) if undo else shown

    async def _delete(self, one: Remembered, viewer: Viewer) -> str:
        plan, until = await self._plan(one, viewer), self.clock.now() + UNDO
        key, number = view.key_of(one), (await self._numbers(viewer)).of.get(view.key_of(one))
        return view.deleted_text(one, number, await self.forgetting.delete_entries(plan, key, until))

    async def _undo(self, viewer: Viewer, which: str) -> MemoryAnswer:
        if which.startswith(view.OF_TURN):
            turn = which.removeprefix(view.OF_TURN)
            known = turn.isdecimal() and len(turn) < TURN_DIGITS
            return MemoryAnswer(await self.kept.take_back(int(turn), viewer.person.id)) if known else _NOT_BACK
        key = await self._key(viewer, which) if which else None
        back = None if which and key is None else await self.forgetting.undo(viewer.person.id, key)
        if back is None:
            return _NOT_BACK
        shown = next((one for one in await self.known(viewer) if view.key_of(one) == back), None)
        said = view.entry_sentence(shown) if shown else memory_texts.ELSEWHERE
        return await self._list(viewer, memory_texts.BACK.format(said=said))

    async def settle(self, key: str) -> None:
        """Erase what was deleted under this key at once: nobody is left to bring it back. Raises StoreError."""
        await self.forgetting.wipe(key)

    async def _plan(self, one: Remembered, viewer: Viewer) -> EntriesPlan:
        person = viewer.person.id
        if isinstance(one, ProfileEntry):
            return EntriesPlan(person, entries=frozenset({one.id}))
        history = await self.facts.readable(person, frozenset({one.audience}))
        return EntriesPlan(person, facts=led_to(history, one.id))

    async def _correct(self, one: Remembered, viewer: Viewer, text: str) -> str:
        if has_secret(text):
            raise Refused(memory_texts.NO_SECRETS)
        own = text.removeprefix(f"{one.key}:").strip()
        most = TEXT_CHARS if isinstance(one, ProfileEntry) else FACT_CHARS
        if len(own) > most:
            raise Refused(memory_texts.ENTRY_TOO_LONG.format(most=most))
        if own == (one.text if isinstance(one, ProfileEntry) else one.value):
            return memory_texts.SAME
        keep = self._state(one, viewer, own) if isinstance(one, ProfileEntry) else self._write(one, viewer, own)
        added = await keep
        if added is None:
            raise Refused(memory_texts.LEARNING if isinstance(one, ProfileEntry) else memory_texts.BOUND)
        before, after = view.key_of(one), view.key_of(added)
        await self._numbered(viewer, lambda numbers: numbers.moved(before, after))
        # The new one stands before the old one falls, whatever happens in between.
        narrower = added.audience != one.audience and not one.everywhere
        receipt = await self.forgetting.forget_entries(await self._plan(one, viewer), self.clock.now())
        return view.corrected_text(one, receipt, narrower=narrower)

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
                raise Refused(memory_texts.NOT_YOUR_WORDS)
            await self.facts.open(person, one.id, everywhere=on)
            return memory_texts.USED_EVERYWHERE if on else memory_texts.USED_HERE
        partition = Partition(person, one.audience)
        if not await self._change(partition, lambda profile: opened(profile, one.id, everywhere=on)):
            raise Refused(memory_texts.LEARNING)
        return memory_texts.USED_EVERYWHERE if on else memory_texts.USED_HERE

    async def _change(self, partition: Partition, how: Callable[[UserProfile], UserProfile]) -> bool:
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
        mine = [one for one in await self.schedules.of_person(person.id) if label(one.made.place.audience) in here]
        made = as_json, person, known, threads, messages, choices, mine, account(totals, now), now
        return await asyncio.to_thread(*made)  # megabytes, while other answers grow

    async def _messages(self, person: str, here: frozenset[str]) -> ExportedMessages:
        messages, before = ExportedMessages(), None
        while page := await self.conversations.messages_of(person, here, before=before, limit=PAGE):
            if not messages.take(page):
                break
            before = page[-1].id
        return messages

    async def _pause(self, viewer: Viewer, asked: view.PauseLearning) -> MemoryAnswer:
        channel = viewer.channel if asked.here else None
        if asked.for_everybody and not (viewer.manages and viewer.channel):
            return MemoryAnswer(memory_texts.NOT_THE_MANAGER, refused=True)
        await self.pauses.set(None if asked.for_everybody else viewer.person.id, channel or None, on=asked.on)
        done = memory_texts.pause_text(on=asked.on, here=bool(channel), for_everybody=asked.for_everybody)
        if asked.on:
            return MemoryAnswer(done)
        still = view.lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        return MemoryAnswer("\n\n".join(filter(None, [done, still])))


def _missing(which: str) -> MemoryAnswer:
    number = memory_texts.NO_NUMBER.format(number=which)
    return MemoryAnswer(number if which.isdecimal() else memory_texts.NO_ENTRY, refused=True)


_NOT_BACK: Final = MemoryAnswer(memory_texts.NOT_BACK, refused=True)


# What people do about a reply that has ended: say what they think of it, or have it deleted.
#
# Rules
#   Whoever can see a reply may judge it, and change their mind: what they take back counts only if they said nothing
#   after it. Only who asked, or an operator, may delete it.
#   Its words are forgotten first, and then its pages are deleted in the platform; a page that cannot be deleted now is
#   deleted later, by a job.

# Between the buttons below a reply and its place in the store lies a moment, longer where files are handed over; who
# presses then waits for so long, which leaves platforms their three seconds.
ENDING_S: Final = 1.5
LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class ReplyFeedback:
    """`deletions`: how to delete a page, by the source of its question."""

    replies: Replies
    ledger: Ledger
    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    deletions: Mapping[str, Delete]
    access: AccessRules
    withdraw: Callable[[str, str], Awaitable[bool]]
    """Takes back a question, by its channel and message."""
    disliked: Callable[[Answered], Awaitable[None]] | None = None
    """Is told of a reply that somebody found bad, or had deleted."""
    _said_last: LRUCache[tuple[int, str], ReplyVerdict] = field(default_factory=lambda: LRUCache(MAX_ENTRIES))

    async def at(self, source: str, page: str, channel: str = "") -> Answered | None:
        return await self.replies.by_page(source, page, channel)

    async def of(self, turn: int) -> Answered | None:
        """The reply of a turn, which may just be ending. Raises StoreError."""
        until = self.clock.monotonic() + ENDING_S
        while (reply := await self.replies.by_turn(turn)) is None and await self.ledger.pages(turn) is None:
            if self.clock.monotonic() >= until:
                return None
            await self.clock.sleep(LOOK_S)
        return reply

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict) -> bool:
        """False if there is no such reply any more. Raises StoreError."""
        self._said_last[turn, person] = verdict
        known = await self.replies.judge(turn, person, verdict, self.clock.now())
        judged = await self.replies.by_turn(turn) if known and verdict is ReplyVerdict.BAD and self.disliked else None
        if judged is not None and self.disliked is not None:
            await self.disliked(judged)
        return known

    async def take_verdict_back(self, turn: int, person: str, verdict: ReplyVerdict) -> None:
        if self._said_last.get((turn, person), verdict) == verdict:
            await self.replies.judge(turn, person, None, self.clock.now())

    async def delete_running(self, source: str, page: str, person: str, channel: str = "") -> bool:
        reply = await self.replies.running_by_page(source, page, channel)
        if reply is None or reply.person != person:
            return False
        return await self.withdraw(reply.channel, reply.message_id)

    async def delete(self, turn: int, person: str) -> bool:
        """False if there is no such reply any more. Raises Refused, StoreError."""
        reply = await self.replies.by_turn(turn)
        if reply is None:
            return False
        if reply.person != person and not self.access.is_operator(person):
            raise Refused(reply_texts.NOT_YOURS)
        if self.disliked is not None:
            await self.disliked(reply)
        await self.forgetting.forget(OneReply(turn), self.clock.now())
        for page in reply.pages:
            if not page.startswith(EPHEMERAL_PAGE):
                await self._delete(ShownPage(reply.source, reply.channel, page))
        return True

    async def _delete(self, page: ShownPage) -> None:
        try:
            if page.source in self.deletions:
                await self.deletions[page.source](page)
                return
        except (PageGone, PageLocked):
            return
        except SurfaceError:
            pass  # later
        await self.jobs.schedule(DELETE_REPLY, page.key, page.encode(), self.clock.now())
