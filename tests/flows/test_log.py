"""The log of the real service: lines for programs, with ids and without a word of anybody."""

import asyncio
import json
import signal
import socket
from pathlib import Path

import pytest

from agent.machine import CLOCK
from tests.fakes.model_server import DONE, ModelServer, Reply, head, text
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_service import by_model, on_slack, service
from tests.patience import PATIENCE_S, until

CALLS = (
    '<execute>[{"name": "recall", "args": {"query": "xylograph"}}, {"name": "nosuch", "args": {"a": "fjord"}}]'
    "\n</execute>"
)
WORDS = ("zanzibar", "xylograph", "fjord", "quokka", "harbour")


def answering(words: str) -> Reply:
    return [head(), text(words), DONE]


@pytest.mark.parametrize("form", ["auto", "text"])
async def test_a_log_has_the_ids_of_what_was_done_and_no_words_of_it(tmp_path: Path, form: str) -> None:
    said = [answering(CALLS), answering("Your quokka lies in the harbour.")]
    async with FakeSlack(CLOCK) as slack, ModelServer(said) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        settings = {**on_slack(slack), **by_model(model), "COGENCY_LEARNING": "off", "COGENCY_LOG_FORMAT": form}
        async with service(tmp_path, **settings) as process:
            await slack.connected(2)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> where is my zanzibar boat?")
            await until(lambda: any("quokka" in page.text for page in slack.state.answers(general, asked.ts)))
            assert process.stderr is not None
            log = b""
            async with asyncio.timeout(PATIENCE_S):
                while b"turn 1: answered" not in log:  # an answer is shown before it is stored
                    line = await process.stderr.readline()
                    assert line, (
                        log.decode()
                    )  # it has ended: without this the loop would wait for ever, and no limit end it
                    log += line
            process.send_signal(signal.SIGTERM)
            log += (await process.communicate())[1]
    lines = log.decode().splitlines()
    assert not [word for word in WORDS if word in log.decode()]
    if form == "text":
        (ended,) = [line for line in lines if "turn 1: answered" in line]
        assert ended.endswith(f"conversation=slack:T0TEAM:{general}:{asked.ts}  person=slack:T0TEAM:{ann}")
        return
    told = [json.loads(line) for line in lines]
    assert all({"timestamp", "level", "logger", "event"} <= line.keys() for line in told)
    (turn,) = [line for line in told if line["event"].startswith("turn 1: answered")]
    assert (turn["turn"], turn["level"]) == (1, "info")
    assert (turn["conversation"], turn["person"]) == (f"slack:T0TEAM:{general}:{asked.ts}", f"slack:T0TEAM:{ann}")
    assert [line for line in told if "turn" not in line], "what is no turn's bears no turn"


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"COGENCY_MODLE": "rehearsal"}, 78),
        ({}, 78),
        ({"DISCORD_TOKEN": "none", "COGENCY_HEALTH": "127.0.0.1:{port}"}, 75),
        ({"DISCORD_TOKEN": "none", "COGENCY_HEALTH": "192.0.2.1:{port}"}, 78),
    ],
)
async def test_what_ends_a_start_is_a_line_of_the_log_too(tmp_path: Path, wrong: dict[str, str], code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = {name: value.format(port=port) for name, value in wrong.items()}
        (tmp_path / ".env").write_text("OPENAI_API_KY=misspelt\n")
        (tmp_path / ".env").chmod(0o600)
        async with service(tmp_path, **settings) as process:
            async with asyncio.timeout(PATIENCE_S):
                _, log = await process.communicate()
            assert process.returncode == code
    told = [json.loads(line) for line in log.decode().splitlines()]
    assert told[-1]["level"] == "error"
    assert code == 78 or "already in use" in told[-1]["event"]
