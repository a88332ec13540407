"""Forgetting, as people ask for it and as platforms tell of it.

Above: `bot.hosting`, the terminal. Below: `bot.memory.forget_words`, `bot.memory.forget_texts`, `bot.memory.retiring`
(its jobs), the ports Forgetting, Ledger and Jobs.

Rules
  Nobody's things are erased before they have seen how much it is, and agreed to exactly that.
  To find what falls takes seconds where much was said, so people take turns, and each has few of them at a time.
  Who deletes or edits a message in the platform has agreed by doing so; nobody waits for a receipt, so the bytes are
  wiped a little later, for many at once.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from agent.memory.forgetting import About, Deleted, During, Everything, Gone, OneThread, Wish
from agent.ports import Clock, Forgetting, Jobs, Ledger
from agent.records import DELETE_REPLY, Shown, ShownPage
from bot import wording
from bot.fair_turns import FairTurns
from bot.host import ForgetAnswer, Forgetter
from bot.local_time import zone_of
from bot.memory import forget_texts, forget_words
from bot.memory.retiring import BATCH, DELETED, GONE, sweep_soon

TAKEN_BACK = timedelta(minutes=5)
"""After that a turn whose question was deleted while it ran has surely ended, or its worker has."""

AT_ONCE: Final = 2
"""Searches for what would fall, of all people: half of the connections that read an SQLite file."""
MOST_WAITING: Final = 3
"""Of one person; more are pressed by nobody who reads the answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDesk:
    forgetting: Forgetting
    ledger: Ledger
    jobs: Jobs
    clock: Clock
    take_back: Callable[[str, str | None], Awaitable[None]]
    """End the running turns of a person in a conversation (None: all), and delete what they have shown."""
    withdraw: Callable[[str, str], Awaitable[bool]]
    """Do not answer a message that was deleted, and take back what was said already; False if it has its answer."""
    learn_at: Callable[[datetime], datetime | None] = lambda _: None
    """When to learn from words that were edited now; None: not."""
    sources: Callable[[], Collection[str]] = tuple
    """The platforms that this process reaches."""
    grace: timedelta = timedelta(days=30)
    """How long what was said stays after the bot was taken out of a place: it may have been a mistake."""

    _turns: FairTurns = field(default_factory=lambda: FairTurns(AT_ONCE), init=False)

    async def ask(self, who: Forgetter, words: str) -> ForgetAnswer:
        """What these words would erase. Raises StoreError."""
        if self._turns.waiting(who.person) >= MOST_WAITING:
            return ForgetAnswer(forget_texts.BUSY)
        async with self._turns.turn(who.person):
            return await self._asked(who, words)

    async def forget(self, who: Forgetter, token: str, *, replies: bool = False) -> ForgetAnswer:
        """Erase what they agreed to; ask again if it has changed. Raises StoreError."""
        if self._turns.waiting(who.person) >= MOST_WAITING:
            return ForgetAnswer(forget_texts.BUSY)
        async with self._turns.turn(who.person):
            return await self._forgotten(who, token, replies=replies)

    async def _asked(self, who: Forgetter, words: str) -> ForgetAnswer:
        match forget_words.read(words, self._asker(who)):
            case None:
                return ForgetAnswer(wording.forget_which())
            case forget_words.Unclear(sentence):
                return ForgetAnswer(sentence)
            case wish:
                return await self._question(who, wish)

    async def _forgotten(self, who: Forgetter, token: str, *, replies: bool) -> ForgetAnswer:
        agreed = forget_words.wish_of(token, self._asker(who))
        if agreed is None:
            return ForgetAnswer(forget_texts.UNREADABLE)
        wish = agreed.wish
        if agreed.name and (await self.forgetting.preview(wish)).name != agreed.name:
            again = await self._question(who, wish)
            return replace(again, text=f"{forget_texts.CHANGED} {again.text}")
        for conversation in _taken_back(wish):
            await self.take_back(who.person, conversation)
        titles = await self.forgetting.titles(wish)
        receipt = await self.forgetting.forget(wish, self.clock.now(), replies=replies, related=agreed.related)
        homes = [ShownPage(source, "", who.person, Shown.HOME) for source in self.sources()]
        await self._clear([*titles, *(home for home in homes if who.person.startswith(f"{home.source}:"))])
        return ForgetAnswer(wording.receipt_text(receipt))

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        """A message was edited. Raises StoreError."""
        if await self.ledger.amend(channel, message_id, text):
            return True
        now = self.clock.now()
        known = await self.forgetting.reword(channel, message_id, text, now, self.learn_at(now))
        if known:
            await sweep_soon(self.jobs, now)
        return known

    async def deleted(self, channel: str, messages: Collection[str]) -> None:
        """Messages were deleted. Raises StoreError."""
        now = self.clock.now()
        running = [each for each in messages if await self.withdraw(channel, each)]
        for each in running:  # what the turn had remembered by then
            payload = json.dumps([channel, each])
            await self.jobs.schedule(DELETED, f"{channel} {each}", payload, now + TAKEN_BACK)
        if ended := frozenset(messages) - set(running):
            plan = Deleted(channel, ended)
            titles = await self.forgetting.titles(plan)
            erased = await self.forgetting.retire(plan, now, BATCH)
            if any(erased.values()):
                await sweep_soon(self.jobs, now)
            await self._clear(titles)

    async def gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        """A place is no more. Raises StoreError."""
        run_at = self.clock.now() + (timedelta() if at_once else self.grace)
        await self.jobs.schedule(GONE, name, gone.encode(), run_at)

    async def back(self, names: Collection[str]) -> None:
        """The bot is in these places. Raises StoreError."""
        for name in names:
            await self.jobs.cancel(GONE, name)

    async def _clear(self, shown: Sequence[ShownPage]) -> None:
        """Have platforms show it no longer, as far as this process reaches them."""
        here, now = self.sources(), self.clock.now()
        for one in shown:
            if one.source in here:
                await self.jobs.schedule(DELETE_REPLY, one.key, one.encode(), now)

    def _asker(self, who: Forgetter) -> forget_words.Asker:
        return forget_words.Asker(who.person, who.thread, self.clock.now(), who.time_zone)

    async def _question(self, who: Forgetter, wish: Wish) -> ForgetAnswer:
        preview, zone = await self.forgetting.preview(wish), zone_of(who.time_zone)
        if preview.is_empty and not isinstance(wish, Everything):  # that also takes what no preview counts
            return ForgetAnswer(forget_texts.nothing(wish, zone))
        return ForgetAnswer(
            forget_texts.question(wish, preview, zone),
            forget_words.token(wish, preview.name),
            forget_words.token(wish, preview.name, related=True) if preview.related.count else "",
        )


def _taken_back(wish: Wish) -> Collection[str | None]:
    """The conversations whose running answers fall with the wish (None: all)."""
    match wish:
        case OneThread(_, conversations):
            return conversations
        case Everything() | During():
            return [None]
        case About():
            return []
        case _:
            assert_never(wish)
