"""Forgetting, as people request it and as platforms report deleted messages, edited messages and lost places.

Rule: a person must know what they agree to. What will be erased is counted. For a choice by time or by words the first
lines are shown. Times are shown with their time zone: UTC where the platform reports none.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2s
from typing import Final, assert_never

from agent.errors import StoreError
from agent.jobs import Job
from agent.memory.forgetting_plans import (
    EDIT,
    AboutTopic,
    Deleted,
    During,
    Everything,
    Gone,
    OneThread,
    Preview,
    Receipt,
    Sample,
    Wish,
    post_key,
)
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger
from agent.ports.preferences import Preferences
from agent.ports.tools import Asker
from agent.shown_replies import DELETE_REPLY, ShownPage, ShownReply
from bot.chat.access.admission import RateCounter
from bot.chat.access.readers import Accounts, no_accounts
from bot.chat.fair_turns import FairTurns
from bot.chat.message_events import MessageEvents
from bot.chat.message_parts import shows_enclosed
from bot.chat.texts.formatting import zone_of
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.answers import ForgetAnswer, ForgetProgress, TellProgress, report_nothing
from bot.forgetting.requests import UnclearForget, forget_token, needs_zone, read_forget_request, wish_of
from bot.forgetting.retention import BATCH, DELETED, GONE, sweep_soon

# By then a turn whose question was deleted while it ran has ended, or its worker has.
TAKEN_BACK = timedelta(minutes=5)

AT_ONCE: Final = 2  # Concurrent searches of all people: half of the connections that read an SQLite file
MAX_WAITING: Final = 3  # Searches of one person behind the running one: a person who reads the answers needs no more
# Pauses before each report of progress. They are few because Slack accepts five answers to one click, and the last one
# shows the result.
TELL_AFTER_S: Final = (1.5, 6.0, 30.0)


# The prefix of a person's preference that shows a long search to other processes; its start time follows.
SEARCH: Final = "forget.search "
LOOKING, ERASING, STOPPED = "looking", "erasing", "stopped"  # Its values, in this order; ERASING may be skipped
LISTEN_S: Final = 1.0  # How often a long search checks whether another process stopped it
LONGEST: Final = timedelta(hours=1)  # Of a search; an older mark was left by a process that is gone


class _Stopped(Exception):
    """The person stopped the search."""


@dataclass(slots=True, eq=False)
class _Search:
    """The state of a running search, shared by its thread and the tasks that wait for it. Implements `Watch`."""

    found: int = 0
    erasing: bool = False
    stopped: bool = False
    mark: str = ""
    """The name of its preference; "" until the person was offered to stop it."""
    marking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __call__(self, found: int) -> None:
        self.found = max(self.found, found)
        if self.stopped:
            raise _Stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetService(MessageEvents):
    """Runs `/forget`, and forgets what platforms report as edited, deleted or gone.

    Rules
      A person's data is erased only after they have seen how much it is, and agreed to exactly that.
      Finding what would be erased takes seconds where there are many messages. So searches run in fair turns by person,
      and each person has few at a time. The person sees how much was found so far, and may stop the search from any
      process until something is erased.
      Deleting or editing a message on the platform counts as agreement. No receipt is shown, so the bytes are wiped a
      little later, for many messages at once. Each edit locks the database, so in a flood of edits only the last one of
      each message is stored, at the rate of new messages.
    """

    forgetting: Forgetting
    ledger: Ledger
    jobs: Jobs
    preferences: Preferences
    clock: Clock
    edits: RateCounter = field(default_factory=RateCounter)
    """Counts edits against the rates of new messages: edits within them are stored at once, the rest later."""
    is_exempt: Callable[[str], bool] = lambda _: False
    """Returns whether a person may edit without a limit."""
    take_back: Callable[[str, str | None], Awaitable[None]]
    """Ends the running turns of a person in a conversation (None: all), and deletes the replies shown so far."""
    withdraw: Callable[[str, str, str], Awaitable[bool]]
    """Cancels the answer to a deleted message, and deletes the reply shown so far; False if the answer is complete."""
    learn_at: Callable[[datetime], datetime | None] = lambda _: None
    """Returns when to learn from a message that was edited now; None: do not learn."""
    sources: Callable[[], Collection[str]] = tuple
    """Returns the platforms that this process is connected to."""
    grace: timedelta = timedelta(days=30)
    """How long messages of a place are kept after the bot was removed from it, which may have been a mistake."""
    revoke: Callable[[str], Awaitable[str]] | None = None
    """Revokes a person's accounts at tool servers; returns a sentence about those that did not confirm it, or ""."""
    accounts: Accounts = no_accounts
    """Returns the connected accounts of a person that they may read now; their wishes are about these, too."""
    tell_after_s: Sequence[float] = TELL_AFTER_S

    _turns: FairTurns = field(default_factory=lambda: FairTurns(AT_ONCE), init=False)
    _searches: dict[str, list[_Search]] = field(default_factory=dict[str, list[_Search]], init=False)
    """Running and waiting searches, by person."""

    async def ask(self, asker: Asker, words: str, tell: TellProgress = report_nothing) -> ForgetAnswer:
        """Return the question that shows what these words would erase. Raises StoreError."""
        return await self._in_turn(asker, tell, lambda search: self._ask(asker, words, search))

    async def forget(
        self, asker: Asker, token: str, *, replies: bool | None = None, tell: TellProgress = report_nothing
    ) -> ForgetAnswer:
        """Erase what the person agreed to; ask again if it has changed since. Raises StoreError.

        `replies`: whether to delete the bot's replies to it where they are shown; None if they are shown nowhere else.
        """
        return await self._in_turn(asker, tell, lambda search: self._forget(asker, token, search, replies=replies))

    def stop(self, person: str) -> bool:
        searches = [search for search in self._searches.get(person, ()) if not search.erasing]
        for search in searches:
            search.stopped = True
        return bool(searches)

    async def stop_everywhere(self, person: str) -> bool:
        stopped, now = self.stop(person), self.clock.now()
        for name in await self.preferences.all_of(person):
            if not name.startswith(SEARCH):
                continue
            if now - datetime.fromisoformat(name.removeprefix(SEARCH)) > LONGEST:
                await self.preferences.set(person, name, None)
            else:
                stopped |= await self.preferences.swap(person, name, LOOKING, STOPPED)
        return stopped

    async def _in_turn(
        self, asker: Asker, tell: TellProgress, work: Callable[[_Search], Awaitable[ForgetAnswer]]
    ) -> ForgetAnswer:
        if len(self._searches.get(asker.person.id, ())) > MAX_WAITING:
            return ForgetAnswer(forgetting_texts.FORGETTING, refused=True)
        search = _Search()
        self._searches.setdefault(asker.person.id, []).append(search)
        task = asyncio.ensure_future(self._run(asker.person.id, search, work))
        listener = asyncio.ensure_future(self._listen(asker.person.id, task, search))
        try:
            await self._tell(task, search, tell)
            return await task
        except _Stopped:
            return ForgetAnswer(forgetting_texts.FORGET_STOPPED)
        finally:
            listener.cancel()
            if not task.done():  # the caller was cancelled
                search.stopped = True
                task.cancel()
                await asyncio.wait({task})
            self._searches[asker.person.id].remove(search)
            if not self._searches[asker.person.id]:
                del self._searches[asker.person.id]
            await asyncio.wait({listener})
            with suppress(StoreError):  # a mark that stays is ignored once it is older than LONGEST
                await self._unmark(asker.person.id, search)

    async def _run(
        self, person: str, search: _Search, work: Callable[[_Search], Awaitable[ForgetAnswer]]
    ) -> ForgetAnswer:
        async with self._turns.turn(person):
            search(0)
            return await work(search)

    async def _tell(self, work: "asyncio.Future[ForgetAnswer]", search: _Search, tell: TellProgress) -> None:
        """Report progress after each pause, until the search has ended or no report is left."""
        for seconds in self.tell_after_s:
            pause = asyncio.ensure_future(self.clock.sleep(seconds))
            try:
                await asyncio.wait({work, pause}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()
            if work.done() or search.stopped:
                return
            await tell(ForgetProgress(search.found, erasing=search.erasing))

    async def _listen(self, person: str, work: "asyncio.Future[ForgetAnswer]", search: _Search) -> None:
        """Once the search takes long, mark it for other processes, and stop it if one of them asks."""
        pause_s = next(iter(self.tell_after_s), None)
        while pause_s is not None and not (work.done() or search.erasing or search.stopped):
            await self.clock.sleep(pause_s)
            pause_s = LISTEN_S
            with suppress(StoreError):  # the next pass tries again
                async with search.marking:
                    if not (search.mark or search.erasing):
                        mark = f"{SEARCH}{self.clock.now().isoformat()}"
                        await self.preferences.set(person, mark, LOOKING)
                        search.mark = mark
                if (await self.preferences.all_of(person)).get(search.mark) == STOPPED:
                    search.stopped = True  # only ever set, as `stop` may have set it meanwhile

    async def _begin_erasing(self, person: str, search: _Search) -> None:
        """Start the part that can no longer be stopped, in any process. Raises _Stopped if it was stopped before."""
        search(0)
        search.erasing = True
        async with search.marking:
            if search.mark and not await self.preferences.swap(person, search.mark, LOOKING, ERASING):
                raise _Stopped
            await self._unmark(person, search)

    async def _unmark(self, person: str, search: _Search) -> None:
        if search.mark:
            await self.preferences.set(person, search.mark, None)
            search.mark = ""

    async def _ask(self, asker: Asker, words: str, search: _Search) -> ForgetAnswer:
        answer = await self._reply_to(asker, words, search)
        return replace(answer, by_clock=not asker.person.time_zone and needs_zone(words, self.clock.now()))

    async def _reply_to(self, asker: Asker, words: str, search: _Search) -> ForgetAnswer:
        match read_forget_request(words, asker, self.clock.now()):
            case None:
                return ForgetAnswer(forgetting_texts.forget_which(in_thread=bool(asker.thread)), refused=True)
            case UnclearForget(sentence):
                return ForgetAnswer(sentence, refused=True)
            case wish:
                return await self._question(asker, wish, search)

    async def _forget(self, asker: Asker, token: str, search: _Search, *, replies: bool | None) -> ForgetAnswer:
        agreed = wish_of(token, asker)
        if agreed is None:
            return ForgetAnswer(forgetting_texts.FORGET_UNREADABLE, refused=True)
        wish, wishes = agreed.wish, await self._wishes(agreed.wish)
        is_named = bool(agreed.name) or len(wishes) > 1  # accounts may have been connected since the preview
        if is_named and (await self._preview(wishes, search)).name != agreed.name:
            again = await self._question(asker, wish, search)
            return replace(again, text=f"{forgetting_texts.FORGET_CHANGED} {again.text}")
        await self._begin_erasing(asker.person.id, search)
        receipts, sentences = list[Receipt](), list[str]()
        for one in wishes:
            for conversation in _ended_conversations(one):
                await self.take_back(one.person, conversation)
            receipt, unrevoked = await self.erase(one, one.person, replies=bool(replies), related=agreed.related)
            receipts.append(receipt)
            sentences.append(unrevoked)
        receipt = merged_receipts(receipts)
        receipt = receipt if replies is not None else replace(receipt, kept=0, ephemeral=0)
        return ForgetAnswer(" ".join(filter(None, [forgetting_texts.receipt_text(receipt), *sentences])))

    async def _preview(self, wishes: Sequence[Wish], search: _Search) -> Preview:
        return merged_previews([await self.forgetting.preview(one, search) for one in wishes])

    async def _wishes(self, wish: Wish) -> list[Wish]:
        """Return the wish for each account of its person, their own last: what it erases may separate the accounts, and
        until then the person can ask again for what is left. A thread is of one account.
        """
        if isinstance(wish, OneThread):
            return [wish]
        others = await self.accounts(wish.person)
        return [*(replace(wish, person=other) for other in others), wish]

    async def erase(
        self,
        plan: Wish | Gone,
        person: str = "",
        *,
        replies: bool = False,
        related: bool = False,
        limit: int | None = None,
    ) -> tuple[Receipt, str]:
        """Erase what was agreed to, once no turn answers any of it. Return the receipt, and the sentence about accounts
        elsewhere whose end was not confirmed. `person`: the owner's id, "" for a place. Raises StoreError.
        """
        titles = await self.forgetting.titles(plan, related=related)
        unrevoked = await self.revoke(person) if self.revoke and isinstance(plan, Everything) else ""
        receipt = await self.forgetting.forget(plan, self.clock.now(), replies=replies, related=related, limit=limit)
        homes = [ShownPage(source, "", person, ShownReply.HOME) for source in self.sources()]
        await self._delete_pages([*titles, *(home for home in homes if person.startswith(f"{home.source}:"))])
        return receipt, unrevoked

    async def edited(self, source: str, channel: str, message: str, text: str, alone: str | None = None) -> bool:
        person, now = await self.forgetting.author(source, channel, message), self.clock.now()
        if person is None:
            return False
        if alone not in (None, text) and not shows_enclosed(await self.forgetting.text(source, channel, message) or ""):
            text = alone or text  # it is a question, or what it encloses came later: that is kept with no question
        if self.is_exempt(person) or await self.edits.obstacle(person, channel, now) is None:
            return await self._store_edit(source, channel, message, text)
        key, payload = post_key(source, channel, message), json.dumps([source, channel, message, text])
        if not await self.jobs.replace(EDIT, key, payload=payload, person=person):
            await self.jobs.schedule(EDIT, key, payload, self.edits.book(person, channel, now), person=person)
        return True

    async def keep_edit(self, job: Job) -> None:
        """Run the job: store the last edit of a message that exceeded its author's rate. Raises StoreError."""
        source, channel, message_id, text = ["", *json.loads(job.payload)][-4:]  # an earlier version named no source
        await self._store_edit(source, channel, message_id, text, job)

    async def _store_edit(self, source: str, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        if await self.ledger.amend(source, channel, message_id, text, job):
            return True
        now = self.clock.now()
        is_known = await self.forgetting.update_text(source, channel, message_id, text, now, self.learn_at(now), job)
        if is_known:
            await sweep_soon(self.jobs, now)
        return is_known

    async def deleted(self, source: str, channel: str, messages: Collection[str], *, author: str = "") -> None:
        if author:
            messages = [one for one in messages if await self.forgetting.author(source, channel, one) == author]
        now = self.clock.now()
        running = [message for message in messages if await self.withdraw(source, channel, message)]
        for message in running:  # a job erases what the turn has stored by then
            await self.jobs.cancel(EDIT, post_key(source, channel, message))
            payload = json.dumps([source, channel, message])
            await self.jobs.schedule(DELETED, post_key(source, channel, message), payload, now + TAKEN_BACK)
        if ended := frozenset(messages) - set(running):
            plan = Deleted(source, channel, ended)
            titles = await self.forgetting.titles(plan)
            erased = await self.forgetting.retire(plan, now, BATCH)
            if any(erased.values()):
                await sweep_soon(self.jobs, now)
            await self._delete_pages(titles)

    async def place_gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        run_at = self.clock.now() + (timedelta() if at_once else self.grace)
        await self.jobs.schedule(GONE, name, gone.encode(), run_at)

    async def places_back(self, names: Collection[str]) -> None:
        for name in names:
            await self.jobs.cancel(GONE, name)

    async def _delete_pages(self, pages: Sequence[ShownPage]) -> None:
        """Schedule the deletion of these pages on the platforms that this process is connected to."""
        connected, now = self.sources(), self.clock.now()
        for page in pages:
            if page.source in connected:
                await self.jobs.schedule(DELETE_REPLY, page.key, page.encode(), now)

    async def _question(self, asker: Asker, wish: Wish, search: _Search) -> ForgetAnswer:
        wishes, zone = await self._wishes(wish), zone_of(asker.person.time_zone)
        preview = await self._preview(wishes, search)
        if preview.is_empty and not isinstance(wish, Everything):  # Everything also erases what no preview counts
            nothing = forgetting_texts.nothing_to_forget(wish, zone)
            return ForgetAnswer("\n".join([nothing, *forgetting_texts.documents_left(preview.documents)]))
        question = forgetting_texts.forget_question(wish, preview, zone)
        if len(wishes) > 1:
            question = f"{question}\n\n{forgetting_texts.all_accounts([one.person for one in wishes[:-1]])}"
        return ForgetAnswer(
            question,
            forget_token(wish, preview.name, connected=len(wishes) > 1),
            forget_token(wish, preview.name, related=True) if preview.related.count else "",
        )


def merged_previews(previews: Sequence[Preview]) -> Preview:
    """Return the preview of all of these together: of the accounts of one person, their own last. What was said with
    the others is only counted: it may be from places that nobody reads here.
    """
    own = previews[-1]
    if len(previews) == 1:
        return own
    names, counts = [preview.name for preview in previews], Counter[str]()
    for preview in previews:
        counts.update(preview.counts)
    return Preview(
        counts,
        own.lines,
        blake2s("|".join(names).encode(), digest_size=len(names[0]) // 2).hexdigest(),
        Sample(sum(preview.repetitions.count for preview in previews), own.repetitions.lines),
        Sample(sum(preview.related.count for preview in previews), own.related.lines),
        sum(preview.in_view for preview in previews),
        Sample(sum(preview.documents.count for preview in previews), own.documents.lines),
        any(preview.is_shared for preview in previews),
    )


def merged_receipts(receipts: Sequence[Receipt]) -> Receipt:
    """Return the receipt for all of these together, at least one."""
    erased = Counter[str]()
    for receipt in receipts:
        erased.update(receipt.erased)
    return Receipt(
        dict(erased),
        sum(one.found_again for one in receipts),
        bytes_gone=all(one.bytes_gone for one in receipts),
        kept_by_server=any(one.kept_by_server for one in receipts),
        replies=sum(one.replies for one in receipts),
        kept=sum(one.kept for one in receipts),
        ephemeral=sum(one.ephemeral for one in receipts),
        related=sum(one.related for one in receipts),
        documents=sum(one.documents for one in receipts),
    )


def _ended_conversations(wish: Wish) -> Collection[str | None]:
    """Return the conversations whose running turns the wish ends (None: all)."""
    match wish:
        case OneThread(_, conversations):
            return conversations
        case Everything() | During():
            return [None]
        case AboutTopic():
            return []
        case _:
            assert_never(wish)
