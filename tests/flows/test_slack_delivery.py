"""However Slack delivers, people see the same: through sockets and over HTTP; real slack-bolt, turns and replies."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agent.errors import StoreError
from agent.providers.scripted import ScriptedProvider
from agent.spending import Total
from store.databases.database import Database
from store.model_calls import SqlSpending
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack, Object
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ME = f"<@{BOT_USER}>"


@pytest.fixture(params=["sockets", "http"])
async def slack(request: pytest.FixtureRequest) -> AsyncGenerator[FakeSlack, None]:
    """A workspace with ann and bob, a public channel, and ann's direct messages."""
    async with FakeSlack(FastClock(), over_http=request.param == "http") as fake:
        fake.state.user("ann")
        fake.state.user("bob")
        fake.state.channel("general")
        fake.state.channel("ann", "im")
        yield fake


@dataclass
class Bot:
    """One store and one model, for as many processes as a test starts."""

    store: StoreInMemory
    model: ScriptedProvider

    async def answered(self, slack: FakeSlack, turns: int = 1) -> None:
        await slack.until(lambda: sum(turn.state == "done" for turn in self.store.turns) == turns)


def bot(slack: FakeSlack, *answers: str) -> Bot:
    return Bot(store_in_memory(), ScriptedProvider(answers, sleep=slack.clock.sleep))


def asked(slack: FakeSlack, channel: str = GENERAL) -> list[Object]:
    """A question of ann's, as the envelopes that tell of it."""
    return [slack.envelope(event) for event in slack.events_of(slack.state.write(ANN, channel, f"{ME} hello?"))]


async def test_a_mention_is_answered_in_its_thread(slack: FakeSlack) -> None:
    one = bot(slack, "Hello Ann.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        question = await slack.say(ANN, GENERAL, f"{ME} hello?")
        await one.answered(slack)
        (answer,) = slack.state.answers(GENERAL)
    assert (answer.text, answer.thread_ts) == ("Hello Ann.", question.ts)


@pytest.mark.parametrize("order", [1, -1])
async def test_the_two_events_of_a_mention_read_its_thread_once(slack: FakeSlack, order: int) -> None:
    one = bot(slack, "Hello Ann.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        root = await slack.say(BOB, GENERAL, "the build is red")
        question = slack.state.write(ANN, GENERAL, f"{ME} why?", root.ts)
        for envelope in [slack.envelope(event) for event in slack.events_of(question)][::order]:
            await slack.acked(await slack.deliver(envelope))
        await one.answered(slack)
        assert len(slack.state.answers(GENERAL)) == 1
        assert len(slack.state.called("conversations.replies")) == 1


@pytest.mark.parametrize("order", [1, -1])
async def test_a_mention_is_answered_if_only_one_of_its_events_comes(slack: FakeSlack, order: int) -> None:
    one = bot(slack, "Hello Ann.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        await slack.acked(await slack.deliver(asked(slack)[::order][0]))
        await one.answered(slack)
        assert [answer.text for answer in slack.state.answers(GENERAL)] == ["Hello Ann."]


async def test_a_direct_message_is_answered(slack: FakeSlack) -> None:
    one = bot(slack, "Hello Ann.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        await slack.say(ANN, DM, "hello?")
        await one.answered(slack)
        assert [answer.text for answer in slack.state.answers(DM)] == ["Hello Ann."]


async def test_a_command_shows_its_question_and_is_answered_below_it(slack: FakeSlack) -> None:
    one = bot(slack, "It is *blue*.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", f"which colour, <@{BOB}>? Red & blue?"))
        await one.answered(slack)
        question, answer = slack.state.answers(GENERAL)
    assert question.text == "**ann** asks:\n> which colour, @bob? Red & blue?"
    assert (answer.text, answer.thread_ts) == ("It is *blue*.", question.ts)


async def test_a_private_question_is_answered_so_that_only_the_person_sees_it(slack: FakeSlack) -> None:
    one = bot(slack, "Enough.")
    host = turns_host(one.store, one.model, slack.clock)
    async with serving(slack, host), host.turns.serving():
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "privately what do I earn?"))
        await slack.until(lambda: [ephemeral.text for ephemeral in slack.state.ephemerals][-1:] == ["Enough."])
    assert {ephemeral.user for ephemeral in slack.state.ephemerals} == {ANN}
    assert not slack.state.answers(GENERAL)


async def test_a_button_and_a_window_do_what_they_say(slack: FakeSlack) -> None:
    host, person = recording_host(), f"slack:T0TEAM:{ANN}"
    for words in ("Apollo landed.", "The boat is blue."):
        await host.know(person, words, slack.clock.now())
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/forget"))
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.click(ANN, slack.state.ephemerals[0], "Something else…"))
        await slack.until(lambda: slack.state.views)
        await slack.acked(await slack.submit(ANN, slack.state.views[0], "about Apollo"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2 or "Apollo" in slack.state.ephemerals[0].text)
        await slack.acked(await slack.click(ANN, slack.state.ephemerals[-1], "Forget"))
        await slack.until(lambda: len(host.known(person)) == 1)
    assert host.known(person) == ["The boat is blue."]


async def test_an_event_that_comes_to_two_processes_and_after_a_restart_gets_one_reply(slack: FakeSlack) -> None:
    one = bot(slack, "Once.")
    hosts = [turns_host(one.store, one.model, slack.clock) for _ in range(3)]
    envelopes = asked(slack)
    async with serving(slack, hosts[0]), serving(slack, hosts[1]), hosts[0].turns.serving():
        for envelope in envelopes:
            for process in (0, 1):
                await slack.deliver(envelope, process)
        await slack.settled()
        await one.answered(slack)
    async with serving(slack, hosts[2]), hosts[2].turns.serving():
        slack.acks.clear()
        for envelope in envelopes:
            await slack.acked(await slack.deliver(envelope, attempt=1))
    assert [answer.text for answer in slack.state.answers(GENERAL)] == ["Once."]
    assert len(one.store.turns) == 1


@pytest.mark.parametrize("order", ["usage", "policy set tea: at five", "stop", "help"])
async def test_an_order_is_carried_out_once_though_its_two_events_come_to_two_processes(
    slack: FakeSlack, order: str
) -> None:
    one = bot(slack)
    hosts = [turns_host(one.store, one.model, slack.clock) for _ in range(2)]
    mention, message = slack.events_of(slack.state.write(ANN, GENERAL, f"{ME} {order}"))
    async with serving(slack, hosts[0]), serving(slack, hosts[1]):
        await slack.deliver(slack.envelope(mention), 0)
        await slack.deliver(slack.envelope(message), 1)
        await slack.settled()
    assert len(slack.state.ephemerals) == 1


class SlowSpending(SqlSpending):
    """What somebody used is not told before `told` is set."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.asked, self.told = asyncio.Event(), asyncio.Event()

    async def totals(self, *whose: Any, **more: Any) -> list[Total]:
        self.asked.set()
        await self.told.wait()
        return await SqlSpending.totals(self, *whose, **more)


async def test_what_was_asked_for_as_the_bot_ended_is_still_said(slack: FakeSlack) -> None:
    store = store_in_memory()
    spending = SlowSpending(store.database)
    async with serving(slack, recording_host(replace(store, spending=spending))):
        await slack.acked(await slack.command(ANN, GENERAL, "/usage"))
        await spending.asked.wait()
        asyncio.get_running_loop().call_soon(spending.told.set)
    assert [ephemeral.user for ephemeral in slack.state.ephemerals] == [ANN]


def failing(times: int) -> RecordingHost:
    """A host whose next messages cannot be stored, for a reason that no waiting mends."""
    host = recording_host()
    host.store.ledger.failures += [StoreError("The database says no.")] * times
    return host


async def test_what_could_not_be_stored_is_acknowledged_at_a_later_attempt(slack: FakeSlack) -> None:
    host = failing(1)
    async with serving(slack, host):
        (envelope,) = asked(slack, DM)
        await slack.deliver(envelope)
        if not slack.over_http:  # there the fake does it by itself
            await slack.until(lambda: not host.store.ledger.failures)
            assert envelope["envelope_id"] not in slack.acks
            await slack.deliver(envelope, attempt=1)
        await slack.acked(envelope["envelope_id"])
    assert len(host.taken) == 1


async def test_over_http_slack_tries_at_once_after_a_minute_and_after_five() -> None:
    async with FakeSlack(FastClock(speed=2_000), over_http=True) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        host = failing(3)
        async with serving(slack, host):
            (envelope,) = asked(slack, DM)
            began = slack.clock.monotonic()
            await slack.acked(await slack.deliver(envelope))
            assert slack.clock.monotonic() - began >= 360
        assert [(attempt.number, attempt.status) for attempt in slack.posts.attempts] == [
            (0, 503),
            (1, 503),
            (2, 503),
            (3, 200),
        ]
    assert len(host.taken) == 1


async def test_over_http_what_was_lost_on_the_way_is_read_from_history_once_slack_gets_through() -> None:
    async with FakeSlack(FastClock(), over_http=True) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        host = recording_host()
        async with serving(slack, host):
            await slack.say(ANN, DM, "one")
            await slack.settled()
            slack.state.write(ANN, DM, "two, of which nobody told")
            ports = [slack.posts.ports.pop()]
            (event,) = slack.events_of(slack.state.write(ANN, DM, "three"))
            delivered = await slack.deliver(slack.envelope(event))
            await slack.until(lambda: slack.posts.attempts[-1].status == 0)
            slack.posts.ports += ports
            await slack.acked(delivered)
            await slack.until(lambda: len(host.taken) == 3)
    assert {taken.text for taken in host.taken} == {"one", "two, of which nobody told", "three"}


async def test_over_http_what_comes_anew_after_an_outage_does_not_hide_what_was_lost_in_it() -> None:
    async with FakeSlack(FastClock(speed=500), over_http=True) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        host = recording_host()
        async with serving(slack, host):
            await slack.say(ANN, DM, "one")
            await slack.settled()
            slack.state.write(ANN, DM, "two, of which nobody told")
            await slack.clock.sleep(240)
            ports = [slack.posts.ports.pop()]
            (event,) = slack.events_of(slack.state.write(ANN, DM, "three"))
            delivered = await slack.deliver(slack.envelope(event))
            await slack.until(lambda: len(slack.posts.attempts) >= 3)
            slack.posts.ports += ports
            await slack.say(ANN, DM, "four")
            await slack.acked(delivered)
            await slack.until(lambda: len(host.taken) == 4)


async def test_over_http_what_was_said_while_no_process_ran_is_taken_in_after_the_start() -> None:
    async with FakeSlack(FastClock(), over_http=True) as slack:
        slack.state.user("ann")
        slack.state.channel("ann", "im")
        host = recording_host()
        async with serving(slack, host):
            await slack.say(ANN, DM, "one")
            await slack.settled()
        slack.state.write(ANN, DM, "two, of which nobody told")
        async with serving(slack, host):
            await slack.until(lambda: len(host.taken) == 2)
    assert [taken.text for taken in host.taken] == ["one", "two, of which nobody told"]
