"""The film of `cogency chat` at a terminal: something is noted, found again in another thread, and forgotten.

The home of its person is a folder that is made for it; its name, another each time, is told as `~`. The
film begins at the first prompt.
"""

import asyncio
from pathlib import Path
from typing import Final

from tests.fakes.model_server import ModelServer, Reply, Request
from tests.fakes.terminal import FakeTerminal
from tests.films.recording import SETTINGS, TYPED_CHARS, TYPES_S, Pace, given
from tests.films.terminal_pages import Cast
from tests.flows.test_service import by_model, environment

WIDTH, HEIGHT = 84, 27
FACT: Final = "my boat is vermilion"
QUESTION: Final = "what colour is my boat?"
NOTES: Final = f'<execute>[{{"name": "remember", "args": {{"text": "{FACT}"}}}}]</execute>'
LOOKS_UP: Final = '<execute>[{"name": "recall", "args": {"query": "boat"}}]</execute>'
NOTED: Final = "I have made a note of it."
KNOWS: Final = "Your boat is **vermilion**: you told me in an earlier thread."
KNOWS_NOTHING: Final = "I do not know: I find nothing about a boat of yours."
PROGRAM: Final = "import os; os.chdir({folder!r}); from bot.__main__ import run; raise SystemExit(run(['chat']))"


def answer(texts: list[str]) -> str:
    """The words of the model, by what it is given alone."""
    if FACT in texts[-1] and QUESTION not in texts[-1] and "recall" not in texts[-1]:
        return NOTED if texts[-1].startswith("<results>") else NOTES
    if not texts[-1].startswith("<results>"):
        return LOOKS_UP
    return KNOWS if FACT in texts[-1] else KNOWS_NOTHING


async def record(folder: Path, pace: Pace) -> Cast:
    """The same question, before and after everything is forgotten."""

    def write(request: Request) -> Reply:
        return pace.writing(answer(given(request)))

    async with ModelServer(write) as model:
        settings = {**SETTINGS, **by_model(model), "COGENCY_DATABASE_URL": "sqlite:///memory.db", "USER": "ann"}
        return await asyncio.to_thread(_act, folder, pace, settings)


def _act(folder: Path, pace: Pace, settings: dict[str, str]) -> Cast:
    program = PROGRAM.format(folder=str(folder))
    with FakeTerminal(program, WIDTH, HEIGHT, **environment(folder, settings)) as terminal:

        def say(words: str, *answered: str, reads_s: float = 1.0) -> None:
            for at in range(0, len(words), TYPED_CHARS):
                terminal.type(words[at : at + TYPED_CHARS])
                terminal.watch(TYPES_S / pace.speed)
            terminal.watch(0.4 / pace.speed)
            terminal.type("\r")
            for one in (*answered, "\n>"):
                terminal.until(one)
            terminal.watch(reads_s / pace.speed)

        terminal.until("\n>")
        began_s = terminal.pieces[-1][0]
        terminal.watch(0.8 / pace.speed)
        say(f"remember that {FACT}", NOTED, "To undo this", reads_s=1.4)
        say("/new", "Started a new thread.", reads_s=0.6)
        say(QUESTION, "earlier thread.", reads_s=1.6)
        say("/forget everything", "Keep everything", reads_s=2.0)
        say("yes", "Forgotten: ", reads_s=3.0)
        say(QUESTION, "of yours.")
        pieces = [(at_s, written.replace(str(folder), "~")) for at_s, written in terminal.pieces]
    return Cast(WIDTH, HEIGHT, tuple((max(0.0, at_s - began_s), written) for at_s, written in pieces))
