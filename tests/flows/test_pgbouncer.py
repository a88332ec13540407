"""Two real processes behind a PgBouncer that hands its connections out by transaction, from Slack to the database."""

import asyncio
from pathlib import Path

from agent.machine import CLOCK
from tests.fakes.model_server import ModelServer, Reply, Request
from tests.fakes.pgbouncer import running_pgbouncer, through
from tests.fakes.postgresql import PostgresServer
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_service import answer, half_an_answer, is_whole, until
from tests.flows.test_slack_replicas import replicas
from tests.patience import LOOK_S, PATIENCE_S


def unfinished_at_first(request: Request, asked: list[str]) -> Reply:
    """What is asked with "slowly" is answered by halves, the first time."""
    if b"slowly" not in request.body or asked:
        return answer()
    asked.append("slowly")
    return half_an_answer()


async def test_behind_a_pooler_all_is_answered_stopped_taken_over_and_forgotten(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    asked: list[str] = []
    async with (
        FakeSlack(CLOCK, over_http=True) as slack,
        ModelServer(lambda request: unfinished_at_first(request, asked)) as model,
        postgres.migrated() as url,
        running_pgbouncer(postgres) as bouncer,
        replicas(tmp_path, slack, model, through(bouncer, url)) as (first, _),
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")

        async def ask(words: str, process: int) -> str:
            """A mention, of which this process is told; its thread."""
            message = slack.state.write(ann, general, f"<@{BOT_USER}> {words}")
            for event in slack.events_of(message):
                await slack.deliver(slack.envelope(event), process)
            return message.ts

        def shown(thread: str) -> list[str]:
            return [page.text for page in slack.state.answers(general, thread)]

        for process in (0, 1):
            thread = await ask("where is my boat?", process)
            await until(lambda thread=thread: is_whole(shown(thread)))

        stopped = await ask("where is my boat? slowly", 0)
        await until(lambda: shown(stopped))
        word = slack.state.write(ann, general, f"<@{BOT_USER}> stop", stopped)
        for event in slack.events_of(word):
            await slack.deliver(slack.envelope(event), 1)
        await until(lambda: "Stopped" in shown(stopped)[0])

        asked.clear()
        cut = await ask("where is my boat? slowly, again", 0)
        await until(lambda: shown(cut))
        first.kill()
        await first.wait()
        del slack.posts.ports[0]
        database = url.partition("@/")[2].partition("?")[0]
        await postgres.execute("UPDATE turn SET lease_until = now() WHERE state = 'running'", database=database)
        await until(lambda: is_whole(shown(cut)))
        # An answer is shown before it is stored, and what is stored after the question of /forget makes it ask again.
        async with asyncio.timeout(PATIENCE_S):
            while await postgres.value("SELECT count(*) FROM turn WHERE state = 'running'", database=database):  # noqa: ASYNC110 -- no event reports that
                await asyncio.sleep(LOOK_S)

        before = len(slack.state.ephemerals)
        await slack.command(ann, general, "/forget", "everything")
        await until(lambda: len(slack.state.ephemerals) > before)
        question = slack.state.ephemerals[-1]
        await until(lambda: "Forget" in str(question.blocks))
        await slack.click(ann, question, "Forget")
        await until(lambda: question.text.startswith("Forgotten: 8 messages"))
