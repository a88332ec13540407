"""Adds an operator's files to the documents of a place (`cogency learn`), and keeps them up to date."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import sha256
from typing import Final

from agent.errors import Refused
from agent.incoming import Attachment
from agent.memory.audience import label
from agent.memory.documents import Document, DocumentPlace, DocumentRefused, Documents, NewDocument
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from bot.chat.attachments.reading import MAX_BYTES, Fetch
from bot.chat.texts.formatting import counted
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.folders import FoundFile, FoundFiles
from bot.knowledge.service import ReadFile, split_document

FILE_SOURCE: Final = "file"  # The source of a reader that reads the files of this machine
MAX_FILE_BYTES: Final = max(MAX_BYTES.values())
_PARTLY: Final = ":part"  # After the digest of a file of which only a part could be read: the next run tries again


class FileEnd(Enum):
    LEARNED = auto()
    UPDATED = auto()
    UNCHANGED = auto()
    REFUSED = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of a file, or of a document whose file is gone. `detail`: its size, or why it was refused."""

    name: str
    end: FileEnd
    detail: str = ""


@dataclass(slots=True)
class FolderLearner:
    """Stores files as documents of a place, by the rules of `/learn`.

    Rules
      A file whose content has the digest of the stored document is not read. A changed one replaces it, as soon as all
      of the new version is found. What is refused now keeps the version that was stored before.
      The readers of the place are asked for with each document, so that a channel that becomes private meanwhile gets
      private documents.
      Removed are only documents that this command added, from the folders of this run, whose files are gone. A folder
      that is empty, or not readable, removes nothing: it is more likely not mounted than meant.
    """

    documents: Documents
    forgetting: Forgetting
    fetch: Fetch
    read: ReadFile
    clock: Clock
    place: Callable[[], Awaitable[DocumentPlace | None]]
    """Returns where the documents belong now; None if nothing is stored of it any more."""
    _is_full: bool = field(default=False, init=False)

    async def learn(self, found: FoundFiles, *, remove_missing: bool = False) -> AsyncGenerator[FileOutcome]:
        """Yield what became of each file, in order. Raises Refused if the place is erased meanwhile, and StoreError."""
        known = await self._known()
        for name, reason in found.unread:
            yield FileOutcome(f"{name}/", FileEnd.REFUSED, knowledge_texts.FOLDER_UNREADABLE.format(reason=reason))
        try:
            for file in found.files:
                yield await self._learn(file, known.get(file.name))
            if remove_missing and found.files and not found.unread:
                names = {file.name for file in found.files}
                for name, document in known.items():
                    is_ours = bool(document.file_digest) and name.startswith(tuple(found.folders))
                    if is_ours and name not in names:
                        await self.documents.remove(document.id)
                        yield FileOutcome(name, FileEnd.REMOVED)
        finally:
            await self.forgetting.sweep()  # of the versions before

    async def _known(self) -> Mapping[str, Document]:
        place = await self._place_now()
        documents = await self.documents.listed(frozenset({label(place.audience)}))
        return {
            document.name: document
            for document in documents
            if document.channel == place.channel and document.web is None
        }

    async def _place_now(self) -> DocumentPlace:
        place = await self.place()
        if place is None:
            raise Refused(knowledge_texts.PLACE_GONE)
        return place

    async def _learn(self, file: FoundFile, known: Document | None) -> FileOutcome:
        if file.fault:
            return FileOutcome(file.name, FileEnd.REFUSED, file.fault)
        # A link that somebody has put in its place meanwhile may lead out of the folder.
        data = await self.fetch(str(file.path), MAX_FILE_BYTES + 1) if file.path.resolve() == file.path else None
        if data is None:
            return FileOutcome(file.name, FileEnd.REFUSED, knowledge_texts.FILE_UNREADABLE)
        digest, size = sha256(data).hexdigest(), len(data)
        if known is not None and known.file_digest == digest:
            return FileOutcome(file.name, FileEnd.UNCHANGED)
        if known is None and self._is_full:
            return FileOutcome(file.name, FileEnd.REFUSED, knowledge_texts.PLACE_FULL)
        del data  # it is fetched again, up to the limit of its kind
        attachment = Attachment(file.path.name, "", size, str(file.path))
        read = await self.read(attachment, FILE_SOURCE, "")
        passages, reason = await split_document(read)
        if not passages:
            return FileOutcome(file.name, FileEnd.REFUSED, reason)
        place = await self._place_now()
        new = NewDocument(
            name=file.name,
            audience=label(place.audience),
            source=place.source,
            channel=place.channel,
            person="",
            time=self.clock.now(),
            passages=passages,
            pages=read.page_count,
            file_digest=f"{digest}{_PARTLY}" if read.why else digest,
        )
        match await self.documents.keep(new):
            case DocumentRefused.MANY:
                self._is_full = True
                return FileOutcome(file.name, FileEnd.REFUSED, knowledge_texts.PLACE_FULL)
            case DocumentRefused.LARGE:
                return FileOutcome(file.name, FileEnd.REFUSED, knowledge_texts.PLACE_TOO_LARGE)
            case DocumentRefused.GONE:
                raise Refused(knowledge_texts.PLACE_GONE)
            case None:
                pages = f"{counted(read.page_count, 'page', 'pages')}, " if read.page_count else ""
                parts = [f"{pages}{counted(len(passages), 'passage', 'passages')}"]
                parts += [knowledge_texts.READ_IN_PART.format(why=read.why)] if read.why else []
                end = FileEnd.LEARNED if known is None else FileEnd.UPDATED
                return FileOutcome(file.name, end, "; ".join(parts))
