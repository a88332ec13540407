"""A person's Home tab: shown when they open it, and anew after everything that they do there.

Above: `intake` (it was opened), `listeners` (its own buttons), `memory`, `forgetting`, `windows` and `desk` (what they
answer there). Below: `home_blocks`, `people`, `place`, `bot.host`.

Rules
  Slack is told at once that the tab was opened; a burst of that shows it once.
  One person's tab is built and shown one after the other, so that what is shown last is the latest.
  What goes wrong is one sentence in the tab.
"""

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakValueDictionary

from agent.errors import CogencyError, Refused
from agent.memory.forgetting import PAUSED
from agent.memory.writing import POLICY_AUTHORITY
from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot import wording
from bot.access.lists import Who
from bot.host import Asker, Host, MemoryAnswer, Viewer
from bot.logs import severity
from bot.memory import words
from bot.memory.pauses import PAUSE
from bot.memory.view import pause_text
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackLimited
from bot.platforms.slack.delivery.underway import ASKED, Underway
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import person_place, team_place
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click
from bot.platforms.slack.views import home_blocks as blocks
from bot.platforms.slack.views.block_kit import row
from bot.platforms.slack.views.home_blocks import News, Pages, Part, Shown
from bot.platforms.slack.views.memory_blocks import undoing

log = logging.getLogger(__name__)

BURST_S: Final = 2.0
"""Going back and forth between the tabs opens it each time; what has changed by oneself is shown by oneself."""
PATIENCE_S: Final = 60.0
"""As long as Slack's limit of a minute lasts; after that they open the tab again."""
MAX_OPENED: Final = 2_000
"""As many people as open it within a burst."""

_SHOWN_ANYWAY: Final = frozenset(pause_text(on=on, here=False, for_everybody=False) for on in (True, False))
"""The tab says itself whether the bot learns."""


@dataclass(slots=True)
class Home:
    host: Host
    api: SlackApi
    me: Me
    people: People
    clock: Clock
    _opened: dict[str, float] = field(default_factory=dict[str, float])
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary[str, asyncio.Lock])
    _showing: Underway = field(default_factory=lambda: Underway(name=ASKED))

    def open(self, to: ReplyTo) -> None:
        """They opened the tab: show it soon."""
        now = self.clock.monotonic()
        if now - self._opened.get(to.user, now - BURST_S) < BURST_S:
            return
        self._showing.begin(self._show(to.user, blocks.pages_of(to.home)))
        self._opened.pop(to.user, None)
        self._opened[to.user] = now
        while len(self._opened) > MAX_OPENED:
            del self._opened[next(iter(self._opened))]

    def show_anew(self, user: str) -> None:
        """What it shows was forgotten elsewhere."""
        self._showing.begin(self._show(user, Pages()))

    async def close(self) -> None:
        await self._showing.close()

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on what only the tab has: another page, another model. Raises CogencyError."""
        to = of_click(body)
        name = blocks.chosen_model(action)
        if name is not None:
            member = await self.people.member(to.user)
            await self.host.choose_model(
                member.person.id, wording.chosen_model(name), roles=member.groups, team=self.me.team
            )
        await self._show(to.user, blocks.turned(action, blocks.pages_of(to.home)))

    async def tell(self, to: ReplyTo, news: News) -> None:
        """Something was done there."""
        await self._show(to.user, blocks.pages_of(to.home), news)

    async def remembered(self, to: ReplyTo, answer: MemoryAnswer) -> None:
        """`/memory` was asked there, by a button."""
        await self._show(to.user, blocks.pages_of(to.home), memory=answer)

    async def failed(self, to: ReplyTo, body: JsonObject, error: CogencyError) -> None:
        """What was asked there did not work."""
        await self.tell(to, News(blocks.part_of(body), wording.failure(error)))

    async def _show(
        self, user: str, pages: Pages, news: News | None = None, memory: MemoryAnswer | None = None
    ) -> None:
        async with self._turns.setdefault(user, asyncio.Lock()):
            try:
                shown = await self._contents(user, pages)
                view = blocks.home_view(_answered(replace(shown, news=news), memory))
            except Refused as refused:
                view = blocks.closed_view(wording.failure(refused))
            except CogencyError as error:
                log.log(severity(error), "a Home tab could not be put together: %s", error)
                view = blocks.sorry_view(wording.failure(error), pages)
            try:
                await self._publish(user, view)
            except SlackError as error:
                log.warning("a Home tab could not be shown: %s", error)

    async def _publish(self, user: str, view: JsonObject) -> None:
        """Raises SlackError; what Slack only puts off is tried once more."""
        try:
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))
        except SlackLimited as limited:
            await self.clock.sleep(min(limited.retry_after_s, PATIENCE_S))
            await self.api.call(Method.PUBLISH_VIEW, user_id=user, view=dict(view))

    async def _contents(self, user: str, pages: Pages) -> Shown:
        """Raises CogencyError."""
        member = await self.people.member(user)
        person, operates = member.person, self.host.operates(member.person.id)
        closed = self.host.closed_to(Who(person.id, "", member.groups, self.me.team), member.authority)
        if closed is not None:
            raise Refused(closed)
        manages = member.authority >= POLICY_AUTHORITY or operates
        viewer = Viewer(person, person_place(self.me, member), manages=manages)
        memory = await self.host.memory(viewer, words.page_words(pages.memory))
        policies = (
            await self.host.policy(Asker(person, member.authority, team_place(self.me)), "") if member.full else None
        )
        return Shown(
            user=user,
            bot=self.me.name,
            prefix=self.me.prefix,
            memory=memory,
            learns=(await self.host.choices(person.id)).get(PAUSE) != PAUSED,
            account=await self.host.usage(person.id),
            budget=await self.host.budget(person.id, "", ""),
            models=await self.host.models(person.id, "", member.groups, self.me.team),
            policies=policies,
            sets_policies=manages,
            report=await self.host.report(person.id),
            pages=replace(pages, memory=memory.page),
        )


def _answered(shown: Shown, answer: MemoryAnswer | None) -> Shown:
    """The tab after `/memory` said this: the page that was asked for, or what was done above the page that stood there.

    After something was done, the answer ends with the list's own heading, which the tab shows anyway.
    """
    if answer is None:
        return shown
    done = answer.text.removesuffix(shown.memory.text).strip()
    if not done:
        return replace(shown, memory=answer, pages=replace(shown.pages, memory=answer.page))
    return (
        shown if done in _SHOWN_ANYWAY else replace(shown, news=News(Part.MEMORY, done, _undoing(answer, shown.user)))
    )


def _undoing(answer: MemoryAnswer, user: str) -> tuple[Json, ...]:
    return tuple(row(undoing(answer, user)))
