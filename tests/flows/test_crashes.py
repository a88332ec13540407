"""`kill -9` at every step of a turn with two tools, then a restart: one complete reply, no call repeated.

The steps of an undisturbed turn, in their order:

     1  before the question is stored
     2  the question is stored
     3  the turn is claimed
     4  the model is asked
     5  a piece of the answer arrives
     6  a piece of the answer arrives
     7  a piece of the answer arrives
     8  a piece of the answer arrives
     9  before how far it got is saved
    10  how far it got is saved
    11  before the effect of paint
    12  after the effect of paint
    13  before how far it got is saved
    14  how far it got is saved
    15  the model is asked
    16  a piece of the answer arrives
    17  a piece of the answer arrives
    18  a piece of the answer arrives
    19  before how far it got is saved
    20  how far it got is saved
    21  before the effect of launch
    22  after the effect of launch
    23  before how far it got is saved
    24  how far it got is saved
    25  the model is asked
    26  a piece of the answer arrives
    27  a piece of the answer arrives
    28  a piece of the answer arrives
    29  before how far it got is saved
    30  how far it got is saved
    31  before the reply is stored
    32  the reply is stored

Besides, wherever they come as the answer grows: "before a frame is shown", "a frame is shown", "before which pages show
it is saved", "which pages show it is saved". With another message that waits, "before it is asked what else waits"
follows each tool, and the saving of what has joined.
"""

import asyncio
import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.stored_messages import Author
from store.engine import open_store
from tests.examples import thorough
from tests.fakes.new_database import new_database
from tests.fakes.ready_process import calling
from tests.flows.crash_process import FIRST, JOINED, LAST, SECOND, main
from tests.patience import PATIENCE_S

# Steps of the reply, which has a pace of its own.
AS_IT_GROWS = {
    "before a frame is shown",
    "a frame is shown",
    "before which pages show it is saved",
    "which pages show it is saved",
}
SLICES = 4  # The steps are shared out among this many tests, so that they run side by side
MOST_STEPS = 200  # Far above what the turn takes; a turn that took more would be a fault of its own


def run(folder: Path, die_at: int | None, *, joins: bool = False) -> int:
    return calling(main, folder, die_at, joins=joins).wait(PATIENCE_S)


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


def test_a_turn_that_is_not_disturbed_is_answered_once_in_the_steps_listed_above(tmp_path: Path) -> None:
    assert run(tmp_path, None) == 0
    assert_answered_once(tmp_path, None)
    assert lines(tmp_path / "effects") == ["paint", "launch"]
    (steps,) = lines(tmp_path / "steps")
    listed = re.findall(r"^ +\d+  (.+)$", __doc__ or "", re.MULTILINE)
    assert [step for step in steps if step not in AS_IT_GROWS] == listed
    assert set(steps) >= AS_IT_GROWS


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("first", "joins"),
    [  # `make test` kills each turn at every other step, one turn at those at which the other is not killed
        pytest.param(first, joins, marks=[] if joins == (first % 2 == 0) else thorough)
        for joins in (False, True)
        for first in range(1, SLICES + 1)
    ],
)
def test_a_turn_killed_at_any_step_ends_in_one_complete_reply(tmp_path: Path, first: int, *, joins: bool) -> None:
    for die_at in range(first, MOST_STEPS, SLICES):
        folder = tmp_path / str(die_at)
        folder.mkdir()
        asyncio.run(new_database(folder / "bot.db"))
        exit_code = run(folder, die_at, joins=joins)
        if exit_code == 0:
            return  # the turn has fewer steps
        assert exit_code == -signal.SIGKILL
        assert run(folder, None, joins=joins) == 0
        assert_answered_once(folder, die_at, joins=joins)
    pytest.fail(f"the turn took more than {MOST_STEPS} steps")
