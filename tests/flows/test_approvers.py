"""Calls that others than their asker approve, on each platform: real adapter, turns and store; a scripted model."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import pytest

from agent.consents import APPROVAL
from agent.ports.tools import ToolEffect
from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import DELETE_REPLY
from agent.tool_policy import read_rows
from bot.chat.caches import FRESH_S
from bot.chat.jobs import JobLimits, JobWorker
from bot.chat.texts import replies as reply_texts
from bot.forgetting.retention import ReplyDeletion
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_world import ANN
from tests.fakes.one_turn import Echo
from tests.fakes.telling_model import ALLOW, REFUSE, says
from tests.flows.worlds import (
    DISCORD_PEOPLE,
    DISCORD_ROLE,
    SLACK_CREW,
    SLACK_OTHER,
    SLACK_PEOPLE,
    WORLDS,
    AnyWorld,
    DiscordPage,
    DiscordWorld,
    Page,
    SlackPage,
    SlackWorld,
    Who,
    World,
    in_slack,
    on_discord,
)

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

OFTEN = JobLimits(sweep_s=2.5)  # 50 ms on this clock
ROLES: Final[Mapping[AnyWorld, str]] = {in_slack: SLACK_CREW, on_discord: DISCORD_ROLE}
DONE, NOT_DONE = "I will tell Ben.\n\nBen knows.", "I will tell Ben.\n\nThen not."


class Approval:
    """A place in which the model wants to act, and the other person manages."""

    def __init__(self, world: World, row: str) -> None:
        self.world, self.tool, self.model = world, Echo(effect=ToolEffect.ACTS_OUTWARD), ScriptedProvider(says)
        self.rows, _ = read_rows(row)
        if isinstance(world, SlackWorld):
            world.slack.state.users[SLACK_OTHER].facts["is_admin"] = True
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        return answering_host(self.model, self.world.clock, store, tools=[self.tool], rows=self.rows)

    def lose_rank(self) -> None:
        """The other person manages nothing any more."""
        if isinstance(self.world, SlackWorld):
            self.world.slack.state.users[SLACK_OTHER].facts["is_admin"] = False
        elif isinstance(self.world, DiscordWorld):
            self.world.fake.world.absent.add(ANN)

    def give_role(self, *people: Who) -> None:
        """Only these people have the role."""
        if isinstance(self.world, SlackWorld):
            self.world.slack.state.groups = {SLACK_CREW: {SLACK_PEOPLE[who] for who in people}}
        elif isinstance(self.world, DiscordWorld):
            others = (Who.OTHER, Who.THIRD)
            self.world.fake.world.roles_of |= {
                DISCORD_PEOPLE[who]: [DISCORD_ROLE] if who in people else [] for who in others
            }

    @asynccontextmanager
    async def running(self, *, answers: bool = True) -> AsyncGenerator[None]:
        """A process, on what the ones before have left. `answers`: False: it is killed before it runs a turn."""
        self.host = host = self._new_host(self.host)
        deleting = ReplyDeletion(self.world.clock, host.platforms.deletions).delete
        jobs, clock = host.store.jobs, self.world.clock
        async with (
            self.world.serving(host),
            JobWorker(jobs, {APPROVAL: host.approvers.run}, clock, "approvals", OFTEN).serving(),
            JobWorker(jobs, {DELETE_REPLY: deleting}, clock, "deletions", OFTEN).serving(),
            host.answering() if answers else nullcontext(),
        ):
            yield

    async def asked(self) -> Page:
        """What the other person is shown once the question waits."""
        shown = len(self.shown())
        await self.world.ask("tell Ben")
        return await self.request(shown)

    async def request(self, shown: int) -> Page:
        """What they are shown after so many requests, once the turn is put aside."""
        turns = self.host.store
        await self.world.until(
            lambda: len(self.shown()) > shown and all(turn.state != "running" for turn in turns.turns)
        )
        return self.shown()[-1]

    def shown(self, who: Who = Who.OTHER) -> Sequence[Page]:
        """The requests that the other person is shown in their direct messages."""
        return [page for page in self.world.direct(who) if "needs your approval" in page.whole]

    def told(self, words: str, who: Who) -> bool:
        """Whether a person was shown these words."""
        return any(words in page.whole for page in (*self.world.direct(who), *self.world.private()))

    async def ended(self) -> None:
        turns = self.host.store
        await self.world.until(lambda: turns.turns and all(turn.state == "done" for turn in turns.turns))

    def texts(self) -> list[str]:
        return [page.text for page in self.world.answers()]


@asynccontextmanager
async def approval(open_world: AnyWorld, row: str = "echo * * ask by manager") -> AsyncGenerator[Approval]:
    async with open_world() as world:
        yield Approval(world, row)


async def test_an_approver_is_asked_in_a_direct_message_with_the_exact_call_and_it_runs_once_they_approve(
    open_world: AnyWorld,
) -> None:
    async with approval(open_world) as here, here.running():
        page = await here.asked()
        for told in ("Hello Ben.", "tell Ben", here.world.name, tool_texts.EFFECTS["ACTS_OUTWARD"], "expires"):
            assert told in page.whole
        (waiting,) = here.world.answers()
        assert "I need approval to use `echo`" in waiting.text
        assert reply_texts.WAITS_FOR_CONSENT.format(tools="`echo`") not in waiting.text
        assert here.tool.said == []
        await here.world.press(page, ALLOW, Who.OTHER)
        await here.ended()
        assert (here.tool.said, here.texts()) == (["Hello Ben."], [DONE])
        await here.world.until(lambda: "Hello Ben." not in here.world.direct(Who.OTHER)[0].whole)
        (row,) = await here.host.store.audit.newest(1)
        assert (row.decision, row.decided_by) == ("allowed", f"approver {here.world.person(Who.OTHER)}")


async def test_the_asker_cannot_approve_and_is_told_who_was_asked(open_world: AnyWorld) -> None:
    async with approval(open_world) as here, here.running():
        page = await here.asked()
        (waiting,) = here.world.answers()
        await here.world.until(lambda: platforms_texts.DECIDE_BUTTON in waiting.buttons)
        await here.world.press(waiting, platforms_texts.DECIDE_BUTTON)
        await here.world.until(lambda: any("You cannot approve this yourself" in p.text for p in here.world.private()))
        assert here.tool.said == []
        await here.world.press(page, REFUSE, Who.OTHER)
        await here.ended()
    assert (here.tool.said, here.texts()) == ([], [NOT_DONE])


async def test_who_lost_their_rank_before_the_press_decides_nothing(open_world: AnyWorld) -> None:
    async with approval(open_world) as here, here.running():
        page = await here.asked()
        here.lose_rank()
        here.world.clock.ahead_s += 2 * FRESH_S
        await here.world.press(page, ALLOW, Who.OTHER)
        refused = tool_texts.NOT_AN_APPROVER.format(who=tool_texts.APPROVING["manager"])
        await here.world.until(
            lambda: any(refused in page.whole for page in (*here.world.direct(Who.OTHER), *here.world.private()))
        )
        assert here.tool.said == []
        assert all(turn.state != "done" for turn in here.host.store.turns)


async def test_a_process_that_is_killed_between_the_press_and_the_call_leaves_both_to_the_next(
    open_world: AnyWorld,
) -> None:
    async with approval(open_world) as here:
        async with here.running():
            page = await here.asked()
        async with here.running(answers=False):
            await here.world.press(page, ALLOW, Who.OTHER)
            await here.world.until(lambda: "Hello Ben." not in here.world.direct(Who.OTHER)[0].whole)
        assert here.tool.said == []
        async with here.running():
            await here.ended()
            assert (here.tool.said, here.texts()) == (["Hello Ben."], [DONE])


async def test_what_an_approver_saw_is_deleted_when_the_question_is_forgotten(open_world: AnyWorld) -> None:
    async with approval(open_world) as here, here.running():
        await here.asked()
        await here.world.forget("everything")
        await here.world.until(lambda: here.world.private() and "Forget" in here.world.private()[-1].buttons)
        await here.world.agree(here.world.private()[-1], "Forget")
        await here.world.until(lambda: not here.world.direct(Who.OTHER))
    assert here.tool.said == []


async def test_who_cannot_read_the_place_of_the_question_sees_the_call_and_not_the_question(
    open_world: AnyWorld,
) -> None:
    async with approval(open_world) as here, here.running():
        shown = len(here.shown())
        await here.world.write("tell Ben")
        page = await here.request(shown)
        assert "Hello Ben." in page.whole
        assert "tell Ben" not in page.whole
        assert "a place that you cannot read" in page.whole
        await here.world.press(page, ALLOW, Who.OTHER)
        await here.ended()
    assert here.tool.said == ["Hello Ben."]


async def test_who_has_the_role_that_a_row_names_approves_and_who_lost_it_does_not(open_world: AnyWorld) -> None:
    async with approval(open_world, f"echo * * ask by role:{ROLES[open_world]}") as here:
        here.give_role(Who.OTHER)
        async with here.running():
            await here.world.write("hello", Who.OTHER)  # Discord does not list who has a role
            await here.ended()
            page = await here.asked()
            here.give_role()
            here.world.clock.ahead_s += 2 * FRESH_S
            await here.world.press(page, ALLOW, Who.OTHER)
            refused = tool_texts.NOT_AN_APPROVER.format(who=tool_texts.APPROVING["1 role"])
            await here.world.until(
                lambda: any(refused in page.whole for page in (*here.world.direct(Who.OTHER), *here.world.private()))
            )
    assert here.tool.said == []


async def test_where_a_row_needs_two_both_are_asked_and_the_call_runs_once_both_have_approved(
    open_world: AnyWorld,
) -> None:
    async with approval(open_world, f"echo * * ask by two role:{ROLES[open_world]}") as here:
        here.world.add_third()
        here.give_role(Who.OTHER, Who.THIRD)
        async with here.running():
            for number, who in enumerate((Who.OTHER, Who.THIRD), 1):
                await here.world.write("hello", who)  # Discord does not list who has a role
                await here.world.until(lambda turns=number: len(here.host.store.turns) == turns)
                await here.ended()
            page = await here.asked()
            await here.world.until(lambda: here.shown(Who.THIRD))
            (third,) = here.shown(Who.THIRD)
            await here.world.press(page, ALLOW, Who.OTHER)
            await here.world.until(lambda: here.told(tool_texts.ONE_MORE_NEEDED, Who.OTHER))
            assert here.tool.said == []
            await here.world.press(third, ALLOW, Who.THIRD)
            await here.ended()
            (row,) = await here.host.store.audit.newest(1)
    assert here.tool.said == ["Hello Ben."]
    assert row.decided_by == f"approver {here.world.person(Who.OTHER)} {here.world.person(Who.THIRD)}"


async def test_where_nobody_can_be_asked_the_call_does_not_run_and_the_answer_goes_on(open_world: AnyWorld) -> None:
    async with approval(open_world, "echo * * ask by two managers") as here, here.running():
        await here.world.ask("tell Ben")
        await here.ended()
        assert (here.tool.said, here.texts()) == ([], [NOT_DONE])
        assert not here.shown()


async def test_a_denial_with_a_reason_reaches_the_model_which_knows_whose_words_it_is(open_world: AnyWorld) -> None:
    async with approval(open_world) as here, here.running():
        page = await here.asked()
        if isinstance(here.world, SlackWorld) and isinstance(page, SlackPage):
            slack = here.world.slack
            await slack.click(SLACK_OTHER, page.message, tool_texts.DENY_WITH_REASON)
            await slack.until(lambda: slack.state.views)
            await slack.fill_in(SLACK_OTHER, slack.state.views[-1], reason={"value": "Not before noon."})
        elif isinstance(here.world, DiscordWorld) and isinstance(page, DiscordPage):
            fake = here.world.fake
            pressed = await fake.press(ANN, page.message, tool_texts.DENY_WITH_REASON)
            await here.world.until(lambda: pressed.window)
            await fake.fill_in(ANN, pressed.window, page.message, reason="Not before noon.")
        await here.ended()
        assert (here.tool.said, here.texts()) == ([], [NOT_DONE])
        told = here.model.requests[-1][-1].text
        assert "The person who denied it is not the one who asked." in told
        assert "Not before noon." in told
