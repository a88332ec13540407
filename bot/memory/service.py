"""Commands by which people see, correct, export and delete what is known about them, and judge or delete replies."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, assert_never

from agent.errors import Refused, StoreError
from agent.incoming import person_source
from agent.memory.audience import AudienceKind, PersonAudience, Place, audience_of, by_account, label
from agent.memory.documents import SHARING
from agent.memory.facts import CORRECTION, Fact, with_superseded
from agent.memory.forgetting_plans import CONNECT_CODE, CONNECT_ENTERED, PAUSED, EntriesPlan
from agent.memory.layers import Remembered
from agent.memory.profile import TEXT_CHARS, Partition, ProfileEntry, UserProfile, opened, stated, tidy
from agent.memory.review import due_reviews
from agent.memory.secrets import has_secret
from agent.memory.writing import NewFact, Written
from agent.ports.clock import Clock
from agent.ports.conversations import Conversations
from agent.ports.forgetting import Forgetting
from agent.ports.memory import Facts, Profiles
from agent.ports.preferences import Preferences
from agent.ports.saved_files import SavedFilesOfPeople
from agent.ports.spending import Spending
from agent.ports.tools import Asker
from agent.schedules.port import Schedules
from agent.spending import By, SpendingPeriod, account
from bot.chat.audiences import flowing
from bot.chat.ports import Suggestion
from bot.chat.texts.formatting import help_text, zone_of
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer
from bot.memory.export import ExportedMessages, as_json
from bot.memory.listing import PAGE as ENTRIES_PER_PAGE
from bot.memory.listing import (
    corrected_text,
    deleted_text,
    entry_sentence,
    full_text,
    key_of,
    lasting_text,
    listed_entries,
    page_of,
    review_text,
)
from bot.memory.notices import KeptNotice
from bot.memory.numbers import EntryNumbers, decode_numbers
from bot.memory.pauses import LearningPauses
from bot.memory.suggestions import NEWEST, suggestions

NUMBERS: Final = "memory numbers"  # The preference that stores an `EntryNumbers`
NOT_EXPORTED: Final = frozenset({NUMBERS, CONNECT_CODE, CONNECT_ENTERED})
# How long a deletion can be undone: long enough to notice that the wrong entry was deleted.
UNDO: Final = timedelta(minutes=1)
TURN_DIGITS: Final = 19  # Of the largest integer in a database
# Retries of a change after a concurrent write; learning writes are seconds apart.
TRIES: Final = 9
FACT_CHARS: Final = 2_000  # The limit for one remembered fact
PAGE: Final = 200  # Messages read at once for an export: no answer can be stored for those few milliseconds
MAX_FILES: Final = 1_000  # In an export
MAX_THREADS: Final = 10_000  # In an export: more than any person starts, in a file that still opens


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryService:
    """Answers `/memory`.

    Rules
      Only entries that may be shown at the viewer's place are listed, and only listed entries can be changed there.
      A deleted entry is no longer shown or used, and not learned again from the messages it came from. For a minute the
      person who deleted it can undo that; then it is erased as by forgetting.
      A correction is a new statement: it belongs to the place where it is made, and has no source.
      "Everywhere" applies only to entries from the person's own words, and only in replies to that person.
    """

    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    preferences: Preferences
    conversations: Conversations
    spending: Spending
    schedules: Schedules
    saved_files: SavedFilesOfPeople
    clock: Clock
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """Returns the labels of the audiences that may be shown at a place."""
    operates: Callable[[str], bool] = lambda _: False
    """Returns whether this person is an operator, who may decide for everyone anywhere."""
    page_size: int = ENTRIES_PER_PAGE
    numbered: bool = False
    """Whether entries are decided about by their numbers, because there are no buttons."""
    deleted: Callable[[str], None] = lambda _: None
    """Called with the key under which a deletion can be undone."""

    @property
    def pauses(self) -> LearningPauses:
        return LearningPauses(self.preferences, self.profiles, self.clock)

    @property
    def kept(self) -> KeptNotice:
        return KeptNotice(self.facts, self.profiles, self.forgetting, self.clock)

    async def answer(self, viewer: Asker, words: str) -> MemoryAnswer:
        """Return the answer to `/memory` with these words, for the viewer alone. Raises StoreError."""
        viewer = replace(viewer, manages=viewer.manages or self.operates(viewer.person.id))
        request = view.read_memory_request(words)
        match request:
            case view.ShowMemory(page):
                return await self._list(viewer, "", page)
            case view.ShowEntry(ref):
                return await self._show_entry(viewer, ref)
            case view.DeleteEntry(ref):
                return await self._decide(viewer, ref, self._delete, undo=True)
            case view.UndoDelete(ref):
                return await self._undo(viewer, ref)
            case view.CorrectEntry(ref, text):
                return await self._decide(viewer, ref, lambda item, at: self._correct(item, at, text))
            case view.UseEverywhere(ref, on):
                return await self._decide(viewer, ref, lambda item, at: self._use_everywhere(item, at, on=on))
            case view.SettleDoubt(ref, replaced):
                return await self._decide(viewer, ref, lambda item, at: self._settle_doubt(item, at, replaced=replaced))
            case view.KeepEntry(ref):
                return await self._decide(viewer, ref, self._keep)
            case view.ExportMemory():
                return MemoryAnswer(memory_texts.EXPORTED, file=await self._export(viewer))
            case view.PauseLearning():
                return await self._pause(viewer, request)
            case view.ShareOwn(on):
                await self.preferences.set(viewer.person.id, SHARING, None if on else PAUSED)
                return MemoryAnswer(memory_texts.OWN_SHARED if on else memory_texts.OWN_NOT_SHARED)
            case view.MemoryHelp():
                return MemoryAnswer(help_text(memory_texts.MEMORY_HELP))
            case view.UnclearMemory(sentence):
                return MemoryAnswer(sentence, refused=True)
            case _:
                assert_never(request)

    async def suggest(self, viewer: Asker, limit: int) -> tuple[Suggestion, ...]:
        """Return questions that the viewer may want to ask next. Raises StoreError."""
        audiences, person = await self.audiences(viewer.place), viewer.person.id
        threads = await self.conversations.threads(person, limit=NEWEST, audiences=audiences)
        profile = await self.profiles.readable(person, audiences)
        return suggestions(threads, profile.entries, limit)

    async def known(self, viewer: Asker, *, past: bool = False) -> list[Remembered]:
        """Return all entries about the viewer that may be shown at their place; `past`: also superseded facts."""
        facts = await self.facts.readable(viewer.person.id, audiences := await self.audiences(viewer.place))
        return await self._known(viewer.person.id, audiences, facts, past=past)

    async def _known(
        self, person: str, audiences: frozenset[str], facts: Sequence[Fact], *, past: bool
    ) -> list[Remembered]:
        """`facts`: those that may be read there, also the policies, which are left out."""
        own = [fact for fact in facts if fact.person and (past or fact.is_valid)]
        return [*own, *await self.profiles.all_entries(person, audiences)]

    async def _show_entry(self, viewer: Asker, ref: str) -> MemoryAnswer:
        """Return one entry, and the page that lists it."""
        key = await self._key_of(viewer, ref)
        listed = await self._list(viewer, key=key)
        shown = tuple(entry for entry in listed.entries if entry.key == key)
        return replace(listed, text="", entries=shown, opened=True) if shown else _missing(ref)

    async def _list(self, viewer: Asker, notice: str = "", page: int = 1, key: str | None = None) -> MemoryAnswer:
        """Return the current list below the text `notice`: this page, or the one that lists the entry of `key`."""
        audiences = await self.audiences(viewer.place)
        facts = await self.facts.readable(viewer.person.id, audiences)
        all_items = await self._known(viewer.person.id, audiences, facts, past=True)
        former = [item for item in all_items if isinstance(item, Fact) and not item.is_valid]
        items = [item for item in all_items if item not in former]
        valid = [item for item in items if isinstance(item, Fact)]
        numbers = await self._update_numbers(viewer, lambda old: old.including(key_of(item) for item in items))
        policies = [fact for fact in facts if not fact.person and fact.is_valid]
        # In a thread: comparing many facts with policies would block the event loop.
        due = await asyncio.to_thread(due_reviews, items, policies, self.clock.now())
        reviews = {key_of(review.item): review for review in due}
        page_items, current, pages = page_of(items, numbers, page, key, self.page_size, reviews)
        own = await self.facts.in_own_words(
            viewer.person.id, [item.id for item in page_items if isinstance(item, Fact)]
        )
        entries = listed_entries(page_items, numbers, zone_of(viewer.person.time_zone), own, former, valid, reviews)
        paused = lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        heading = memory_texts.MEMORY_HEADING if entries else memory_texts.NOTHING_REMEMBERED
        opted_out = (await self.preferences.all_of(viewer.person.id)).get(SHARING) == PAUSED
        sharing = memory_texts.OWN_KEPT_BACK if opted_out else ""
        review = review_text(len(reviews) if current == 1 else 0, numbered=self.numbered)
        parts = [notice, paused, sharing, full_text(items), review, heading]
        return MemoryAnswer("\n\n".join(filter(None, parts)), entries, current, pages)

    async def _numbers(self, viewer: Asker) -> EntryNumbers:
        return decode_numbers((await self.preferences.all_of(viewer.person.id)).get(NUMBERS, ""))

    async def _update_numbers(self, viewer: Asker, change: Callable[[EntryNumbers], EntryNumbers]) -> EntryNumbers:
        """Update the stored numbers and return them. Concurrent lists never get one number for two entries."""
        person = viewer.person.id
        for _ in range(TRIES):
            stored = (await self.preferences.all_of(person)).get(NUMBERS)
            numbers = decode_numbers(stored or "")
            changed = change(numbers)
            if changed == numbers or await self.preferences.swap(person, NUMBERS, stored, changed.encode()):
                return changed
        raise StoreError(memory_texts.LISTS_AT_ONCE)

    async def _key_of(self, viewer: Asker, ref: str) -> str | None:
        return (await self._numbers(viewer)).key(int(ref)) if ref.isdecimal() else ref

    async def _decide(
        self, viewer: Asker, ref: str, do: Callable[[Remembered, Asker], Awaitable[str]], *, undo: bool = False
    ) -> MemoryAnswer:
        """Apply `do` to the referred entry, if it still exists and may be shown here; return the list below its text.

        `do` may raise Refused; then nothing has changed. `undo`: offer to undo it.
        """
        key = await self._key_of(viewer, ref)
        item = next((candidate for candidate in await self.known(viewer) if key_of(candidate) == key), None)
        if item is None:
            return _missing(ref)
        page = (await self._list(viewer, key=key)).page  # which they stay on, also if the entry leaves the list
        try:
            sentence = await do(item, viewer)
        except Refused as refused:
            return replace(await self._list(viewer, str(refused), page), refused=True)
        answer = await self._list(viewer, sentence, page)
        if not undo:
            return answer
        self.deleted(key_of(item))
        return replace(answer, undo=key_of(item))

    async def _delete(self, item: Remembered, viewer: Asker) -> str:
        plan, undo_until = await self._plan(item, viewer), self.clock.now() + UNDO
        key, number = key_of(item), (await self._numbers(viewer)).by_key.get(key_of(item))
        return deleted_text(item, number, await self.forgetting.delete_entries(plan, key, undo_until))

    async def _undo(self, viewer: Asker, ref: str) -> MemoryAnswer:
        if ref.startswith(view.OF_TURN):
            turn = ref.removeprefix(view.OF_TURN)
            is_turn = turn.isdecimal() and len(turn) < TURN_DIGITS
            return MemoryAnswer(await self.kept.take_back(int(turn), viewer.person.id)) if is_turn else _NOT_BACK
        key = await self._key_of(viewer, ref) if ref else None
        listed = next((item for item in await self.known(viewer) if key_of(item) == key), None) if key else None
        if isinstance(listed, Fact):  # it is not deleted: the person undoes that it was learned
            page = (await self._list(viewer, key=key)).page
            return await self._list(viewer, await self.kept.take_back_fact(listed, listed.person), page)
        restored = None if ref and key is None else await self._restore(viewer, key)
        if restored is None:
            return _NOT_BACK
        item = next((candidate for candidate in await self.known(viewer) if key_of(candidate) == restored), None)
        sentence = entry_sentence(item) if item else memory_texts.ELSEWHERE
        return await self._list(viewer, memory_texts.BACK.format(said=sentence), key=restored)

    async def _restore(self, viewer: Asker, key: str | None) -> str | None:
        """Restore what the viewer deleted under this key (None: last), of any of their accounts. Return the key; None
        if there is nothing to restore.
        """
        accounts = by_account(viewer.person.id, await self.audiences(viewer.place)) if key else (viewer.person.id,)
        for of_account in accounts:
            if (restored := await self.forgetting.undo(of_account, key)) is not None:
                return restored
        return None

    async def settle(self, key: str) -> None:
        """Erase at once what was deleted under this key, where no undo is offered. Raises StoreError."""
        await self.forgetting.wipe(key)

    async def _plan(self, item: Remembered, viewer: Asker) -> EntriesPlan:
        person = _owner(item, viewer)
        if isinstance(item, ProfileEntry):
            return EntriesPlan(person, entries=frozenset({item.id}))
        history = await self.facts.readable(person, frozenset({item.audience}))
        return EntriesPlan(person, facts=with_superseded(history, item.id))

    async def _correct(self, item: Remembered, viewer: Asker, text: str) -> str:
        if has_secret(text):
            raise Refused(memory_texts.NO_SECRETS)
        new_text = text.removeprefix(f"{item.key}:").strip()
        limit = TEXT_CHARS if isinstance(item, ProfileEntry) else FACT_CHARS
        if len(new_text) > limit:
            raise Refused(memory_texts.ENTRY_TOO_LONG.format(most=limit))
        if new_text == (item.text if isinstance(item, ProfileEntry) else item.value):
            return memory_texts.SAME
        storing = (
            self._store_entry(item, viewer, new_text)
            if isinstance(item, ProfileEntry)
            else self._store_fact(item, viewer, new_text)
        )
        added = await storing
        if added is None:
            raise Refused(memory_texts.LEARNING if isinstance(item, ProfileEntry) else memory_texts.BOUND)
        old_key, new_key = key_of(item), key_of(added)
        await self._update_numbers(viewer, lambda numbers: numbers.replaced(old_key, new_key))
        # The new entry is stored before the old one is erased, so that a crash between the two loses neither.
        narrower = added.audience != item.audience and not item.everywhere
        receipt = await self.forgetting.forget_entries(await self._plan(item, viewer), self.clock.now())
        return corrected_text(item, receipt, narrower=narrower)

    async def _store_fact(self, fact: Fact, viewer: Asker, text: str) -> Fact | None:
        """Store the person's words as a fact; return None if a fact of higher authority prevents it."""
        written = await self.facts.write(
            NewFact(
                id="",
                key=fact.key,
                value=text,
                source=CORRECTION,
                timestamp=self.clock.now(),
                audience=label(viewer.place.audience),
                person=viewer.person.id,
                authority=fact.authority,
                scope=fact.scope,
                scope_id=fact.scope_id,
                is_constraint=fact.is_constraint,
                constraint_type=fact.constraint_type,
            )
        )
        if not isinstance(written, Written):
            return None
        if fact.everywhere:
            await self.facts.open(viewer.person.id, written.fact.id, everywhere=True)
        return written.fact

    async def _store_entry(self, item: ProfileEntry, viewer: Asker, text: str) -> ProfileEntry | None:
        """Store the person's words as a new entry; return None if the profile kept changing."""
        partition, now = Partition(viewer.person.id, label(viewer.place.audience)), self.clock.now()
        entry = replace(item, id=0, text=tidy(text), audience=partition.audience, sources=(), time=now, confidence=1.0)
        if not await self._change_profile(partition, lambda profile: stated(profile, entry, now)):
            return None
        entries = (await self.profiles.get(partition)).entries
        return max(
            (candidate for candidate in entries if candidate.text == entry.text),
            key=lambda candidate: candidate.id,
            default=None,
        )

    async def _settle_doubt(self, item: Remembered, viewer: Asker, *, replaced: bool) -> str:
        """Decide for the person what the model that learns was to be asked."""
        if not isinstance(item, Fact) or item.doubted_by is None:
            raise Refused(memory_texts.NOT_IN_DOUBT)
        known = await self.known(viewer)
        newer = next((fact for fact in known if isinstance(fact, Fact) and fact.id == item.doubted_by), None)
        if newer is None:
            raise Refused(memory_texts.NOT_IN_DOUBT)
        if not await self.facts.settle(
            item.person, item.audience, item.id, newer.id, replaced=replaced, by_person=True
        ):
            raise Refused(memory_texts.BOUND)
        sentence = memory_texts.SETTLED if replaced else memory_texts.BOTH_KEPT
        return sentence.format(older=entry_sentence(item), newer=entry_sentence(newer))

    async def _keep(self, item: Remembered, viewer: Asker) -> str:
        owner, now = _owner(item, viewer), self.clock.now()
        if isinstance(item, ProfileEntry):
            kept = await self.profiles.keep(owner, item.id, now)
        else:
            kept = await self.facts.keep(owner, item.id, now)
        if not kept:
            raise Refused(memory_texts.NO_ENTRY)
        return memory_texts.ENTRY_KEPT.format(said=entry_sentence(item))

    async def _use_everywhere(self, item: Remembered, viewer: Asker, *, on: bool) -> str:
        person = viewer.person.id
        if _owner(item, viewer) != person:
            raise Refused(memory_texts.OTHER_ACCOUNT)
        if isinstance(item, Fact):
            if on and item.id not in await self.facts.in_own_words(person, [item.id]):
                raise Refused(memory_texts.NOT_YOUR_WORDS)
            await self.facts.open(person, item.id, everywhere=on)
            return memory_texts.USED_EVERYWHERE if on else memory_texts.USED_HERE
        partition = Partition(person, item.audience)
        if not await self._change_profile(partition, lambda profile: opened(profile, item.id, everywhere=on)):
            raise Refused(memory_texts.LEARNING)
        return memory_texts.USED_EVERYWHERE if on else memory_texts.USED_HERE

    async def _change_profile(self, partition: Partition, change: Callable[[UserProfile], UserProfile]) -> bool:
        for _ in range(TRIES):
            if await self.profiles.save(partition, change(await self.profiles.get(partition))):
                return True
        return False

    async def _export(self, viewer: Asker) -> str:
        person, now = viewer.person, self.clock.now()
        private, readable = f"{AudienceKind.PERSON}:", await self.audiences(viewer.place)
        own = label(PersonAudience(person.id))
        audiences = frozenset(one for one in readable if one == own or not one.startswith(private))
        threads = await self.conversations.threads(person.id, limit=MAX_THREADS, audiences=audiences)
        totals = await self.spending.totals(SpendingPeriod.month_of(now), By.DAY, person=person.id)
        preferences = await self.preferences.all_of(person.id)
        choices = {name: value for name, value in preferences.items() if name not in NOT_EXPORTED}
        facts = await self.facts.readable(person.id, audiences)
        items = await self._known(person.id, audiences, facts, past=True)
        messages = await self._messages(person.id, audiences)
        fit = messages.bytes_left * 3 // 4  # as base64
        files = await self.saved_files.of_person(person.id, audiences, now, limit=MAX_FILES, max_bytes=fit)
        schedules = [
            schedule
            for schedule in await self.schedules.of_person(person.id)
            if label(schedule.definition.place.audience) in audiences
        ]
        job = as_json, person, items, threads, messages, files, choices, schedules, account(totals, now), now
        return await asyncio.to_thread(*job)  # encoding megabytes would block the event loop

    async def _messages(self, person: str, audiences: frozenset[str]) -> ExportedMessages:
        messages, before = ExportedMessages(), None
        while page := await self.conversations.messages_of(person, audiences, before=before, limit=PAGE):
            if not messages.add_page(page):
                break
            before = page[-1].id
        return messages

    async def _pause(self, viewer: Asker, request: view.PauseLearning) -> MemoryAnswer:
        channel = viewer.channel if request.here else None
        if request.for_everybody and not (viewer.manages and viewer.channel):
            refusal = memory_texts.PAUSE_NOT_THE_MANAGER if request.on else memory_texts.RESUME_NOT_THE_MANAGER
            return MemoryAnswer(refusal, refused=True)
        if request.for_everybody:
            await self.pauses.set_for_all(person_source(viewer.person.id), viewer.channel, on=request.on)
        else:
            await self.pauses.set(viewer.person.id, channel or None, on=request.on)
        sentence = memory_texts.pause_text(on=request.on, here=bool(channel), for_everybody=request.for_everybody)
        if request.on:
            return MemoryAnswer(sentence)
        still = lasting_text(await self.pauses.lasting(viewer.person.id, viewer.channel))
        return MemoryAnswer("\n\n".join(filter(None, [sentence, still])))


def _owner(item: Remembered, viewer: Asker) -> str:
    """Return the account that the entry is about: the viewer's, or the connected one in whose direct messages it was
    said.
    """
    audience = audience_of(item.audience)
    return audience.person if isinstance(audience, PersonAudience) else viewer.person.id


def _missing(ref: str) -> MemoryAnswer:
    no_number = memory_texts.NO_NUMBER.format(number=ref)
    return MemoryAnswer(no_number if ref.isdecimal() else memory_texts.NO_ENTRY, refused=True)


_NOT_BACK: Final = MemoryAnswer(memory_texts.NOT_BACK, refused=True)
