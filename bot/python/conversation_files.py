"""The files of a conversation for a run of code, in their original form.

Rules
  A file is fetched again from its platform, which reports at that moment what is attached to its message, and whether
  the asker can read there; so a file that was deleted, detached or forgotten is not given to the code.
  Only messages of this conversation that may be used in this reply are looked at, newest first. Of two files of one
  name the newer one keeps it.
  What is not given has its reason, for the model.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.errors import ToolError
from agent.memory.audience import Audience, audience_of, may_flow_from
from agent.ports.tools import ToolContext
from bot.chat.attachments import kinds
from bot.chat.attachments.kinds import shown_note
from bot.chat.attachments.read_again import AttachedMessages, FoundFile, attached_now
from bot.chat.attachments.reading import AttachmentReader, FilesNow
from bot.python.engine import RunFile

MAX_MESSAGES: Final = 10  # With files: each takes a call of the platform
MAX_FILES: Final = 20
MAX_FILE_BYTES: Final = 20_000_000  # Of one file: what the bot reads of the largest kinds
FETCH_S: Final = 30.0  # For all of them
MAX_NAME_BYTES: Final = 200  # In UTF-8: file systems take 255, and a number may be added
TOO_MANY: Final = "only the newest files are given to the code"
TOO_MUCH: Final = "together the files are too large"


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """`sources`: the ids of the messages of the files; `audience`: who may read what is computed from them; None: only
    the asker. `left_out`: a line for each file that is not among them.
    """

    files: tuple[RunFile, ...] = ()
    sources: tuple[int, ...] = ()
    audience: Audience | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """`platforms`: returns what is attached to a message now, by the source of the message."""

    messages: AttachedMessages
    reader: AttachmentReader
    platforms: Mapping[str, FilesNow]

    async def of(self, context: ToolContext, max_bytes: int) -> GivenFiles:
        """Return the files of the conversation of a question, `max_bytes` in all. Raises StoreError."""
        audiences = may_flow_from(context.place, context.readable_groups)
        stored = await self.messages.attached_messages(
            context.person.id, context.conversation, audiences, limit=MAX_MESSAGES
        )
        here = [message for message in stored if message.conversation == context.conversation]
        if not here:
            return GivenFiles(audience=context.place.audience)
        lookups = await asyncio.gather(*(attached_now(self.platforms, message, context.person.id) for message in here))
        left_out = [str(found) for found in lookups if isinstance(found, ToolError)]
        found = [file for files in lookups if not isinstance(files, ToolError) for file in files]
        left_out += [_line(file, TOO_MANY) for file in found[MAX_FILES:]]
        given, contents = list[FoundFile](), list[bytes]()
        try:
            async with asyncio.timeout(FETCH_S):
                for file in found[:MAX_FILES]:
                    data = await self.reader.original(file.file, file.source, MAX_FILE_BYTES)
                    if isinstance(data, str):
                        left_out.append(_line(file, data))
                    elif len(data) > max_bytes - sum(map(len, contents)):
                        left_out.append(_line(file, TOO_MUCH))
                    else:
                        given.append(file)
                        contents.append(data)
        except TimeoutError:
            left_out += [_line(file, kinds.LATE) for file in found[:MAX_FILES] if file not in given]
        names = file_names([file.file.name for file in given])
        return GivenFiles(
            tuple(map(RunFile, names, contents)),
            tuple(dict.fromkeys(file.message.id for file in given)),
            _audience(given, context),
            tuple(dict.fromkeys(left_out)),
        )


def _line(file: FoundFile, reason: str) -> str:
    return f"{shown_note(file.file.name)}: {reason}"


def _audience(files: Sequence[FoundFile], context: ToolContext) -> Audience | None:
    """Return who may read what is computed from these files. Of several places only the asker surely reads all."""
    labels = {file.message.audience for file in files}
    if len(labels) > 1:
        return None
    return audience_of(labels.pop()) if labels else context.place.audience


def file_names(names: Sequence[str]) -> list[str]:
    """Return a unique file name for each name that people gave, without folders. Pure."""
    taken, unique = set[str](), list[str]()
    for name in names:
        bare = shown_note(name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
        stem, dot, ending = bare.rpartition(".")
        stem, ending = (stem, f".{ending}") if dot and stem else (bare, "")
        ending = _cut(ending, MAX_NAME_BYTES // 4)
        stem = _cut(stem, MAX_NAME_BYTES - len(ending.encode()))
        candidates = (f"{stem}{ending}" if number == 1 else f"{stem} ({number}){ending}" for number in range(1, 1_000))
        free = next(candidate for candidate in candidates if candidate.casefold() not in taken)
        taken.add(free.casefold())
        unique.append(free)
    return unique


def _cut(text: str, limit: int) -> str:
    return text.encode(errors="replace")[:limit].decode(errors="ignore")
