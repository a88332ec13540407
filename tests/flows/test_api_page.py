"""The program in docs/api.md, run against a bot that runs as the page says."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from benchmarks.house_code import ROOT
from tests.fakes.api_bot import api_bot
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.patience import PATIENCE_S

PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
async def test_the_program_of_the_page_asks_streams_and_completes(tmp_path: Path) -> None:
    (program,) = PROGRAM.findall((ROOT / "docs/api.md").read_text(encoding="utf-8"))
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
