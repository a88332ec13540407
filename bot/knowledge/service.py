"""The documents that people add to places: learned with `/learn`, shown and removed with `/knowledge`."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final
from urllib.parse import unquote, urlsplit

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.incoming import Attachment
from agent.memory.audience import Audience, GroupAudience, PersonAudience, Place, TeamAudience, audience_of, label
from agent.memory.documents import (
    MAX_CHARS,
    MAX_NAME_CHARS,
    MAX_PASSAGES,
    ON,
    SHARING,
    Document,
    DocumentPage,
    DocumentRefused,
    Documents,
    LinkedPage,
    NewDocument,
    Passage,
    passages_of,
)
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.preferences import Preferences
from agent.ports.tools import Asker
from agent.ports.unanswered import UnansweredQuestions
from agent.unanswered import QuestionGroup, grouped
from bot.chat.access.place_rules import place_owner
from bot.chat.attachments.kinds import shown_note
from bot.chat.attachments.reading import ReadDocument, ReadLink
from bot.chat.audiences import flowing
from bot.chat.panels import Panel
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, shortened, zone_of
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.answers import KnowledgeAnswer, ShownDocument
from bot.knowledge.unanswered import (
    DIGEST,
    DIGEST_OFF,
    MAX_QUESTIONS,
    MAX_TEXT,
    PERIOD,
    UNANSWERED,
    digest_choice,
    view_of,
)

PAGE: Final = 6  # Documents on a page: with their buttons they fit one message on every platform
SHOWN: Final = 3  # Passages shown of an opened document
SHOWN_CHARS: Final = 500
MAX_FILES: Final = 5  # Learned at once: reading each may take a minute
_NUMBERED: Final = re.compile(r"(show|open|remove|delete|page)\s+#?(\d{1,9})", re.IGNORECASE | re.ASCII)

# The longest address shown as a link: six longer ones may not fit one message. Others are shortened.
LINK_CHARS: Final = 200
ADDRESS_CHARS: Final = 80
FAULT_CHARS: Final = 120
FETCH_PAGES: Final = "linked_pages"  # The kind of the job

# Reads a whole file. Arguments: the file, the source of its message, and the person in whose fair turn it is read.
ReadFile = Callable[[Attachment, str, str], Awaitable[ReadDocument]]
# Reads a whole web page, unless it is the known version. Arguments: its address, that person, and the known document.
# Never raises.
ReadPage = Callable[[str, str, Document | None], Awaitable[ReadLink]]

TellAll = Callable[[str], Awaitable[None]]  # Posts to all who read a place. Raises Refused where that is impossible.


async def report_nothing(_: str) -> None:
    raise Refused(reply_texts.NOT_SAID_THERE)


def is_knowledge_request(words: str) -> bool:
    """Return whether these words are a request of `/knowledge`."""
    text = words.strip()
    return (
        text.casefold() in {"", "list", "show", UNANSWERED}
        or asks_to_share(words) is not None
        or digest_choice(words) is not None
        or bool(_NUMBERED.fullmatch(text))
    )


def asks_to_share(words: str) -> bool | None:
    """Return whether the words switch sharing of this place on or off; None: neither."""
    return {"share on": True, "share off": False}.get(" ".join(words.casefold().split()))


def _source_of(asker: Asker) -> str:
    """Return the source of the asker's messages: "slack:T0123", "discord"."""
    return asker.person.id.rpartition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeService:
    """Answers `/learn` and `/knowledge`.

    Rules
      A channel's managers add documents to it; in direct messages each full member adds their own. A document belongs
      to the audience of its place: everybody who may read there finds it there, and the team finds that of a public
      channel also in its other public channels, as with messages. Guests neither find nor see any document.
      A document is removed by the person who added it, or by a manager of its channel; a team's also by a manager of
      the team. The bytes are wiped before the removal is confirmed.
      A document's text was written by others: it is quoted to the model, and is never an instruction.
      Web pages are requested without signing in, and each request is checked by the web guard.
      Facts that people tell the bot in a public channel serve others of the team only if a manager of the channel
      switches that on (`agent.memory.documents.SHARING`), and only facts told from then on. It is announced to all who
      read there before it is switched on; it is switched off at once.
    """

    documents: Documents
    forgetting: Forgetting
    read: ReadFile
    clock: Clock
    preferences: Preferences
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """Returns the labels of the audiences that may be shown at a place."""
    operates: Callable[[str], bool] = lambda _: False
    read_page: ReadPage | None = None
    """None where the operator has not enabled web access."""
    questions: UnansweredQuestions | None = None
    """None where nothing is listed."""

    async def learn(
        self, asker: Asker, files: Sequence[Attachment], link: str = "", pages: Sequence[str] = ()
    ) -> Panel:
        """Add these files and web pages (addresses) to the place's documents. `link`: to the message that brought them.
        Raises StoreError.
        """
        if not self.may_learn(asker):
            return self._not_learning(asker)
        if not files and not pages:
            return Panel(knowledge_texts.NOTHING_TO_LEARN, refused=True)
        if not files and self.read_page is None:
            return Panel(knowledge_texts.NO_LINKS, refused=True)
        outcomes = [await self._learn_file(asker, file, link) for file in files[:MAX_FILES]]
        outcomes += [await self._learn_page(asker, page) for page in pages[: MAX_FILES - len(outcomes)]]
        if len(files) + len(pages) > MAX_FILES:
            outcomes.append((False, knowledge_texts.FIRST_FILES.format(most=MAX_FILES)))
        return Panel("\n".join(text for _, text in outcomes), refused=not any(done for done, _ in outcomes))

    async def unanswered(self, asker: Asker) -> Sequence[QuestionGroup]:
        """Return what was not answered in this channel, by subject. Raises Refused for those who may not see it, and
        StoreError.
        """
        view = view_of(asker, operates=self.operates(asker.person.id))
        since = self.clock.now() - PERIOD
        asked = () if self.questions is None else await self.questions.asked(view, since, MAX_QUESTIONS)
        return await asyncio.to_thread(grouped, asked)

    async def choose_digest(self, person: str, *, on: bool) -> Panel:
        """Switch the weekly message to this person on or off. Raises StoreError."""
        await self.preferences.set(person, DIGEST, None if on else DIGEST_OFF)
        return Panel(knowledge_texts.DIGEST_ON if on else knowledge_texts.DIGEST_OFF)

    async def teach(self, asker: Asker, title: str, text: str) -> Panel:
        """Add this text to the place's documents, as `learn` adds a file. Raises StoreError."""
        if not self.may_learn(asker):
            return self._not_learning(asker)
        if not title or not text:
            return Panel(knowledge_texts.TEACH_EMPTY, refused=True)
        if len(text) > MAX_TEXT:
            return Panel(knowledge_texts.TEACH_LONG.format(most=MAX_TEXT), refused=True)
        document = ReadDocument((DocumentPage(text),))
        is_stored, sentence = await self._store(asker, shown_note(title)[:MAX_NAME_CHARS] or "document", document, "")
        return Panel(sentence, refused=not is_stored)

    async def answer(self, asker: Asker, words: str, say: TellAll = report_nothing) -> KnowledgeAnswer:
        """Run `/knowledge` with these words. `say` posts to everyone in the place. Raises StoreError."""
        if self._is_outside(asker):
            return KnowledgeAnswer(knowledge_texts.NOT_FOR_GUESTS, refused=True)
        if (on := asks_to_share(words)) is not None:
            return await self._share(asker, say, on=on)
        numbered = _NUMBERED.fullmatch(words.strip())
        match numbered[1].casefold() if numbered else words.strip().casefold():
            case "" | "list" | "show" if numbered is None:
                return await self._list(asker, 1)
            case "page" if numbered is not None:
                return await self._list(asker, int(numbered[2]))
            case "show" | "open" if numbered is not None:
                return await self._open(asker, int(numbered[2]))
            case "remove" | "delete" if numbered is not None:
                return await self._remove(asker, int(numbered[2]))
            case _:
                return KnowledgeAnswer(knowledge_texts.KNOWLEDGE_USAGE, refused=True)

    async def _share(self, asker: Asker, say: TellAll, *, on: bool) -> KnowledgeAnswer:
        is_public = isinstance(asker.place.audience, TeamAudience)
        if not (asker.manages or self.operates(asker.person.id)):
            return KnowledgeAnswer(knowledge_texts.NOT_SHARING, refused=True)
        if not asker.channel or (on and not is_public):
            return KnowledgeAnswer(knowledge_texts.SHARED_IN_PUBLIC, refused=True)
        if on == await self._shares(asker):
            return KnowledgeAnswer(
                knowledge_texts.SHARES_ALREADY if on else knowledge_texts.SHARES_NOTHING, refused=True
            )
        name = literal(asker.person.name) or reply_texts.A_MANAGER
        announcement = (knowledge_texts.SHARING_ON if on else knowledge_texts.SHARING_OFF).format(who=name)
        # Off before it is announced, on after it: if the announcement fails nothing is shared without the channel's
        # knowledge.
        if not on:
            await self.preferences.set(place_owner(asker.channel), SHARING, None)
        try:
            await say(announcement)
        except Refused as refused:
            sentence = f"{knowledge_texts.SHARED_NO_MORE} {refused}"
            return KnowledgeAnswer(reply_texts.NOT_SWITCHED.format(why=refused) if on else sentence, refused=on)
        if on:
            await self.preferences.set(place_owner(asker.channel), SHARING, ON)
        return KnowledgeAnswer(knowledge_texts.SHARED_FROM_NOW if on else knowledge_texts.SHARED_NO_MORE, shares=on)

    async def _shares(self, asker: Asker) -> bool:
        return (await self.preferences.all_of(place_owner(asker.channel))).get(SHARING) == ON

    async def _learn_file(self, asker: Asker, file: Attachment, link: str) -> tuple[bool, str]:
        name = shown_note(file.name)[:MAX_NAME_CHARS] or "document"
        return await self._store(asker, name, await self.read(file, _source_of(asker), asker.person.id), link)

    async def _learn_page(self, asker: Asker, address: str) -> tuple[bool, str]:
        if self.read_page is None:
            return False, knowledge_texts.NO_LINKS
        read = await self.read_page(address, asker.person.id, None)
        page = LinkedPage(read.address, self.clock.now(), read.etag, read.modified, is_own=read.is_own)
        return await self._store(asker, page_name(read), read.document, read.link, page)

    async def _store(
        self, asker: Asker, name: str, read: ReadDocument, link: str, page: LinkedPage | None = None
    ) -> tuple[bool, str]:
        """Store a document; return whether it is stored, and the sentence about it."""
        shown_name, (passages, reason) = literal(name), await split_document(read)
        if not passages:
            if page is not None:  # the reason may contain text of the server
                shown_name, reason = literal(shortened(page.address, ADDRESS_CHARS)), literal(reason)
            return False, knowledge_texts.NOT_LEARNED.format(name=shown_name, why=reason)
        new = NewDocument(
            name=name,
            audience=label(asker.place.audience),
            source=_source_of(asker),
            channel=asker.channel,
            person=asker.person.id,
            time=self.clock.now(),
            passages=passages,
            link=link,
            pages=read.page_count,
            web=None if page is None else replace(page, digest=digest_of(name, passages)),
        )
        refused = await self.documents.keep(new)
        await self.forgetting.sweep()  # of the version before
        match refused:
            case DocumentRefused.MANY:
                return False, knowledge_texts.TOO_MANY_DOCUMENTS
            case DocumentRefused.LARGE:
                return False, knowledge_texts.NO_ROOM.format(name=shown_name)
            case None | DocumentRefused.GONE:
                pages = f"{counted(read.page_count, 'page', 'pages')}, " if read.page_count else ""
                size = f"{pages}{counted(len(passages), 'passage', 'passages')}"
                sentence = knowledge_texts.LEARNED.format(
                    name=shown_name, size=size, who=_readers(asker.place.audience)
                )
                return True, f"{sentence} {knowledge_texts.NOT_ALL_READ.format(why=read.why)}" if read.why else sentence

    async def _list(self, asker: Asker, page: int, notice: str = "") -> KnowledgeAnswer:
        documents = await self.documents.listed(await self.audiences(asker.place))
        is_public = isinstance(asker.place.audience, TeamAudience)
        shares = is_public and await self._shares(asker)
        switch = shares if is_public and (asker.manages or self.operates(asker.person.id)) else None
        notice = " ".join(filter(None, [notice, knowledge_texts.SHARES_HERE if shares else ""]))
        if not documents:
            nothing = knowledge_texts.NOTHING_KNOWN if self.may_learn(asker) else knowledge_texts.NOTHING_KNOWN_YET
            return KnowledgeAnswer(" ".join(filter(None, [notice, nothing])), shares=switch)
        pages = -(-len(documents) // PAGE)
        current = min(max(page, 1), pages)
        shown = tuple(self._describe(asker, document) for document in documents[(current - 1) * PAGE : current * PAGE])
        heading = knowledge_texts.KNOWN_HERE.format(many=counted(len(documents), "document", "documents"))
        return KnowledgeAnswer("\n\n".join(filter(None, [notice, heading])), shown, current, pages, shares=switch)

    async def _open(self, asker: Asker, id_: int) -> KnowledgeAnswer:
        opened = await self.documents.opened(id_, await self.audiences(asker.place), SHOWN)
        if opened is None:
            return KnowledgeAnswer(knowledge_texts.NO_SUCH_DOCUMENT.format(number=id_), refused=True)
        document, passages = opened
        excerpts = [f"> {literal(shortened(' '.join(passage.text.split()), SHOWN_CHARS))}" for passage in passages]
        text = "\n\n".join([knowledge_texts.BEGINS_SO, *excerpts])
        return KnowledgeAnswer(text, (self._describe(asker, document),))

    async def _remove(self, asker: Asker, id_: int) -> KnowledgeAnswer:
        documents = await self.documents.listed(await self.audiences(asker.place))
        document = next((candidate for candidate in documents if candidate.id == id_), None)
        if document is None:
            return KnowledgeAnswer(knowledge_texts.NO_SUCH_DOCUMENT.format(number=id_), refused=True)
        if not self._may_remove(asker, document):
            return KnowledgeAnswer(knowledge_texts.NOT_REMOVING, refused=True)
        await self.documents.remove(id_)
        wiped = await self.forgetting.sweep()
        sentence = knowledge_texts.DOCUMENT_REMOVED if wiped else knowledge_texts.DOCUMENT_REMOVED_LATER
        return await self._list(asker, 1, sentence.format(name=literal(document.name)))

    def _describe(self, asker: Asker, document: Document) -> ShownDocument:
        name, page = literal(document.name), document.web
        link = document.link if page is None or len(document.link) <= LINK_CHARS else ""
        title = f"[{name}]({link})" if link else name
        pages = counted(document.pages, "page", "pages") if document.pages else ""
        zone = zone_of(asker.person.time_zone)
        day = document.time.astimezone(zone).date().isoformat()
        address = "" if page is None else literal(shortened(page.address, ADDRESS_CHARS))
        learned = f"added {day} by {literal(document.by)}" if document.by else f"added {day}"
        if page is not None:
            learned = f"as of {day}, added by {literal(document.by)}" if document.by else f"as of {day}"
        fault = ""
        if page is not None and page.since is not None:
            since = page.since.astimezone(zone).date().isoformat()
            fault = knowledge_texts.UNREAD_SINCE.format(day=since, why=literal(shortened(page.fault, FAULT_CHARS)))
        details = ", ".join(filter(None, [address, pages, learned, _where(document.audience), fault]))
        return ShownDocument(document.id, f"**{document.id}** {title} ({details})", self._may_remove(asker, document))

    def may_learn(self, asker: Asker) -> bool:
        is_own_place = asker.place.audience == PersonAudience(asker.person.id)
        return (is_own_place and not self._is_outside(asker)) or asker.manages or self.operates(asker.person.id)

    def _not_learning(self, asker: Asker) -> Panel:
        text = knowledge_texts.NOT_FOR_GUESTS if self._is_outside(asker) else knowledge_texts.NOT_LEARNING
        return Panel(text, refused=True)

    def _is_outside(self, asker: Asker) -> bool:
        """Return whether they find no documents, not even their own."""
        return asker.authority < Authority.EMPLOYEE and not self.operates(asker.person.id)

    def _may_remove(self, asker: Asker, document: Document) -> bool:
        manages_channel = asker.manages and document.channel == asker.channel
        manages_team = asker.authority >= Authority.MANAGER and isinstance(audience_of(document.audience), TeamAudience)
        return manages_channel or manages_team or document.person == asker.person.id or self.operates(asker.person.id)


async def split_document(read: ReadDocument) -> tuple[list[Passage], str]:
    """Return the passages of a document, or none and the reason."""
    too_long = knowledge_texts.TOO_LONG_TO_LEARN.format(chars=f"{MAX_CHARS:,}")
    if sum(len(page.text) for page in read.pages) > MAX_CHARS:
        return [], too_long
    passages = await asyncio.to_thread(passages_of, read.pages)
    if len(passages) >= MAX_PASSAGES:
        return [], too_long
    return passages, "" if passages else read.why or knowledge_texts.EMPTY_FILE


def page_name(read: ReadLink) -> str:
    """Return a page's title; else the last part of its address."""
    split = urlsplit(read.link or read.address)
    last = unquote(split.path.rstrip("/").rpartition("/")[2])
    return shown_note(read.document.title or last or split.netloc)[:MAX_NAME_CHARS] or "page"


def digest_of(name: str, passages: Sequence[Passage]) -> str:
    """Return a digest of all that would be stored of a page; it differs between versions of the page."""
    digest = sha256(name.encode(errors="replace"))
    for passage in passages:
        digest.update(f"\0{passage.page}\0{passage.heading}\0{passage.text}".encode(errors="replace"))
    return digest.hexdigest()


def _readers(audience: Audience) -> str:
    match audience:
        case PersonAudience():
            return knowledge_texts.FOUND_BY_YOU
        case GroupAudience():
            return knowledge_texts.FOUND_HERE
        case TeamAudience():
            return knowledge_texts.FOUND_BY_TEAM


def _where(audience: str) -> str:
    match audience_of(audience):
        case PersonAudience():
            return "yours"
        case GroupAudience():
            return "in a private place"
        case TeamAudience():
            return "in a public channel"
