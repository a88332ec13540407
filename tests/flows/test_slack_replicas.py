"""Slack's requests go to any of several processes on one database: real processes, each question answered once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from agent.machine import CLOCK
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text
from tests.fakes.postgresql import PostgresServer
from tests.fakes.ready_process import ReadyService
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import http_events
from tests.fakes.slack_things import BOT_TOKEN, BOT_USER, SIGNING_SECRET
from tests.flows.test_service import service
from tests.patience import PATIENCE_S, until

REPLICAS, QUESTIONS = 2, 4


def answer(_: Request) -> Reply:
    return [head(), text("The boat lies in the harbour."), DONE]


@asynccontextmanager
async def replicas(
    folder: Path, slack: FakeSlack, model: ModelServer, url: str, **more: str
) -> AsyncGenerator[list[ReadyService]]:
    """Real processes on this database, which are ready; Slack sends its requests to them in turn. `more`: settings."""
    async with AsyncExitStack() as processes:
        started: list[ReadyService] = []
        for number in range(REPLICAS):
            port = http_events().port
            settings = {
                "SLACK_BOT_TOKEN": BOT_TOKEN,
                "SLACK_SIGNING_SECRET": SIGNING_SECRET,
                "COGENCY_SLACK_HTTP": f"127.0.0.1:{port}",
                "SLACK_API_BASE_URL": slack.url,
                "OPENAI_BASE_URL": model.url,
                "COGENCY_DATABASE_URL": url,
                "COGENCY_LEARNING": "off",
                "COGENCY_FIRST_NOTICE": "off",
                **more,
            }
            own = folder / str(number)
            own.mkdir()
            started.append(await processes.enter_async_context(service(own, **settings)))
            slack.posts.ports.append(port)
        async with asyncio.timeout(PATIENCE_S):
            while not all([await slack.posts.healthy(port) for port in slack.posts.ports]):  # noqa: ASYNC110 -- elsewhere
                await asyncio.sleep(0.05)
        yield started


async def test_each_question_is_answered_once_whichever_processes_are_told_of_it(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    async with (
        FakeSlack(CLOCK, over_http=True) as slack,
        ModelServer(answer) as model,
        postgres.migrated() as url,
        replicas(tmp_path, slack, model, url),
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        questions = [
            slack.state.write(ann, general, f"<@{BOT_USER}> {number}: and my boat?") for number in range(QUESTIONS)
        ]
        for question in questions:
            for event in slack.events_of(question):
                envelope = slack.envelope(event)
                await slack.deliver(envelope, 0)
                await slack.deliver(envelope, 1, attempt=1)
        await slack.settled()
        await until(lambda: len(slack.state.answers(general)) >= QUESTIONS)
        await until(lambda: all(page.text.startswith("The boat lies in") for page in slack.state.answers(general)))
        threads = [[page.text.strip() for page in slack.state.answers(general, asked.ts)] for asked in questions]
    assert threads == [["The boat lies in the harbour."]] * QUESTIONS
    assert len({attempt.port for attempt in slack.posts.attempts}) == REPLICAS
