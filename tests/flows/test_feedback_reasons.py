"""👎 asks why, on each platform: its window, who reads what was said in it, and who changes its state."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.feedback import FeedbackDetails, FeedbackReason, FeedbackState
from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import ReplyVerdict
from bot.chat.reply.surface import ReplyAction
from bot.feedback import texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_world import ALL_PERMISSIONS, DM_OF, EVERYBODY
from tests.fakes.slack_home import fill_in
from tests.flows.worlds import (
    DISCORD_PEOPLE,
    SLACK_DMS,
    SLACK_PEOPLE,
    WORLDS,
    AnyWorld,
    DiscordPage,
    DiscordWorld,
    Page,
    SlackWorld,
    Who,
    World,
    mainly_in_slack,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

EGRET, HERON, SENTENCE = "It is called Egret.", "It is called Heron.", "It has had another name since May."
QUESTION = "What is my boat called?"


class Rating:
    """Somebody asks, and says what was wrong with the answer. The other person manages the channel and operates the
    bot.
    """

    def __init__(self, world: World, host: AnsweringHost) -> None:
        self.world, self.host = world, host

    async def answered(self, *, directly: bool = False) -> Page:
        pages = self.world.direct if directly else self.world.answers
        await (self.world.write(QUESTION) if directly else self.world.ask(QUESTION))
        bad = self.world.label(ReplyAction.BAD)
        await self.world.until(lambda: pages() and bad in pages()[-1].buttons)
        await self.world.until(lambda: all(turn.state == "done" for turn in self.host.store.turns))
        return pages()[-1]

    async def disliked(self, page: Page, **filled: str) -> str:
        """What the asker, alone, reads once they have pressed 👎 and sent the window."""
        label, before = self.world.label(ReplyAction.BAD), len(self.world.private())
        if isinstance(self.world, SlackWorld):
            user, state = SLACK_PEOPLE[Who.ASKER], self.world.slack.state
            opened = len(state.views)
            await self.world.press(page, label)
            await self.world.until(lambda: len(state.views) > opened)
            assert await fill_in(self.world.slack, user, state.views[-1], **filled) == {}
        else:
            assert isinstance(self.world, DiscordWorld)
            assert isinstance(page, DiscordPage)
            user = DISCORD_PEOPLE[Who.ASKER]
            pressed = await self.world.fake.press(user, page.message, label)
            await self.world.until(lambda: pressed.window)
            await self.world.fake.fill_in(user, pressed.window, page.message, **filled)
        await self.world.until(lambda: len(self.world.private()) > before and self.world.private()[-1].text)
        return self.world.private()[-1].text

    async def reads(self, words: str, who: Who = Who.OTHER, *, directly: bool = False) -> Page:
        """What this person, alone, reads after `/feedback` with these words."""
        said = self._shown(who, directly=directly)
        if isinstance(self.world, DiscordWorld):
            self.world.fake.member_may = ALL_PERMISSIONS if who is Who.OTHER else EVERYBODY
        if not directly:
            await self.world.command("feedback", words, who=who)
        elif isinstance(self.world, SlackWorld):
            await self.world.slack.command(SLACK_PEOPLE[who], SLACK_DMS[who], "/feedback", words)
        else:
            assert isinstance(self.world, DiscordWorld)
            person = DISCORD_PEOPLE[who]
            await self.world.fake.command(person, "feedback", DM_OF[person], words=words)
        await self.world.until(lambda: len(self._shown(who, directly=directly)) > len(said))
        return self._shown(who, directly=directly)[-1]

    def _shown(self, who: Who, *, directly: bool) -> list[Page]:
        return [page for page in (*self.world.private(), *(self.world.direct(who) if directly else ())) if page.text]


@asynccontextmanager
async def rating(open_world: AnyWorld) -> AsyncGenerator[Rating]:
    async with open_world() as world:
        if isinstance(world, SlackWorld):
            world.slack.state.users[SLACK_PEOPLE[Who.OTHER]].facts["is_admin"] = True
        operators = frozenset({world.person(Who.OTHER)})
        host = answering_host(ScriptedProvider([EGRET] * 3), world.clock, operators=operators)
        async with world.serving(host), host.answering():
            yield Rating(world, host)


@mainly_in_slack
async def test_a_bad_answer_is_explained_in_a_window_and_a_manager_of_the_channel_works_on_it(
    open_world: AnyWorld,
) -> None:
    async with rating(open_world) as here:
        page = await here.answered()
        told = await here.disliked(page, reason="wrong", comment=SENTENCE, correction=HERON)
        assert f"{texts.THANKS} {texts.SEEN_IN_CHANNEL}" in told
        (turn,) = here.host.store.turns
        feedback, rater = here.host.store.feedback, here.world.person(Who.ASKER)
        details = FeedbackDetails(FeedbackReason.WRONG, SENTENCE, HERON)
        assert await feedback.details(turn.id, rater) == details
        assert here.host.store.verdicts == {(turn.id, rater): ReplyVerdict.BAD}
        assert texts.NOT_FOR_YOU in (await here.reads("list", Who.ASKER)).text
        shown = await here.reads("list")
        for words in (texts.LIST_HERE, texts.REASONS[FeedbackReason.WRONG], QUESTION, EGRET, HERON, SENTENCE):
            assert words in shown.whole
        await here.world.press(shown, texts.TAKE, Who.OTHER)
        news = texts.CHANGED.format(id=1, state=texts.STATES[FeedbackState.IN_WORK])
        await here.world.until(lambda: any(news in one.whole for one in here.world.private()))
        (row,) = await here.host.store.audit.newest(9)
        assert (row.person, row.arguments) == (here.world.person(Who.OTHER), "feedback 1: new > in-work")
        assert "#1" not in (await here.reads("list fixed")).whole


async def test_a_direct_message_is_seen_by_operators_only_if_it_was_shared(open_world: AnyWorld) -> None:
    async with rating(open_world) as here:
        page = await here.answered(directly=True)
        told = await here.disliked(page, reason="outdated", comment=SENTENCE)
        assert f"{texts.THANKS} {texts.SEEN_COUNT}" in told
        for directly in (True, False):
            shown = (await here.reads("list all", directly=directly)).whole
            assert texts.LIST_EMPTY in shown
            assert not any(words in shown for words in (QUESTION, EGRET, SENTENCE))
        told = await here.disliked(page, reason="outdated", comment=SENTENCE, share="yes")
        assert f"{texts.THANKS} {texts.SEEN_SHARED}" in told
        shown = (await here.reads("list all", directly=True)).whole
        for words in (texts.LIST_SHARED, texts.DIRECT_MESSAGES, QUESTION, EGRET, SENTENCE):
            assert words in shown
        assert texts.LIST_EMPTY in (await here.reads("list all")).whole


@mainly_in_slack
async def test_what_was_wrong_with_the_last_answer_can_be_typed(open_world: AnyWorld) -> None:
    async with rating(open_world) as here:
        assert texts.NO_ANSWER in (await here.reads("wrong: no", Who.ASKER)).text
        await here.answered()
        typed = await here.reads(f"too-long share: {SENTENCE}", Who.ASKER)
        assert f"{texts.THANKS} {texts.SEEN_SHARED}" in typed.text
        assert texts.NO_ANSWER in (await here.reads("wrong: no", Who.OTHER)).text
        assert texts.NOT_RATED in (await here.reads("on 1 wrong: no", Who.OTHER)).text
        assert texts.THANKS_GOOD in (await here.reads("good", Who.ASKER)).text
        assert [*here.host.store.verdicts.values()] == [ReplyVerdict.GOOD]
