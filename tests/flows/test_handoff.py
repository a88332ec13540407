"""Asking a human on each platform: real adapter, turns and store; a scripted model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import pytest

from agent.handoffs import HANDOFF, REMIND_AFTER, HandoffState
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import DELETE_REPLY
from bot.chat.access.acl import parse_entries
from bot.chat.caches import FRESH_S
from bot.chat.jobs import JobLimits, JobWorker
from bot.chat.texts import replies as reply_texts
from bot.forgetting.retention import ReplyDeletion
from bot.handoff import texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_world import STAFF
from tests.flows.worlds import (
    DISCORD_PEOPLE,
    SLACK_GENERAL,
    SLACK_OTHER,
    SLACK_PEOPLE,
    SLACK_SECRET,
    WORLDS,
    AnyWorld,
    DiscordWorld,
    Page,
    SlackWorld,
    Who,
    World,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

OFTEN: Final = JobLimits(sweep_s=2.5)  # 50 ms on this clock
SUGGESTS: Final = 'One moment.\n<execute>[{"name": "ask_a_human", "args": {}}]</execute>'


def says(messages: Sequence[Message]) -> str:
    """Answer as a model that suggests a human when it is asked for one."""
    last = messages[-1].text
    if "will be below your answer" in last:
        return "I suggest a human."
    return SUGGESTS if "lost order" in last else "It sails on Monday."


class Desk:
    """A place where the other person takes over, and the third one, too."""

    def __init__(self, world: World, people: Sequence[Who]) -> None:
        self.world, self.model = world, ScriptedProvider(says)
        self.people = parse_entries(",".join(f"person:{world.person(who)}" for who in people))
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        return answering_host(self.model, self.world.clock, store, handoff_people=self.people)

    @asynccontextmanager
    async def running(self, *, writes: bool = True) -> AsyncGenerator[None]:
        """A process, on what the ones before have left. `writes`: False: it is killed before it writes to people."""
        self.host = host = self._new_host(self.host)
        deleting = ReplyDeletion(self.world.clock, host.platforms.deletions).delete
        jobs, clock = host.store.jobs, self.world.clock
        async with (
            self.world.serving(host),
            JobWorker(jobs, {HANDOFF: host.handoff_messages.run}, clock, "handoff", OFTEN).serving()
            if writes
            else nullcontext(),
            JobWorker(jobs, {DELETE_REPLY: deleting}, clock, "deletions", OFTEN).serving(),
            host.answering(),
        ):
            yield

    async def answered(self, text: str = "When does it sail?") -> tuple[Page, Page]:
        """A question, and its answer with the button."""
        question = await self.world.ask(text)
        await self.world.until(
            lambda: any(reply_texts.HUMAN_BUTTON in page.buttons for page in self.world.answers(question))
        )
        return question, self.world.answers(question)[-1]

    async def asked(self) -> tuple[Page, Page, Page]:
        """A question, its answer, and what the other person is written."""
        question, answer = await self.answered()
        await self.world.press(answer, reply_texts.HUMAN_BUTTON)
        await self.told("I will ask")
        await self.world.press(self.world.private()[-1], texts.BUTTON)
        await self.world.until(self.requests)
        return question, answer, self.requests()[-1]

    def offering(self, pages: Sequence[Page]) -> Sequence[Page]:
        return [page for page in pages if reply_texts.HUMAN_BUTTON in page.buttons]

    def requests(self, who: Who = Who.OTHER) -> Sequence[Page]:
        return [page for page in self.world.direct(who) if "asks for a human" in page.whole]

    async def told(self, words: str, who: Who = Who.ASKER) -> None:
        """Until a person reads these words where only they read."""
        world = self.world
        await world.until(lambda: any(words in page.whole for page in (*world.private(), *world.direct(who))))

    async def talk(self, text: str, below: Page, who: Who = Who.ASKER) -> None:
        """Write in the thread without mentioning the bot."""
        if isinstance(self.world, SlackWorld):
            await self.world.slack.say(SLACK_PEOPLE[who], SLACK_GENERAL, text, below.id)
        elif isinstance(self.world, DiscordWorld):
            await self.world.fake.say(DISCORD_PEOPLE[who], text, below.id)

    async def stored(self, text: str) -> None:
        """Until the bot has taken a message in."""
        await self.world.until(lambda: any(text in str(message) for message in self.host.store.messages))

    async def posted(self, question: Page, words: str) -> Page:
        await self.world.until(lambda: any(words in page.whole for page in self.world.answers(question)))
        return next(page for page in self.world.answers(question) if words in page.whole)

    async def state(self, state: HandoffState) -> None:
        store = self.host.store.handoffs

        async def is_there() -> bool:
            handoff = await store.by_number(1)
            return handoff is not None and handoff.state is state

        while not await is_there():
            await self.world.clock.sleep(0.1)


@asynccontextmanager
async def desk(open_world: AnyWorld, *people: Who) -> AsyncGenerator[Desk]:
    async with open_world() as world:
        world.add_third()
        yield Desk(world, people or (Who.OTHER,))


async def test_a_person_takes_over_and_the_bot_is_silent_until_it_is_mentioned_or_has_the_thread_back(
    open_world: AnyWorld,
) -> None:
    async with desk(open_world) as here, here.running():
        world = here.world
        question, _, request = await here.asked()
        for words in ("When does it sail?", "It sails on Monday.", world.name, texts.REQUEST_HOW):
            assert words in request.whole
        await world.press(request, texts.TAKE_BUTTON, Who.OTHER)
        notice = await here.posted(question, "has taken over")
        assert world.calls(notice)
        await world.until(lambda: texts.TAKE_BUTTON not in here.world.direct(Who.OTHER)[0].buttons)
        calls = len(here.model.requests)
        await here.talk("Are you there?", question)
        await here.stored("Are you there?")
        await here.talk("Yes, I am.", question, Who.OTHER)
        await here.stored("Yes, I am.")
        assert len(here.model.requests) == calls
        await world.ask("and what do you say?", question)
        await world.until(lambda: len(here.model.requests) == calls + 1)
        assert reply_texts.HUMAN_BUTTON not in world.answers(question)[-1].buttons
        await world.until(lambda: reply_texts.HAND_BACK_BUTTON in notice.buttons)
        await world.press(notice, reply_texts.HAND_BACK_BUTTON, Who.OTHER)
        await here.posted(question, texts.NOTICE_RETURNED)
        await world.until(lambda: "handed back" in world.direct(Who.OTHER)[0].whole)


async def test_of_two_people_one_has_it_and_the_other_sees_who(open_world: AnyWorld) -> None:
    async with desk(open_world, Who.OTHER, Who.THIRD) as here, here.running():
        _, _, request = await here.asked()
        await here.world.until(lambda: here.requests(Who.THIRD))
        (other,) = here.requests(Who.THIRD)
        copy = other.copy()
        await here.world.press(request, texts.TAKE_BUTTON, Who.OTHER)
        await here.world.until(lambda: "has taken over" in here.world.direct(Who.THIRD)[0].whole)
        await here.world.press(copy, texts.TAKE_BUTTON, Who.THIRD)
        await here.told("has already taken over", Who.THIRD)
        handoff = await here.host.store.handoffs.by_number(1)
        assert handoff is not None
        assert handoff.taker == here.world.person(Who.OTHER)


async def test_a_process_that_is_killed_before_people_are_written_leaves_that_to_the_next_once(
    open_world: AnyWorld,
) -> None:
    async with desk(open_world) as here:
        async with here.running(writes=False):
            _, answer = await here.answered()
            await here.world.press(answer, reply_texts.HUMAN_BUTTON)
            await here.told("I will ask")
            await here.world.press(here.world.private()[-1], texts.BUTTON)
            await here.told("I asked")
            assert not here.requests()
        async with here.running():
            await here.world.until(here.requests)
        # The process was killed after the message was sent, and before its page was stored.
        await here.host.store.handoffs.shown(1, here.world.person(Who.OTHER), ("?",))
        await here.host.store.jobs.schedule(HANDOFF, "1", "", here.world.clock.now())
        async with here.running():
            request = here.requests()[-1]
            await here.world.press(request, texts.TAKE_BUTTON, Who.OTHER)
            await here.world.until(lambda: not here.requests())
            assert len([page for page in here.world.direct(Who.OTHER) if "You have taken over" in page.whole]) >= 1


async def test_who_lost_the_channel_before_the_press_takes_nothing(open_world: AnyWorld) -> None:
    async with desk(open_world, Who.OTHER, Who.THIRD) as here, here.running():
        world = here.world
        question = await world.ask_in_secret("When does it sail?")
        await world.until(lambda: here.offering((*world.in_secret(), *world.answers(question))))
        (answer,) = here.offering((*world.in_secret(), *world.answers(question)))
        await world.press(answer, reply_texts.HUMAN_BUTTON)
        await here.told("I will ask")
        await world.press(world.private()[-1], texts.BUTTON)
        await world.until(here.requests)
        assert not here.requests(Who.THIRD)  # who cannot read the channel is not asked
        if isinstance(world, SlackWorld):
            world.slack.state.channels[SLACK_SECRET].members.discard(SLACK_OTHER)
        elif isinstance(world, DiscordWorld):
            world.fake.world.absent.add(DISCORD_PEOPLE[Who.OTHER])
            assert STAFF in world.fake.world.channels
        world.clock.ahead_s += 2 * FRESH_S
        await world.press(here.requests()[-1], texts.TAKE_BUTTON, Who.OTHER)
        await here.told(texts.NOT_FOR_YOU, Who.OTHER)
        handoff = await here.host.store.handoffs.by_number(1)
        assert handoff is not None
        assert handoff.state is HandoffState.OPEN


@pytest.mark.parametrize("shares", [True, False])
async def test_from_direct_messages_people_get_only_what_the_person_agreed_to(
    open_world: AnyWorld, shares: bool
) -> None:
    async with desk(open_world) as here, here.running():
        world = here.world
        await world.write("When does it sail?")
        await world.until(lambda: any(reply_texts.HUMAN_BUTTON in page.buttons for page in world.direct()))
        answer = next(page for page in world.direct() if reply_texts.HUMAN_BUTTON in page.buttons)
        await world.press(answer, reply_texts.HUMAN_BUTTON)
        await here.told("exactly this")
        preview = next(page for page in (*world.private(), *world.direct()) if texts.SHARE_BUTTON in page.buttons)
        assert "It sails on Monday." in preview.whole
        assert not here.requests()
        await world.press(preview, texts.SHARE_BUTTON if shares else texts.ALONE_BUTTON)
        await world.until(here.requests)
        request = here.requests()[-1]
        for words in ("When does it sail?", "It sails on Monday."):
            assert (words in request.whole) is shares
        assert any(f"Write to them: {shown}" in request.whole for shown in ("@ann", f"<@{DISCORD_PEOPLE[Who.ASKER]}>"))
        await world.press(request, texts.TAKE_BUTTON, Who.OTHER)
        await here.told("will write to you")
        shown = [page.whole for page in (*world.private(), *world.direct(Who.OTHER))]
        assert not [whole for whole in shown if "will write to them: ‹" in whole]
        await world.write("Anything else?")  # nobody else reads along, so the bot goes on
        await world.until(lambda: len(here.model.requests) == 2)


async def test_what_people_were_written_is_deleted_when_the_question_is_forgotten(open_world: AnyWorld) -> None:
    async with desk(open_world) as here, here.running():
        await here.asked()
        await here.world.forget("everything")
        await here.world.until(lambda: here.world.private() and "Forget" in here.world.private()[-1].buttons)
        await here.world.agree(here.world.private()[-1], "Forget")
        await here.world.until(lambda: not here.world.direct(Who.OTHER))
    assert await here.host.store.handoffs.by_number(1) is None


async def test_what_the_model_suggests_sends_nothing_before_the_person_presses(open_world: AnyWorld) -> None:
    async with desk(open_world) as here, here.running():
        question = await here.world.ask("where is my lost order?")
        answer = await here.posted(question, texts.SUGGESTION.partition("*")[0])
        assert reply_texts.HUMAN_BUTTON in answer.buttons
        assert "I suggest a human." in answer.whole
        assert await here.host.store.handoffs.current(here.world.conversation(question)) is None


async def test_where_nobody_takes_over_people_are_reminded_and_the_asker_is_told(open_world: AnyWorld) -> None:
    async with desk(open_world) as here, here.running():
        question, _, _ = await here.asked()
        here.world.clock.ahead_s += REMIND_AFTER.total_seconds() + 60
        await here.posted(question, texts.NOTICE_REMINDED)
        assert any("is still waiting for a human" in page.whole for page in here.world.direct(Who.OTHER))


async def test_in_a_channel_that_chose_nobody_there_is_no_button_and_the_command_says_why(
    open_world: AnyWorld,
) -> None:
    async with desk(open_world) as here, here.running():
        await here.world.command("channel", "human off", who=Who.OTHER)
        if isinstance(here.world, SlackWorld):
            here.world.slack.state.users[SLACK_OTHER].facts["is_admin"] = True
            await here.world.command("channel", "human off", who=Who.OTHER)
        await here.told("People who can take over", Who.OTHER)
        question = await here.world.ask("When does it sail?")
        await here.posted(question, "It sails on Monday.")
        await here.world.until(lambda: all(turn.state == "done" for turn in here.host.store.turns))
        assert reply_texts.HUMAN_BUTTON not in here.world.answers(question)[-1].buttons
        await here.world.command("human", below=question)
        await here.told(texts.NOBODY.partition(".")[0])
