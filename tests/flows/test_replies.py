"""Message in → frames seen, through the whole bot: what is shown at the end is what the model said."""

import asyncio
from pathlib import Path

import pytest

from agent.events import Outcome
from agent.ports.model import ProviderEvent
from agent.providers.scripted import ScriptedProvider, ScriptPause
from bot.chat.reply.surface import Limits
from tests.fakes.answers import answer_of
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.reader import fences_are_balanced, read_back
from tests.fakes.surface import FakeSurface
from tests.flows.bot import live_bot

LIMIT = 2_000
PIECE_CHARS = 24  # A few tokens, as models send them
PIECES_PER_SECOND = 40  # So a long answer takes many edits
PROTOCOL = ("<think", "<workspace", "<execute", "<results", "<summary", '"objective"', '"secure"')

THINKING = "<think>They want a long answer.</think>\n"
WORKSPACE = (
    '<workspace>{"objective": "Answer", "understanding": "", "approach": "", "discoveries": "", "secure": true}'
    "</workspace>\n"
)
CALL = '<execute>[{"name": "recall", "args": {"query": "boat"}}]\n</execute>'
SUMMARY = '<summary>{"goal": "a long answer"}</summary>'


def streamed(text: str) -> list[str | ProviderEvent | ScriptPause]:
    pieces = [text[start : start + PIECE_CHARS] for start in range(0, len(text), PIECE_CHARS)]
    return [part for piece in pieces for part in (piece, ScriptPause(1 / PIECES_PER_SECOND))]


async def answered(folder: Path, text: str) -> tuple[FakeSurface, str]:
    """A turn with a tool call and every kind of block around this answer: its surface, and the stored reply."""
    clock = FakeClock(auto=False)
    surface = FakeSurface(clock, Limits(page_chars=LIMIT, edit_interval_s=1.2, announce_final=False))
    script = [streamed(THINKING + WORKSPACE + CALL), streamed(WORKSPACE + text)]
    model = ScriptedProvider(script, sleep=clock.sleep)
    async with asyncio.timeout(60), live_bot(folder, model, lambda _: surface, clock) as bot:
        asking = asyncio.create_task(bot.turns.ask(said("Tell me everything.", conversation="c")))
        while not asking.done():
            await clock.advance(0.1)
            await asyncio.wait({asking}, timeout=0.002)
        assert asking.result() is Outcome.ANSWERED
        history = await bot.store.conversations.history("c", before_turn=1_000, limit=10)
    return surface, history[-1].text


@pytest.mark.parametrize("chars", [10, 3_000, 15_000])
async def test_what_is_shown_is_what_the_model_said(tmp_path: Path, chars: int) -> None:
    text = answer_of(chars)
    surface, stored = await answered(tmp_path, text)
    assert stored.strip() == text.strip()
    assert read_back(surface.shown, LIMIT).strip() == text.strip()


@pytest.mark.parametrize("chars", [3_000, 15_000])
async def test_a_long_answer_is_seen_growing_and_no_frame_shows_protocol_or_an_open_fence(
    tmp_path: Path, chars: int
) -> None:
    surface, _ = await answered(tmp_path, answer_of(chars))
    assert len(surface.frames) >= 4
    for frame in surface.frames:
        assert not any(tag in frame.text for tag in PROTOCOL)
        assert frame.final or fences_are_balanced(frame.text, LIMIT)
        assert len(frame.text) <= LIMIT


async def test_a_summary_behind_the_answer_is_never_seen(tmp_path: Path) -> None:
    surface, stored = await answered(tmp_path, "All is well.\n" + SUMMARY)
    assert stored.strip() == "All is well."
    assert not any("summary" in frame.text for frame in surface.frames)


async def test_a_short_answer_needs_no_edit(tmp_path: Path) -> None:
    surface, _ = await answered(tmp_path, answer_of(10))
    assert sum(not frame.posted for frame in surface.frames) == 0
