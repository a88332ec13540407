"""A failover loses what was stored last: what was asked is answered once all the same, as far as a process knows it.

Real PostgreSQL, put back to an earlier state while the bot runs; real clients of Slack and Discord.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent.messages import Message
from agent.providers.scripted import Answer, ScriptedProvider, Until
from agent.shown_replies import DELETE_REPLY
from bot.chat.host import Host
from bot.chat.jobs import JobLimits, JobWorker
from bot.forgetting.retention import ReplyDeletion
from bot.recovery.service import LostWritesService
from tests.fakes import discord_bot, slack_bot
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BO, DM_OF
from tests.fakes.fast_clock import FastClock
from tests.fakes.postgresql import PostgresServer
from tests.fakes.slack import FakeSlack
from tests.flows.bot import opened, serving_host

ANSWERED = ": answered, "  # Logged when a turn and its answer are stored
LOST = "The database no longer has what this process stored since"


@dataclass
class Asked:
    """The model: it answers with what it was asked, once `release` is set if that is "late"."""

    release: asyncio.Event = field(default_factory=asyncio.Event)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    finish: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, messages: Sequence[Message]) -> Answer:
        reply = next(word for word in ("known", "before", "soon", "late", "half") if word in messages[-1].text)
        if reply == "half":
            return ["You wrote ", Until(self.finish.wait), "half."]
        if reply != "late":
            return [f"You wrote {reply}."]
        self.begun.set()
        return [Until(self.release.wait), "You wrote late."]


@asynccontextmanager
async def serving(
    url: str, asked: Asked, clock: FastClock, owner: str = "flow", others: int = 0
) -> AsyncGenerator[Host]:
    async with opened(url) as store:
        service = LostWritesService(store.recent_writes, clock, {}, lambda: others)
        async with (
            service.serving(),
            serving_host(store, ScriptedProvider(asked.answer), clock, owner=owner) as host,
            JobWorker(
                store.jobs,
                {DELETE_REPLY: ReplyDeletion(clock, host.platforms.deletions).delete},
                clock,
                owner,
                JobLimits(sweep_s=1.0),
            ).serving(),
        ):
            service.histories, service.end_lost = host.platforms.histories, host.turns.end_lost
            yield host


@pytest.mark.timeout(400)
async def test_on_slack_lost_questions_are_answered_and_answered_ones_not_again(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot")
    clock, asked = FastClock(), Asked()
    async with (
        postgres.migrated() as url,
        FakeSlack(clock) as slack,
        serving(url, asked, clock) as host,
        slack_bot.serving(slack, host),
    ):
        ann, ben = slack.state.user("ann"), slack.state.user("ben")
        anns, bens = slack.state.channel("ann", "im"), slack.state.channel("ben", "im")

        def shown(channel: str) -> list[str]:
            return [each.text for each in slack.state.answers(channel)]

        await slack.say(ann, anns, "known")
        await slack.until(lambda: shown(anns) == ["You wrote known."] and ANSWERED in caplog.text)
        await postgres.keep_replica(url)
        await slack.say(ann, anns, "soon")
        await slack.until(lambda: shown(anns)[1:] == ["You wrote soon."])
        await slack.say(ben, bens, "late")
        await asyncio.wait_for(asked.begun.wait(), 60)
        await postgres.fail_over(url)
        await slack.until(lambda: LOST in caplog.text and "Slack: caught up on 1 message since" in caplog.text)
        asked.release.set()
        await slack.until(lambda: shown(bens) == ["You wrote late."])
        await slack.say(ann, anns, "before")
        await slack.until(lambda: shown(anns)[2:] == ["You wrote before."])
        await slack.until(lambda: shown(bens) == ["You wrote late."])
        assert shown(anns) == ["You wrote known.", "You wrote soon.", "You wrote before."]


@pytest.mark.timeout(400)
async def test_of_two_processes_neither_answers_again_what_one_has_answered_and_half_of_an_answer_does_not_stay(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot")
    clock, asked = FastClock(), Asked()
    async with (
        postgres.migrated() as url,
        FakeSlack(clock) as slack,
        serving(url, asked, clock, "one", others=1) as one,
        serving(url, asked, clock, "another", others=1) as another,
        running_discord(clock) as fake,
        discord_bot.serving(fake, one),
        slack_bot.serving(slack, one),
        slack_bot.serving(slack, another),
    ):
        ann, channel = slack.state.user("ann"), slack.state.channel("ann", "im")
        await fake.write(BO, "late")
        await asyncio.wait_for(asked.begun.wait(), 60)
        await postgres.keep_replica(url)
        asked.release.set()
        await fake.until(lambda: fake.world.shown(DM_OF[BO]) == ["You wrote late."])
        await slack.say(ann, channel, "half")
        await slack.until(lambda: slack.state.answers(channel))
        [half] = slack.state.answers(channel)
        await postgres.fail_over(url)
        await fake.write(BO, "before")
        await fake.until(lambda: fake.world.shown(DM_OF[BO])[1:] == ["You wrote before."])
        await slack.until(lambda: half.ts not in [each.ts for each in slack.state.answers(channel)])
        asked.finish.set()
        # Pages of one answer: on a busy machine, so much of the clock's time passes that a stream is full in between.
        await slack.until(lambda: "".join(each.text for each in slack.state.answers(channel)) == "You wrote half.")
        assert fake.world.shown(DM_OF[BO]) == ["You wrote late.", "You wrote before."]


@pytest.mark.timeout(400)
async def test_on_discord_lost_questions_are_answered_and_answered_ones_not_again(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bot")
    clock, asked = FastClock(), Asked()
    async with (
        postgres.migrated() as url,
        running_discord(clock) as fake,
        serving(url, asked, clock) as host,
        discord_bot.serving(fake, host),
    ):
        for person in (ANN, BO):
            await fake.write(person, "known")
        await fake.until(
            lambda: (
                [*fake.world.shown(DM_OF[ANN]), *fake.world.shown(DM_OF[BO])] == ["You wrote known."] * 2
                and caplog.text.count(ANSWERED) == 2
            )
        )
        await postgres.keep_replica(url)
        await fake.write(ANN, "soon")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN])[1:] == ["You wrote soon."])
        await fake.write(BO, "late")
        await asyncio.wait_for(asked.begun.wait(), 60)
        await postgres.fail_over(url)
        await fake.until(lambda: LOST in caplog.text and "Discord: caught up on 1 message since" in caplog.text)
        asked.release.set()
        await fake.until(lambda: fake.world.shown(DM_OF[BO])[1:] == ["You wrote late."])
        await fake.write(ANN, "before")
        await fake.until(lambda: fake.world.shown(DM_OF[ANN])[2:] == ["You wrote before."])
        await fake.until(lambda: fake.world.shown(DM_OF[BO]) == ["You wrote known.", "You wrote late."])
        assert fake.world.shown(DM_OF[ANN]) == ["You wrote known.", "You wrote soon.", "You wrote before."]
