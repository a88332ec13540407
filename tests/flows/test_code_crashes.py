"""`kill -9` around the moment in which a run's files are saved, then a restart: what code appends is there once."""

import asyncio
import signal
from pathlib import Path

import pytest

from agent.memory.audience import PersonAudience, label
from agent.stored_messages import Author
from store.engine import open_store
from tests.fakes.incoming import START
from tests.fakes.ready_process import calling
from tests.flows.crash_code import PRINTED, RAN_BEFORE, main
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow


def left(folder: Path) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Return the saved files and the bot's answers."""

    async def read() -> tuple[list[tuple[str, bytes]], list[str]]:
        store = await open_store(f"sqlite:///{folder / 'bot.db'}")
        ann = label(PersonAudience("ann"))
        files = await store.saved_files.readable("c", frozenset({ann}), "ann", START)
        history = await store.conversations.history("c", before_turn=1_000, limit=10)
        await store.close()
        answers = [message.text for message in history if message.author is Author.BOT]
        return [(file.name, file.data) for file in files], answers

    return asyncio.run(read())


@pytest.mark.parametrize(("dies", "answer"), [("", PRINTED), ("before", PRINTED), ("after", RAN_BEFORE)])
def test_what_code_appends_is_there_once_whenever_the_bot_is_killed(tmp_path: Path, dies: str, answer: str) -> None:
    first = calling(main, tmp_path, dies).wait(PATIENCE_S)
    assert first == (-signal.SIGKILL if dies else 0)
    if dies:
        files, answers = left(tmp_path)
        assert files == [("log.txt", b"one two " if dies == "after" else b"one ")]
        assert len(answers) == 1
        assert calling(main, tmp_path, "").wait(PATIENCE_S) == 0
    files, answers = left(tmp_path)
    assert files == [("log.txt", b"one two ")]
    assert answers == [PRINTED, answer]
