"""`kill -9` at every step of a turn with two tools, then a restart: one complete reply, no call repeated."""

import asyncio
import json
import multiprocessing
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.records import Author
from store.engine import open_store
from tests.flows.crash_process import FIRST, JOINED, LAST, SECOND, main

SLICES = 4
"""The steps are shared out among this many tests, so that they run side by side."""
MOST_STEPS = 200
"""Far above what the turn takes; a turn that took more would be a fault of its own."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.flows.crash_process"])


def run(folder: Path, die_at: int | None, *, joins: bool = False) -> int | None:
    process = processes.Process(target=main, args=(folder, die_at), kwargs={"joins": joins})
    process.start()
    process.join(timeout=30)
    assert process.exitcode is not None, "the process hangs"
    return process.exitcode


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def replies_in_store(folder: Path) -> list[str]:
    async def read() -> list[str]:
        store = await open_store(f"sqlite:///{folder / 'bot.db'}")
        history = await store.conversations.history("c", before_turn=1_000, limit=10)
        await store.close()
        return [message.text for message in history if message.author is Author.BOT]

    return asyncio.run(read())


def visible_pages(folder: Path) -> dict[str, str]:
    pages: dict[str, str] = {}
    for page, text, _ in lines(folder / "shown"):
        if text is None:
            pages.pop(page, None)
        else:
            pages[page] = text
    return pages


def assert_answered_once(folder: Path, died_at: int | None, *, joins: bool = False) -> None:
    whole = f"{FIRST}\n\n{SECOND}\n\n{LAST}{JOINED.format(1) if joins else ''}"
    effects: list[str] = lines(folder / "effects")
    assert len(effects) == len(set(effects)), f"a call was repeated after a crash at step {died_at}"
    assert replies_in_store(folder) == [whole], f"crash at step {died_at}"
    assert list(visible_pages(folder).values()) == [whole], f"crash at step {died_at}"


def test_a_turn_that_is_not_disturbed_is_answered_once(tmp_path: Path) -> None:
    assert run(tmp_path, None) == 0
    assert_answered_once(tmp_path, None)
    assert sorted(lines(tmp_path / "effects")) == ["launch", "paint"]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("joins", [False, True], ids=["alone", "joined by another message"])
@pytest.mark.parametrize("first", range(1, SLICES + 1))
def test_a_turn_killed_at_any_step_ends_in_one_complete_reply(tmp_path: Path, first: int, *, joins: bool) -> None:
    for die_at in range(first, MOST_STEPS, SLICES):
        folder = tmp_path / str(die_at)
        folder.mkdir()
        exit_code = run(folder, die_at, joins=joins)
        if exit_code == 0:
            return  # the turn has fewer steps
        assert exit_code == -signal.SIGKILL
        assert run(folder, None, joins=joins) == 0
        assert_answered_once(folder, die_at, joins=joins)
    pytest.fail(f"the turn took more than {MOST_STEPS} steps")
