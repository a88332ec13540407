"""One process that answers two questions by code that keeps a file, and kills itself around the saving of the second.

Above: `test_code_crashes`.
"""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from agent.machine import CLOCK
from agent.messages import Message
from agent.ports.saved_files import FileChanges, SavedFile, SavedFiles
from agent.providers.scripted import Answer, ScriptedProvider
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.python.conversation_files import ConversationFiles
from bot.python.engine import RunLimits
from bot.python.tool import PythonTool
from store.engine import open_store
from tests.fakes.cpython_engine import CPythonEngine
from tests.fakes.incoming import said
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

BEGIN = 'open("/out/log.txt", "w").write("one ")\nNone'
APPEND = 'open("/out/log.txt", "a").write("two ")\nprint(open("/out/log.txt").read())'


PRINTED, RAN_BEFORE = "It printed the log.", "It had run before."


@dataclass
class DyingFiles:
    """The store's files. `dies`: "before" or "after" the second question's file is saved, or not at all ("")."""

    inner: SavedFiles
    dies: str
    saves: int = field(default=0)

    async def readable(
        self, conversation: str, audiences: frozenset[str], person: str, now: datetime
    ) -> list[SavedFile]:
        return await self.inner.readable(conversation, audiences, person, now)

    async def save(self, changes: FileChanges, now: datetime) -> bool:
        is_second = any(b"two" in data for _, data in changes.written)
        self._die(is_second=is_second and self.dies == "before")
        is_kept = await self.inner.save(changes, now)
        self._die(is_second=is_second and self.dies == "after")
        return is_kept

    async def remove(self, ids: frozenset[int]) -> None:
        await self.inner.remove(ids)

    def _die(self, *, is_second: bool) -> None:
        if is_second:
            os.kill(os.getpid(), signal.SIGKILL)


async def nothing_attached(*_: object) -> None:
    return None


def script(messages: Sequence[Message]) -> Answer:
    """Run the code of the newest question once, then say what came of it."""
    result = messages[-1].text
    if result.startswith("<results>"):
        return [RAN_BEFORE if "finished before the bot restarted" in result else PRINTED]
    code = APPEND if "append" in messages[-1].text else BEGIN
    return [f"<execute>{json.dumps([{'name': 'python', 'args': {'code': code}}])}\n</execute>"]


async def live(folder: Path, dies: str) -> None:
    """Take both questions in (again, after a crash), and answer until nothing is left."""
    store = await open_store(f"sqlite:///{folder / 'bot.db'}")
    files = ConversationFiles(
        store.conversations, AttachmentReader({}), {"test": nothing_attached}, DyingFiles(store.saved_files, dies)
    )
    tool, surface = PythonTool(CPythonEngine(), files, RunLimits()), FakeSurface(CLOCK)
    runner = runner_on(store, ScriptedProvider(script), CLOCK, tool)
    turns = TurnWorker(
        store.ledger,
        runner,
        lambda _: surface,
        store.notifier,
        CLOCK,
        owner=f"process {os.getpid()}",
        limits=TurnWorkerLimits(sweep_s=0.2),
    )
    await store.ledger.release_all()
    await turns.submit(said("begin the log", conversation="c", number=1))
    await turns.submit(said("append to it", conversation="c", number=2))
    async with turns.serving(), asyncio.timeout(PATIENCE_S):
        await turns.idle()
    await store.close()


def main(folder: Path, dies: str) -> None:
    asyncio.run(live(folder, dies))
