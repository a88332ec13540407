"""A mention on each platform, answered by a model behind real HTTP: one tool, then a long answer that grows."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.machine import CLOCK
from agent.ports.clock import Clock
from agent.providers.catalog import OPENAI
from agent.providers.factory import ProviderWorld, open_chat
from agent.providers.faults import RetryPolicy
from agent.providers.replay import ModelTimeouts
from bot.chat.host import Host
from bot.platforms.slack.settings import SlackSettings
from bot.platforms.slack.surface import LIMITS
from tests.fakes.aimock import AiMock
from tests.fakes.answers import answer_of
from tests.fakes.discord_bot import WINDOW_S, edits_of, on_discord
from tests.fakes.discord_bot import serving as serving_discord
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving as serving_slack
from tests.fakes.slack_things import BOT_USER
from tests.flows.bot import live_host

REMEMBER = '<execute>[{"name": "remember", "args": {"text": "The boat is blue."}}]\n</execute>'
ANSWER = answer_of(3_000).strip()
SHOWN = f"{ANSWER}\n\n*Remembered: The boat is blue.*"
PIECES, PIECE_MS = 60, 50  # The answer arrives in three seconds: at the pace of either test that is time for ten edits
SPEED = 10.0  # Slack takes an edit every 1.3 seconds of its own time
DISCORD_PAGE = 2_000


@asynccontextmanager
async def remembering(aimock: AiMock, folder: Path, clock: Clock) -> AsyncGenerator[Host, None]:
    """A bot whose model notes what it is told, and then tells all about it."""
    slowly = {"chunkSize": -(-len(ANSWER) // PIECES), "latency": PIECE_MS}
    aimock.load(
        {"match": {"userMessage": "<results>"}, "response": {"content": ANSWER}, **slowly},
        {"match": {"userMessage": "Remember my boat"}, "response": {"content": REMEMBER}},
    )
    patience = ModelTimeouts(first_token_s=10, between_tokens_s=10)
    line = ProviderWorld(CLOCK, lambda: 0.0, patience, RetryPolicy(max_retries=1, first_delay_s=0.01))
    model = open_chat(OPENAI.at(aimock.url), "m-1", "sk-1", line)
    try:
        async with live_host(folder, model, clock) as host:
            yield host
    finally:
        await model.aclose()


def noted(aimock: AiMock) -> bool:
    """Whether there were two requests, and the second one has the tool's result."""
    _, second = (str(entry["body"]) for entry in aimock.journal())
    return "Remembered: The boat is blue." in second


async def test_a_mention_in_slack_is_answered_after_a_tool_by_a_message_that_grows(
    aimock: AiMock, tmp_path: Path
) -> None:
    clock = FastClock(speed=SPEED)
    chosen = SlackSettings(tables=False)  # tables stay as the model wrote them
    async with (
        FakeSlack(clock) as slack,
        remembering(aimock, tmp_path, clock) as host,
        serving_slack(slack, host, chosen=chosen),
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        asked = await slack.say(ann, general, f"<@{BOT_USER}> Remember my boat, it is blue")

        def shown() -> str:
            texts = [page.text.replace("‹@", "<@") for page in slack.state.answers(general, asked.ts)]
            return read_back(texts, LIMITS.page_chars)

        await slack.until(lambda: slack.state.answers(general, asked.ts) and shown() == SHOWN)
        assert sum(page.edits for page in slack.state.answers(general, asked.ts)) >= 3
        assert not slack.state.refused
    assert noted(aimock)


async def test_a_mention_on_discord_is_answered_after_a_tool_by_messages_that_grow(
    aimock: AiMock, tmp_path: Path
) -> None:
    clock = FastClock(speed=1.0)
    async with (
        running_discord(clock, window_s=WINDOW_S) as discord,
        remembering(aimock, tmp_path, clock) as host,
        serving_discord(discord, host),
    ):
        asked = await discord.say(ANN, f"<@{BOT}> Remember my boat, it is blue")
        await discord.until(lambda: read_back(discord.world.shown(asked["id"]), DISCORD_PAGE) == on_discord(SHOWN))
        assert len(edits_of(discord, asked["id"])) >= 3
        assert all(call.status != 429 for call in discord.calls)
    assert noted(aimock)
