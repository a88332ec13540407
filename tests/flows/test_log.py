"""The log of the real service: lines for programs, with ids and without a word of anybody."""

import asyncio
import json
import signal
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
                    log += await process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            log += (await process.communicate())[1]
    lines = [line for line in log.decode().splitlines() if not line.startswith("cogency: ")]
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
