"""Events leave as signed webhooks, on each platform, and none is lost with a process that is killed before it left."""

import signal
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from agent.machine import CLOCK
from agent.outgoing import OutgoingEvent, job_kind
from bot.chat.jobs import JobWorker
from bot.chat.network.connections import DIRECT, SystemResolver
from bot.chat.network.guard import parse_networks, parse_target
from bot.webhooks.outgoing.feature import sender
from bot.webhooks.outgoing.rows import OutgoingRow
from bot.webhooks.outgoing.service import DeliveryService
from bot.webhooks.outgoing.signing import parse_secret
from tests.fakes.model_server import ModelServer
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.fakes.webhook_receiver import FAILED, HANGS, OK, SECRET, WebhookReceiver, webhook_receiver
from tests.flows.forgetting_bot import OFTEN
from tests.flows.talks import Talk, talking
from tests.flows.test_service import answer, by_model, on_slack, service
from tests.flows.worlds import WORLDS, AnyWorld, W
from tests.patience import until

BLUE = "It is blue, quetzal."
YEARS_S = 10**10


def row(name: str, receiver: WebhookReceiver) -> OutgoingRow:
    target = parse_target(f"http://{receiver.place}/{name}")
    return OutgoingRow(name, target, frozenset(OutgoingEvent), (parse_secret(SECRET),))


@asynccontextmanager
async def delivering(talk: Talk[W], *rows: OutgoingRow, networks: str) -> AsyncGenerator[None]:
    """Deliver these rows' events, as the bot does: with a worker for each."""
    clock, store = talk.world.clock, talk.store
    await store.outbox.subscribe([each.subscription for each in rows], clock.now())
    with closing(SystemResolver()) as resolver:
        sending = sender(parse_networks(networks), DIRECT, resolver)
        workers = [
            JobWorker(
                store.jobs,
                {
                    job_kind(each.name): DeliveryService(
                        row=each,
                        outbox=store.outbox,
                        preferences=store.preferences,
                        jobs=store.jobs,
                        sender=sending,
                        clock=clock,
                        random=lambda: 0.5,
                    ).deliver
                },
                clock,
                each.name,
                OFTEN,
            ).serving()
            for each in rows
        ]
        async with workers[0], workers[1]:
            yield


def is_forget(label: str) -> bool:
    return label.startswith("Forget")


def types(receiver: WebhookReceiver) -> Sequence[str]:
    return [event["type"] for event in receiver.events]


@pytest.mark.parametrize("open_world", WORLDS)
async def test_an_answer_a_verdict_and_what_is_forgotten_reach_one_receiver_while_another_hangs(
    open_world: AnyWorld,
) -> None:
    async with talking(open_world, [BLUE]) as talk, webhook_receiver() as hangs, webhook_receiver() as receiver:
        hangs.answer = lambda _: HANGS
        networks = f"{hangs.place},{receiver.place}"
        async with delivering(talk, row("hangs", hangs), row("crm", receiver), networks=networks):
            page = await talk.asked()
            await talk.world.until(lambda: types(receiver) == ["turn.finished"])
            await talk.world.react(page, "👍")
            await talk.world.until(lambda: types(receiver)[1:] == ["feedback.given"])
            await talk.world.forget("everything")
            asks = talk.world.private
            await talk.world.until(lambda: any(is_forget(label) for label in asks()[-1].buttons))
            await talk.world.agree(asks()[-1], next(filter(is_forget, asks()[-1].buttons)))
            await talk.world.until(lambda: types(receiver)[2:] == ["forgotten"])
        finished, given, forgotten = (event["data"] for event in receiver.events)
        assert finished["outcome"] == "answered"
        assert finished["turn"] == given["turn"] == forgotten["turns"][0]
        assert given["verdict"] == "good"
        for request in receiver.got:
            request.verify(tolerance_s=YEARS_S)
            assert b"quetzal" not in request.body
            assert b"colour" not in request.body
        assert hangs.got
        assert hangs.taken == []


def ended(folder: Path) -> bool:
    with closing(sqlite3.connect(f"file:{folder / 'bot.db'}?mode=ro", uri=True)) as database:
        return database.execute("SELECT state FROM turn").fetchall() == [("done",)]


async def test_killed_before_its_event_left_the_bot_delivers_it_after_the_next_start(tmp_path: Path) -> None:
    file = tmp_path / "webhooks.toml"
    async with FakeSlack(CLOCK) as slack, ModelServer(lambda _: answer()) as model, webhook_receiver() as receiver:
        receiver.answer = lambda _: FAILED
        file.write_text(
            f'[[webhook]]\nname = "crm"\nurl = "http://{receiver.place}/hooks"\nevents = ["turn.finished"]\n'
            'secret_env = "CRM_SECRET"\n'
        )
        file.chmod(0o600)
        settings = {
            **on_slack(slack),
            **by_model(model),
            "COGENCY_OUTGOING_WEBHOOKS": str(file),
            "COGENCY_NETWORKS_ALLOWED": receiver.place,
            "CRM_SECRET": SECRET,
        }
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **settings) as process:
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my boat?")
            await until(lambda: ended(tmp_path))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert receiver.taken == []
        receiver.answer = lambda _: OK
        async with service(tmp_path, **settings):
            await until(lambda: receiver.taken)
    (request, *_) = receiver.taken
    request.verify()
    event: dict[str, Any] = request.event
    assert (event["type"], event["data"]["message"], event["data"]["outcome"]) == (
        "turn.finished",
        asked.ts,
        "answered",
    )
    assert {each.id for each in receiver.got} == {request.id}
