"""The files of a conversation for a run of code, and what the run leaves for later ones.

Rules
  An attached file is fetched again from its platform, in its original form. The platform reports at that moment what is
  attached to its message, and whether the asker can read there; so a file that was deleted, detached or forgotten is
  not given to the code. Neither is a file that an earlier run made from it, which is deleted with it.
  Only messages of this conversation that may be used in this reply are looked at, newest first. Of two files of one
  name the newer one keeps it.
  A file of an earlier run is given to those who may read all that it was made from, and to the asker who made it. Of
  others' files not even the names are told.
  What is not given has its reason, for the model.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, TypeAlias

from agent.errors import ToolError
from agent.memory.audience import (
    HERE,
    NOWHERE,
    WIDE,
    Audience,
    PersonAudience,
    audience_of,
    drawn_from,
    label,
    may_flow_from,
)
from agent.messages import Keep
from agent.ports.saved_files import FileChanges, FileSource, SavedFile, SavedFiles
from agent.ports.tools import ToolContext, ToolOutput
from agent.stored_messages import AttachedMessage
from bot.chat.attachments import kinds
from bot.chat.attachments.kinds import shown_note
from bot.chat.attachments.read_again import AttachedMessages, FoundFile, attached_now
from bot.chat.attachments.reading import AttachmentReader, FilesNow
from bot.python.engine import RunEnded, RunFile
from bot.python.sandbox_process import MAX_PATH

MAX_MESSAGES: Final = 10  # With files: each takes a call of the platform
MAX_KNOWN: Final = 50  # Messages with files among which those are found that saved files were made from
MAX_FILES: Final = 20
MAX_FILE_BYTES: Final = 20_000_000  # Of one file: what the bot reads of the largest kinds
FETCH_S: Final = 30.0  # For all of them
MAX_NAME_BYTES: Final = 200  # In UTF-8: file systems take 255, and a number may be added
TOO_MANY: Final = "the code gets only the newest files"
TOO_MUCH: Final = "the files are too large in total"
SOURCE_GONE: Final = "its source file was deleted"
NAME_TAKEN: Final = "a newer file has the same name"
UNCHECKED: Final = "the bot could not check whether its source file can still be read"

# What is attached to a message now, or why that is not known.
Lookup: TypeAlias = Sequence[FoundFile] | ToolError


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """`files`: attached ones; `earlier`: those of earlier runs, by their names in the folder of results. `sources`: the
    messages of both, and those that the latter were made from; `documents`: the ids of documents that they were made
    from. `audience`: who may read what is computed from them; None: only the asker. `left_out`: a line for each file
    that is not among them.
    """

    files: tuple[RunFile, ...] = ()
    sources: tuple[FileSource, ...] = ()
    audience: Audience | None = None
    left_out: tuple[str, ...] = ()
    earlier: Mapping[str, SavedFile] = field(default_factory=dict[str, SavedFile])
    documents: tuple[int, ...] = ()

    def saved_by(self, call: str) -> tuple[RunFile, ...]:
        """Return what an earlier run of this call has saved; () if it has not run before, or saved nothing."""
        return tuple(RunFile(name, file.data) for name, file in self.earlier.items() if call and file.call == call)

    @property
    def messages(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(source.message for source in self.sources))


@dataclass(frozen=True, slots=True)
class ConversationFiles:
    """`platforms`: returns what is attached to a message now, by the source of the message."""

    messages: AttachedMessages
    reader: AttachmentReader
    platforms: Mapping[str, FilesNow]
    saved: SavedFiles

    async def of(self, context: ToolContext, max_bytes: int) -> GivenFiles:
        """Return the files of the conversation of a question, `max_bytes` in all. Raises StoreError."""
        audiences = may_flow_from(context.place, context.readable)
        stored = await self.messages.attached_messages(
            context.person.id, context.conversation, audiences, limit=MAX_KNOWN
        )
        here = {message.id: message for message in stored if message.conversation == context.conversation}
        newest = [*here.values()][:MAX_MESSAGES]
        saved = await self.saved.readable(context.conversation, audiences, context.person.id, context.now)
        lookups = await self._look_up(newest, here, saved, context.person.id)
        earlier, stale = _checked(saved, lookups)
        removed = frozenset(file.id for file in saved if stale.get(file.name) == SOURCE_GONE)
        if removed:
            await self.saved.remove(removed)
        size = sum(len(file.data) for file in earlier.values())
        attached = await self._attached([lookups[message.id] for message in newest], max_bytes - size)
        sources = (*attached.sources, *chain.from_iterable(file.sources for file in earlier.values()))
        labels = {here[source.message].audience for source in attached.sources}
        labels |= {file.audience if file.drawn_from == WIDE else file.drawn_from for file in earlier.values()}
        return replace(
            attached,
            earlier=earlier,
            sources=sources,
            documents=tuple({document for file in earlier.values() for document in file.documents}),
            audience=_audience(labels, context),
            left_out=(*attached.left_out, *(f"{shown_note(name)}: {why}" for name, why in stale.items())),
        )

    async def save(self, context: ToolContext, given: GivenFiles, ended: RunEnded, labels: ToolOutput) -> bool:
        """Keep what a run left in its folder of results; `labels`: what it was made from. Return whether it was kept.

        Raises StoreError.
        """
        written = [(file.name, file.data) for file in ended.files if is_path(file.name)]
        gone = {*ended.removed, *(name for name, _ in written)}
        if not (written or given.earlier):
            return True
        reader = label(labels.audience or PersonAudience(context.person.id))
        made_from = reader if labels.keep is Keep.STORED else NOWHERE
        read = dict.fromkeys(id_ for id_ in (*labels.sources, *context.sources) if id_ not in given.messages)
        changes = FileChanges(
            context.conversation,
            context.person.id,
            label(context.place.audience),
            drawn_from([made_from, context.drawn_from], context.place),
            written,
            used=frozenset(file.id for file in given.earlier.values()),
            replaced=frozenset(file.id for name, file in given.earlier.items() if name in gone),
            sources=(FileSource(context.message, asked=True), *given.sources, *map(FileSource, read)),
            documents=(*labels.documents, *context.documents),
            call=name_of_call(context),
        )
        return await self.saved.save(changes, context.now) or not written

    async def _look_up(
        self,
        newest: Sequence[AttachedMessage],
        here: Mapping[int, AttachedMessage],
        saved: Sequence[SavedFile],
        person: str,
    ) -> Mapping[int, Lookup]:
        """Return what is attached now to the newest messages, and to those that saved files were made from."""
        needed = dict.fromkeys(source.message for file in saved for source in file.sources if source.attached)
        asked = {message.id: message for message in newest}
        older = [here[id_] for id_ in needed if id_ in here and id_ not in asked]
        asked |= {message.id: message for message in older[:MAX_MESSAGES]}
        found = await asyncio.gather(*(attached_now(self.platforms, message, person) for message in asked.values()))
        unknown = {id_: ToolError(UNCHECKED, ours=True) for id_ in needed}
        return {**unknown, **dict(zip(asked, found, strict=True))}

    async def _attached(self, lookups: Sequence[Lookup], max_bytes: int) -> GivenFiles:
        """Fetch the attached files of these messages."""
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
        by_message = dict[int, list[str]]()
        for file in given:
            by_message.setdefault(file.message.id, []).append(file.file.name)
        return GivenFiles(
            tuple(map(RunFile, names, contents)),
            tuple(FileSource(id_, attached=tuple(attached)) for id_, attached in by_message.items()),
            left_out=tuple(dict.fromkeys(left_out)),
        )


def name_of_call(context: ToolContext) -> str:
    """Return the name of a call among all of the bot, "" outside of a turn."""
    return f"{context.turn}:{context.call}" if context.turn and context.call else ""


def _line(file: FoundFile, reason: str) -> str:
    return f"{shown_note(file.file.name)}: {reason}"


def _checked(
    saved: Sequence[SavedFile], lookups: Mapping[int, Lookup]
) -> tuple[Mapping[str, SavedFile], Mapping[str, str]]:
    """Return the saved files that can be given, by name, and why others cannot. `saved`: the newest first."""
    given, left_out = dict[str, SavedFile](), dict[str, str]()
    folders = set[str]()
    for file in saved:
        why = next((why for source in file.sources if (why := _problem(source, lookups))), "")
        parents = _folders(file.name)
        if not why and (file.name in given or file.name in folders or not parents.isdisjoint(given)):
            why = NAME_TAKEN
        if why:
            left_out[file.name] = why
            continue
        given[file.name] = file
        folders |= parents
    return given, left_out


def _problem(source: FileSource, lookups: Mapping[int, Lookup]) -> str:
    """Return why a file may not be given that was made from this message; "" if it may."""
    if not source.attached:
        return ""
    found = lookups[source.message]
    if isinstance(found, ToolError):
        return str(found)
    return "" if {*source.attached} <= {file.file.name for file in found} else SOURCE_GONE


def _folders(name: str) -> set[str]:
    parts = name[:MAX_PATH].split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


def _audience(labels: Collection[str], context: ToolContext) -> Audience | None:
    """Return who may read what is computed from files for these readers. Of several places only the asker surely reads
    all.
    """
    if len(labels) > 1 or not {HERE, NOWHERE}.isdisjoint(labels):
        return None
    return next(map(audience_of, labels), context.place.audience)


def is_path(name: str) -> bool:
    """Return whether a name that came out of the sandbox is a path below its folder of results. Pure."""
    parts = name.split("/")
    return len(name) <= MAX_PATH and "\0" not in name and not {"", ".", ".."} & {*parts}


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
