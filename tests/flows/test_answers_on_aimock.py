"""Message in → frames seen, with a model behind real HTTP: the vendors' double streams the protocol."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from agent.events import Outcome
from agent.machine import CLOCK
from agent.providers.catalog import OPENAI
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.faults import RetryPolicy
from agent.providers.replay import ModelTimeouts
from bot.chat.reply.surface import Limits
from tests.fakes.aimock import AiMock
from tests.fakes.incoming import said
from tests.fakes.surface import FakeSurface
from tests.flows.bot import LiveBot, live_bot
from tests.patience import PATIENCE_S

REMEMBER = (
    '<workspace>{"objective": "Note it", "understanding": "", "approach": "", "discoveries": "", "secure": true}'
    "</workspace>\n"
    '<execute>[{"name": "remember", "args": {"text": "The boat is blue."}}]'
)
RECALL = '<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'


class Talk:
    """A bot whose model is the double, and the place where its replies are seen."""

    def __init__(self, bot: LiveBot, surface: FakeSurface, aimock: AiMock) -> None:
        self.bot = bot
        self.surface = surface
        self._aimock = aimock

    async def ask(self, text: str, conversation: str = "c") -> Outcome | None:
        return await self.bot.turns.ask(said(text, conversation=conversation))

    def sent(self) -> list[str]:
        """Every request that the model got, as text."""
        return [str(entry["body"]) for entry in self._aimock.journal()]


@asynccontextmanager
async def talking(aimock: AiMock, folder: Path, *fixtures: dict[str, object]) -> AsyncGenerator[Talk, None]:
    aimock.load(*fixtures)
    surface = FakeSurface(CLOCK, Limits(page_chars=2_000, edit_interval_s=0.01))
    patience = ModelTimeouts(first_token_s=10, between_tokens_s=10)
    line = ProviderWorld(CLOCK, lambda: 0.0, patience, RetryPolicy(max_retries=1, first_delay_s=0.01))
    model = open_chat(OPENAI.at(aimock.url), "m-1", "sk-1", line)
    try:
        async with asyncio.timeout(PATIENCE_S), live_bot(folder, model, lambda _: surface) as bot:
            yield Talk(bot, surface, aimock)
    finally:
        await model.aclose()


def on(text: str, content: str, **more: object) -> dict[str, object]:
    return {"match": {"userMessage": text}, "response": {"content": content}, "chunkSize": 7, **more}


async def test_a_tool_round_runs_and_the_answer_grows_in_one_message(aimock: AiMock, tmp_path: Path) -> None:
    answer = "Noted: the boat is blue. " * 20
    async with talking(aimock, tmp_path, on("<results>", answer), on("Remember my boat", REMEMBER)) as talk:
        assert await talk.ask("Remember my boat") is Outcome.ANSWERED
        facts = await talk.bot.store.facts.readable("ann", frozenset({"person:ann"}))
    assert [fact.value for fact in facts] == ["The boat is blue."]
    assert [text.strip() for text in talk.surface.shown] == [answer.strip()]
    assert len(talk.sent()) == 2
    assert "Remembered: The boat is blue." in talk.sent()[1]


async def test_what_was_said_in_one_thread_is_recalled_in_another(aimock: AiMock, tmp_path: Path) -> None:
    fixtures = [on("<results>", "It is blue."), on("My boat is blue", "Nice."), on("Which colour", RECALL)]
    async with talking(aimock, tmp_path, *fixtures) as talk:
        await talk.ask("My boat is blue")
        assert await talk.ask("Which colour has my boat?", "another") is Outcome.ANSWERED
    assert "My boat is blue" in talk.sent()[-1]
    assert talk.surface.shown[-1] == "It is blue."


async def test_the_second_request_of_a_turn_begins_with_the_bytes_of_the_first(aimock: AiMock, tmp_path: Path) -> None:
    async with talking(aimock, tmp_path, on("<results>", "Noted."), on("Remember my boat", REMEMBER)) as talk:
        await talk.ask("Remember my boat")
    first, second = (cast("dict[str, list[object]]", entry["body"])["messages"] for entry in aimock.journal())
    assert second[: len(first)] == first


async def test_an_answer_that_breaks_off_is_kept_and_says_so(aimock: AiMock, tmp_path: Path) -> None:
    broken = on("Hello", "One sentence that is cut into pieces. " * 5, truncateAfterChunks=6, latency=20)
    async with talking(aimock, tmp_path, broken) as talk:
        assert await talk.ask("Hello") is Outcome.CUT
    (shown,) = talk.surface.shown
    assert shown.startswith("One sentence that is")
    assert len(shown.split("\n\n")) == 2


async def test_a_refused_key_is_one_sentence_and_its_setting_is_named_in_the_log_alone(
    aimock: AiMock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refused: dict[str, object] = {
        "match": {"userMessage": "Hello"},
        "response": {"error": {"message": "Incorrect API key", "type": "invalid_request_error"}, "status": 401},
    }
    async with talking(aimock, tmp_path, refused) as talk:
        assert await talk.ask("Hello") is Outcome.REFUSED
    assert talk.surface.shown[0].endswith("Please tell my operator.")
    assert "Check OPENAI_API_KEY" in caplog.text
    assert "sk-1" not in talk.surface.shown[0] + caplog.text
