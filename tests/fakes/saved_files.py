"""The files that code saved, in memory. `gone`: messages and documents that were deleted meanwhile."""

from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from agent.memory.audience import NOWHERE, WIDE
from agent.ports.saved_files import FileChanges, SavedFile


@dataclass
class SavedFilesInMemory:
    """The port SavedFiles. `files`: the oldest first, each with who asked for it; `changes`: all that were saved."""

    files: list[tuple[str, str, SavedFile]] = field(default_factory=list[tuple[str, str, SavedFile]])
    changes: list[FileChanges] = field(default_factory=list[FileChanges])
    gone: set[int] = field(default_factory=set[int])
    _ids: "count[int]" = field(default_factory=lambda: count(1))

    async def readable(
        self,
        conversation: str,
        audiences: frozenset[str],
        person: str,
        now: datetime,  # noqa: ARG002 -- nothing is idle here
    ) -> list[SavedFile]:
        return [
            file
            for where, who, file in reversed(self.files)
            if where == conversation
            and file.audience in audiences
            and (file.drawn_from in {WIDE, *audiences} or who == person)
        ]

    async def save(self, changes: FileChanges, now: datetime) -> bool:  # noqa: ARG002 -- nothing is idle here
        self.changes.append(changes)
        messages = {source.message for source in changes.sources}
        if changes.drawn_from == NOWHERE or not self.gone.isdisjoint({*messages, *changes.documents}):
            return False
        await self.remove(changes.replaced)
        about = (changes.audience, changes.drawn_from, changes.sources, changes.documents, changes.call)
        self.files += [
            (changes.conversation, changes.person, SavedFile(next(self._ids), name, data, *about))
            for name, data in changes.written
        ]
        return True

    async def remove(self, ids: frozenset[int]) -> None:
        self.files = [each for each in self.files if each[2].id not in ids]

    @property
    def contents(self) -> dict[str, bytes]:
        return {file.name: file.data for _, _, file in self.files}
