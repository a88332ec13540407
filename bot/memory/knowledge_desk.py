"""What places know: documents that people hand in, shown and removed; `/learn` and `/knowledge` on every platform."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agent.admission_terms import Authority
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, audience_of, label
from agent.memory.documents import (
    MAX_CHARS,
    MAX_NAME_CHARS,
    MAX_PASSAGES,
    Document,
    DocumentRefused,
    Documents,
    NewDocument,
    passages_of,
)
from agent.ports import Clock, Forgetting
from agent.records import Attachment
from bot.attachments.kinds import shown_note
from bot.attachments.reading import ReadDocument
from bot.host import KnowledgeAnswer, KnowledgeAsker, ShownDocument
from bot.memory.desk import flowing
from bot.texts import memory_texts
from bot.texts.formatting import counted, literal, shortened, zone_of

PAGE: Final = 6
"""Documents on a page: with their buttons they fit one message on every platform."""
SHOWN: Final = 3
"""Passages of a document that is opened."""
SHOWN_CHARS: Final = 500
MAX_FILES: Final = 5
"""Learned at once: each may take a minute to be read."""
_NUMBERED: Final = re.compile(r"(show|open|remove|delete|page)\s+#?(\d{1,9})", re.IGNORECASE | re.ASCII)

ReadFile = Callable[[Attachment, str, str], Awaitable[ReadDocument]]
"""All of a file, by the source of its message and the person whose turn it is to have files read."""


def is_knowledge_request(words: str) -> bool:
    """Whether these words are understood behind `/knowledge`."""
    return words.strip().casefold() in {"", "list", "show"} or _NUMBERED.fullmatch(words.strip()) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeDesk:
    """Rules
    Who manages a channel has it learn; in direct messages everybody has their own. What is learned belongs to the
    audience of that place: everybody who may read there finds it there, and in a public channel the team in its other
    public channels, as with what is said. Guests neither find nor see any of it.
    Who manages the channel where a document was handed in removes it, or who handed it in; of a team's also its
    managers. Removed is removed: the bytes are wiped before that is said.
    A document is somebody else's words: what it says is quoted to the model, and commands nothing.
    """

    documents: Documents
    forgetting: Forgetting
    read: ReadFile
    clock: Clock
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """What may be shown at a place."""
    operates: Callable[[str], bool] = lambda _: False

    async def learn(self, asker: KnowledgeAsker, files: Sequence[Attachment], link: str = "") -> KnowledgeAnswer:
        if not self._decides(asker):
            return KnowledgeAnswer(memory_texts.NOT_LEARNING, refused=True)
        if not files:
            return KnowledgeAnswer(memory_texts.NOTHING_TO_LEARN, refused=True)
        told = [await self._learned(asker, file, link) for file in files[:MAX_FILES]]
        if len(files) > MAX_FILES:
            told.append((False, memory_texts.FIRST_FILES.format(most=MAX_FILES)))
        return KnowledgeAnswer("\n".join(said for _, said in told), refused=not any(done for done, _ in told))

    async def answer(self, asker: KnowledgeAsker, words: str) -> KnowledgeAnswer:
        if asker.authority < Authority.EMPLOYEE and not self.operates(asker.person.id):
            return KnowledgeAnswer(memory_texts.NOT_FOR_GUESTS, refused=True)
        asked = _NUMBERED.fullmatch(words.strip())
        match asked[1].casefold() if asked else words.strip().casefold():
            case "" | "list" | "show" if asked is None:
                return await self._listed(asker, 1)
            case "page" if asked is not None:
                return await self._listed(asker, int(asked[2]))
            case "show" | "open" if asked is not None:
                return await self._opened(asker, int(asked[2]))
            case "remove" | "delete" if asked is not None:
                return await self._removed(asker, int(asked[2]))
            case _:
                return KnowledgeAnswer(memory_texts.KNOWLEDGE_USAGE, refused=True)

    async def _learned(self, asker: KnowledgeAsker, file: Attachment, link: str) -> tuple[bool, str]:
        """Whether it is known now, and the sentence about it."""
        name = shown_note(file.name)[:MAX_NAME_CHARS] or "document"
        said = literal(name)
        read = await self.read(file, asker.source, asker.person.id)
        if sum(len(page.text) for page in read.pages) > MAX_CHARS:
            return False, memory_texts.TOO_LONG_TO_LEARN.format(name=said, chars=f"{MAX_CHARS:,}")
        passages = await asyncio.to_thread(passages_of, read.pages)
        if not passages:
            return False, memory_texts.NOT_LEARNED.format(name=said, why=read.why or memory_texts.EMPTY_FILE)
        if len(passages) >= MAX_PASSAGES:
            return False, memory_texts.TOO_LONG_TO_LEARN.format(name=said, chars=f"{MAX_CHARS:,}")
        new = NewDocument(
            name=name,
            audience=label(asker.place.audience),
            source=asker.source,
            channel=asker.channel,
            person=asker.person.id,
            time=self.clock.now(),
            passages=passages,
            link=link,
            pages=read.of,
        )
        refused = await self.documents.keep(new)
        await self.forgetting.sweep()  # of the version before
        match refused:
            case DocumentRefused.MANY:
                return False, memory_texts.TOO_MANY_DOCUMENTS
            case DocumentRefused.LARGE:
                return False, memory_texts.NO_ROOM.format(name=said)
            case None:
                pages = f"{counted(read.of, 'page', 'pages')}, " if read.of else ""
                size = f"{pages}{counted(len(passages), 'passage', 'passages')}"
                done = memory_texts.LEARNED.format(name=said, size=size, who=_readers(asker.place.audience))
                return True, f"{done} {memory_texts.NOT_ALL_READ.format(why=read.why)}" if read.why else done

    async def _listed(self, asker: KnowledgeAsker, page: int, before: str = "") -> KnowledgeAnswer:
        known = await self.documents.listed(await self.audiences(asker.place))
        if not known:
            nothing = memory_texts.NOTHING_KNOWN if self._decides(asker) else memory_texts.NOTHING_KNOWN_YET
            return KnowledgeAnswer(" ".join(filter(None, [before, nothing])))
        pages = -(-len(known) // PAGE)
        here = min(max(page, 1), pages)
        shown = tuple(self._shown(asker, one) for one in known[(here - 1) * PAGE : here * PAGE])
        heading = memory_texts.KNOWN_HERE.format(many=counted(len(known), "document", "documents"))
        return KnowledgeAnswer("\n\n".join(filter(None, [before, heading])), shown, here, pages)

    async def _opened(self, asker: KnowledgeAsker, id_: int) -> KnowledgeAnswer:
        found = await self.documents.opened(id_, await self.audiences(asker.place), SHOWN)
        if found is None:
            return KnowledgeAnswer(memory_texts.NO_SUCH_DOCUMENT.format(number=id_), refused=True)
        document, first = found
        begins = [f"> {literal(shortened(' '.join(one.text.split()), SHOWN_CHARS))}" for one in first]
        text = "\n\n".join([memory_texts.BEGINS_SO, *begins])
        return KnowledgeAnswer(text, (self._shown(asker, document),))

    async def _removed(self, asker: KnowledgeAsker, id_: int) -> KnowledgeAnswer:
        known = await self.documents.listed(await self.audiences(asker.place))
        document = next((one for one in known if one.id == id_), None)
        if document is None:
            return KnowledgeAnswer(memory_texts.NO_SUCH_DOCUMENT.format(number=id_), refused=True)
        if not self._may_remove(asker, document):
            return KnowledgeAnswer(memory_texts.NOT_REMOVING, refused=True)
        await self.documents.remove(id_)
        wiped = await self.forgetting.sweep()
        done = memory_texts.DOCUMENT_REMOVED if wiped else memory_texts.DOCUMENT_REMOVED_LATER
        return await self._listed(asker, 1, done.format(name=literal(document.name)))

    def _shown(self, asker: KnowledgeAsker, document: Document) -> ShownDocument:
        name = literal(document.name)
        named = f"[{name}]({document.link})" if document.link else name
        pages = counted(document.pages, "page", "pages") if document.pages else ""
        day = document.time.astimezone(zone_of(asker.person.time_zone)).date().isoformat()
        learned = f"learned {day} by {literal(document.by)}" if document.by else f"learned {day}"
        about = ", ".join(filter(None, [pages, learned, _where(document.audience)]))
        return ShownDocument(document.id, f"**{document.id}** {named} ({about})", self._may_remove(asker, document))

    def _decides(self, asker: KnowledgeAsker) -> bool:
        own = asker.place.audience == PersonAudience(asker.person.id)
        return own or asker.manages or self.operates(asker.person.id)

    def _may_remove(self, asker: KnowledgeAsker, document: Document) -> bool:
        here = asker.manages and document.channel == asker.channel
        of_team = asker.authority >= Authority.MANAGER and isinstance(audience_of(document.audience), TeamAudience)
        return here or of_team or document.person == asker.person.id or self.operates(asker.person.id)


def _readers(audience: PersonAudience | GroupAudience | TeamAudience) -> str:
    match audience:
        case PersonAudience():
            return memory_texts.FOUND_BY_YOU
        case GroupAudience():
            return memory_texts.FOUND_HERE
        case TeamAudience():
            return memory_texts.FOUND_BY_TEAM


def _where(audience: str) -> str:
    match audience_of(audience):
        case PersonAudience():
            return "yours"
        case GroupAudience():
            return "of a private place"
        case TeamAudience():
            return "of a public channel"
