"""The programs in docs/api.md, run against a bot that runs as the page says."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent.incoming import Incoming
from agent.ports.api_tokens import TokenScope
from agent.ports.webhooks import EventTarget
from agent.stored_messages import Author
from benchmarks.house_code import ROOT
from bot.platforms.play.workspace import CHANNELS, SOURCE
from store.engine import open_store
from tests.fakes.api_bot import api_bot
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.patience import PATIENCE_S

PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
async def test_the_program_of_the_page_asks_streams_and_completes(tmp_path: Path) -> None:
    program, _ = PROGRAM.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    script = [[head(), text(words), DONE] for words in ("To dredge it.", "It is shallow.", "28 days.")]
    async with ModelServer(script) as model:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url}
        async with api_bot(tmp_path, **settings) as bot:
            of_bot = program.replace("https://bot.example.com", bot.address).replace("cogency_…", await bot.token())
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", of_bot, stdout=PIPE, cwd=tmp_path)
            async with asyncio.timeout(PATIENCE_S):
                printed, _ = await process.communicate()
    assert printed.decode() == "To dredge it.\nIt is shallow.28 days.\n"
    assert process.returncode == 0


@dataclass(frozen=True)
class Places:
    """Every text may be posted where it is to go."""

    async def event(self, target: EventTarget) -> Incoming:
        there = said("", conversation="play:general:hooks", place=CHANNELS["general"].place)
        named = replace(there, source=SOURCE, event_id=target.name, message_id=target.name)
        return replace(named, channel=target.channel, own=False)


@pytest.mark.slow
async def test_the_program_of_the_page_posts(tmp_path: Path) -> None:
    _, program = PROGRAM.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
    async with api_bot(tmp_path) as bot:
        bot.host.platforms.register_events(SOURCE, Places())
        secret = await bot.token(
            scopes=frozenset({TokenScope.POST}), audience=CHANNELS["general"].place.audience, channel="general"
        )
        of_bot = program.replace("https://bot.example.com", bot.address).replace("cogency_…", secret)
        for _ in range(2):
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", of_bot, stdout=PIPE, cwd=tmp_path)
            async with asyncio.timeout(PATIENCE_S):
                printed, _ = await process.communicate()
            assert printed.decode() == "posted\n"
    store = await open_store(bot.url)
    said_there = await store.conversations.history("play:general:hooks", before_turn=9, limit=9)
    await store.close()
    replies = [one for one in said_there if one.author is Author.BOT]
    assert [one.text for one in replies] == ["Build 7 **failed** on `main`."]
    assert replies[0].relayed
