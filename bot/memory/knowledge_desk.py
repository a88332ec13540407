"""What places know: documents that people hand in, shown and removed; `/learn` and `/knowledge` on every platform.

Pages of the web are looked at again, each about once a day, by a job that one process at a time does.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from typing import Final
from urllib.parse import unquote, urlsplit

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, audience_of, label
from agent.memory.documents import (
    MAX_CHARS,
    MAX_NAME_CHARS,
    MAX_PASSAGES,
    ON,
    SHARING,
    Document,
    DocumentRefused,
    Documents,
    LinkedPage,
    NewDocument,
    Passage,
    passages_of,
)
from agent.ports import Clock, Forgetting, Jobs, Preferences
from agent.records import Attachment, Job
from bot.attachments.kinds import shown_note
from bot.attachments.reading import ReadDocument, ReadLink
from bot.host import KnowledgeAnswer, PlaceAsker, ShownDocument
from bot.memory.desk import flowing
from bot.memory.learning import owner_of
from bot.scheduler import Handler
from bot.texts import memory_texts
from bot.texts.formatting import counted, literal, shortened, zone_of

PAGE: Final = 6  # Documents on a page: with their buttons they fit one message on every platform
SHOWN: Final = 3  # Passages of a document that is opened
SHOWN_CHARS: Final = 500
MAX_FILES: Final = 5  # Learned at once: each may take a minute to be read
_NUMBERED: Final = re.compile(r"(show|open|remove|delete|page)\s+#?(\d{1,9})", re.IGNORECASE | re.ASCII)

# Of an address that is shown as a link: six longer ones may not fit one message. Of others the beginning is shown.
LINK_CHARS: Final = 200
ADDRESS_CHARS: Final = 80
FAULT_CHARS: Final = 120
LOOKS: Final = "linked_pages"  # The kind of the job
# How often pages that are due are looked at: a few each time, so that they are spread over the day.
LOOKS_EACH: Final = timedelta(minutes=10)
LOOKS_MOST: Final = 12  # At each of those times; 1,700 in a day. Of more, each is looked at less often than once a day.
LOOK_PAUSE_S: Final = 1.0  # Between two pages, so that no site is asked for many of its own at once

# All of a file, by the source of its message and the person whose turn it is to have files read.
ReadFile = Callable[[Attachment, str, str], Awaitable[ReadDocument]]
# All of a page of the web, by its address and that person, unless it is the version that is known. It never raises.
ReadPage = Callable[[str, str, Document | None], Awaitable[ReadLink]]

TellAll = Callable[[str], Awaitable[None]]  # Says something to all who read a place. Raises Refused where it cannot.


async def untold(_: str) -> None:
    raise Refused(memory_texts.NOT_SAID_THERE)


log = logging.getLogger(__name__)


def is_knowledge_request(words: str) -> bool:
    """Whether these words are understood behind `/knowledge`."""
    meant = words.strip()
    return (
        meant.casefold() in {"", "list", "show"} or asks_to_share(words) is not None or bool(_NUMBERED.fullmatch(meant))
    )


def asks_to_share(words: str) -> bool | None:
    """Whether they ask for what is told in this place to serve others, or no longer; None: neither."""
    return {"share on": True, "share off": False}.get(" ".join(words.casefold().split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeDesk:
    """Rules
    Who manages a channel has it learn; in direct messages everybody has their own. What is learned belongs to the
    audience of that place: everybody who may read there finds it there, and in a public channel the team in its other
    public channels, as with what is said. Guests neither find nor see any of it.
    Who manages the channel where a document was handed in removes it, or who handed it in; of a team's also its
    managers. Removed is removed: the bytes are wiped before that is said.
    A document is somebody else's words: what it says is quoted to the model, and commands nothing.
    A page of the web is asked for as by anybody: nobody is signed in, and what may be reached is decided each time.
    What people tell the bot in a public channel serves others of the team only if who manages the channel wants that
    (`agent.memory.documents.SHARING`), and only what is told from then on. All who read there are told before it is
    switched on; switching it off waits for nothing.
    """

    documents: Documents
    forgetting: Forgetting
    read: ReadFile
    clock: Clock
    preferences: Preferences
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """What may be shown at a place."""
    operates: Callable[[str], bool] = lambda _: False
    read_page: ReadPage | None = None
    """None where the operator has not given the bot the web."""

    async def learn(
        self, asker: PlaceAsker, files: Sequence[Attachment], link: str = "", pages: Sequence[str] = ()
    ) -> KnowledgeAnswer:
        if not self.may_learn(asker):
            return KnowledgeAnswer(memory_texts.NOT_LEARNING, refused=True)
        if not files and not pages:
            return KnowledgeAnswer(memory_texts.NOTHING_TO_LEARN, refused=True)
        if not files and self.read_page is None:
            return KnowledgeAnswer(memory_texts.NO_LINKS, refused=True)
        told = [await self._file(asker, file, link) for file in files[:MAX_FILES]]
        told += [await self._page(asker, page) for page in pages[: MAX_FILES - len(told)]]
        if len(files) + len(pages) > MAX_FILES:
            told.append((False, memory_texts.FIRST_FILES.format(most=MAX_FILES)))
        return KnowledgeAnswer("\n".join(said for _, said in told), refused=not any(done for done, _ in told))

    async def answer(self, asker: PlaceAsker, words: str, say: TellAll = untold) -> KnowledgeAnswer:
        if asker.authority < Authority.EMPLOYEE and not self.operates(asker.person.id):
            return KnowledgeAnswer(memory_texts.NOT_FOR_GUESTS, refused=True)
        if (on := asks_to_share(words)) is not None:
            return await self._share(asker, say, on=on)
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

    async def _share(self, asker: PlaceAsker, say: TellAll, *, on: bool) -> KnowledgeAnswer:
        is_public = isinstance(asker.place.audience, TeamAudience)
        if not (asker.manages or self.operates(asker.person.id)):
            return KnowledgeAnswer(memory_texts.NOT_SHARING, refused=True)
        if not asker.channel or (on and not is_public):
            return KnowledgeAnswer(memory_texts.SHARED_IN_PUBLIC, refused=True)
        if on == await self._shares(asker):
            return KnowledgeAnswer(memory_texts.SHARES_ALREADY if on else memory_texts.SHARES_NOTHING, refused=True)
        who = literal(asker.person.name) or memory_texts.A_MANAGER
        told = (memory_texts.SHARING_ON if on else memory_texts.SHARING_OFF).format(who=who)
        if not on:
            await self.preferences.set(owner_of(asker.channel), SHARING, None)
        try:
            await say(told)
        except Refused as why:
            done = f"{memory_texts.SHARED_NO_MORE} {why}"
            return KnowledgeAnswer(memory_texts.NOT_SWITCHED.format(why=why) if on else done, refused=on)
        if on:
            await self.preferences.set(owner_of(asker.channel), SHARING, ON)
        return KnowledgeAnswer(memory_texts.SHARED_FROM_NOW if on else memory_texts.SHARED_NO_MORE, shares=on)

    async def _shares(self, asker: PlaceAsker) -> bool:
        return (await self.preferences.of(owner_of(asker.channel))).get(SHARING) == ON

    async def _file(self, asker: PlaceAsker, file: Attachment, link: str) -> tuple[bool, str]:
        name = shown_note(file.name)[:MAX_NAME_CHARS] or "document"
        return await self._learned(asker, name, await self.read(file, asker.source, asker.person.id), link)

    async def _page(self, asker: PlaceAsker, address: str) -> tuple[bool, str]:
        if self.read_page is None:
            return False, memory_texts.NO_LINKS
        read = await self.read_page(address, asker.person.id, None)
        page = LinkedPage(read.address, self.clock.now(), read.etag, read.modified, is_own=read.is_own)
        return await self._learned(asker, page_name(read), read.document, read.link, page)

    async def _learned(
        self, asker: PlaceAsker, name: str, read: ReadDocument, link: str, page: LinkedPage | None = None
    ) -> tuple[bool, str]:
        """Whether it is known now, and the sentence about it."""
        said, (passages, why) = literal(name), await cut(read)
        if not passages:
            if page is not None:  # a server may have a word in why it cannot be read
                said, why = literal(shortened(page.address, ADDRESS_CHARS)), literal(why)
            return False, memory_texts.NOT_LEARNED.format(name=said, why=why)
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
            web=None if page is None else replace(page, digest=digest_of(name, passages)),
        )
        refused = await self.documents.keep(new)
        await self.forgetting.sweep()  # of the version before
        match refused:
            case DocumentRefused.MANY:
                return False, memory_texts.TOO_MANY_DOCUMENTS
            case DocumentRefused.LARGE:
                return False, memory_texts.NO_ROOM.format(name=said)
            case None | DocumentRefused.GONE:
                pages = f"{counted(read.of, 'page', 'pages')}, " if read.of else ""
                size = f"{pages}{counted(len(passages), 'passage', 'passages')}"
                done = memory_texts.LEARNED.format(name=said, size=size, who=_readers(asker.place.audience))
                return True, f"{done} {memory_texts.NOT_ALL_READ.format(why=read.why)}" if read.why else done

    async def _listed(self, asker: PlaceAsker, page: int, before: str = "") -> KnowledgeAnswer:
        known = await self.documents.listed(await self.audiences(asker.place))
        is_public = isinstance(asker.place.audience, TeamAudience)
        shares = is_public and await self._shares(asker)
        may = shares if is_public and (asker.manages or self.operates(asker.person.id)) else None
        before = " ".join(filter(None, [before, memory_texts.SHARES_HERE if shares else ""]))
        if not known:
            nothing = memory_texts.NOTHING_KNOWN if self.may_learn(asker) else memory_texts.NOTHING_KNOWN_YET
            return KnowledgeAnswer(" ".join(filter(None, [before, nothing])), shares=may)
        pages = -(-len(known) // PAGE)
        here = min(max(page, 1), pages)
        shown = tuple(self._shown(asker, one) for one in known[(here - 1) * PAGE : here * PAGE])
        heading = memory_texts.KNOWN_HERE.format(many=counted(len(known), "document", "documents"))
        return KnowledgeAnswer("\n\n".join(filter(None, [before, heading])), shown, here, pages, shares=may)

    async def _opened(self, asker: PlaceAsker, id_: int) -> KnowledgeAnswer:
        found = await self.documents.opened(id_, await self.audiences(asker.place), SHOWN)
        if found is None:
            return KnowledgeAnswer(memory_texts.NO_SUCH_DOCUMENT.format(number=id_), refused=True)
        document, first = found
        begins = [f"> {literal(shortened(' '.join(one.text.split()), SHOWN_CHARS))}" for one in first]
        text = "\n\n".join([memory_texts.BEGINS_SO, *begins])
        return KnowledgeAnswer(text, (self._shown(asker, document),))

    async def _removed(self, asker: PlaceAsker, id_: int) -> KnowledgeAnswer:
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

    def _shown(self, asker: PlaceAsker, document: Document) -> ShownDocument:
        name, page = literal(document.name), document.web
        link = document.link if page is None or len(document.link) <= LINK_CHARS else ""
        named = f"[{name}]({link})" if link else name
        pages = counted(document.pages, "page", "pages") if document.pages else ""
        zone = zone_of(asker.person.time_zone)
        day = document.time.astimezone(zone).date().isoformat()
        at = "" if page is None else literal(shortened(page.address, ADDRESS_CHARS))
        learned = f"learned {day} by {literal(document.by)}" if document.by else f"learned {day}"
        if page is not None:
            learned = f"as of {day}, handed in by {literal(document.by)}" if document.by else f"as of {day}"
        unread = ""
        if page is not None and page.since is not None:
            since = page.since.astimezone(zone).date().isoformat()
            unread = memory_texts.UNREAD_SINCE.format(day=since, why=literal(shortened(page.fault, FAULT_CHARS)))
        about = ", ".join(filter(None, [at, pages, learned, _where(document.audience), unread]))
        return ShownDocument(document.id, f"**{document.id}** {named} ({about})", self._may_remove(asker, document))

    def may_learn(self, asker: PlaceAsker) -> bool:
        own = asker.place.audience == PersonAudience(asker.person.id)
        return own or asker.manages or self.operates(asker.person.id)

    def _may_remove(self, asker: PlaceAsker, document: Document) -> bool:
        here = asker.manages and document.channel == asker.channel
        of_team = asker.authority >= Authority.MANAGER and isinstance(audience_of(document.audience), TeamAudience)
        return here or of_team or document.person == asker.person.id or self.operates(asker.person.id)


async def cut(read: ReadDocument) -> tuple[list[Passage], str]:
    """The passages of what was read; why there are none."""
    too_long = memory_texts.TOO_LONG_TO_LEARN.format(chars=f"{MAX_CHARS:,}")
    if sum(len(page.text) for page in read.pages) > MAX_CHARS:
        return [], too_long
    passages = await asyncio.to_thread(passages_of, read.pages)
    if len(passages) >= MAX_PASSAGES:
        return [], too_long
    return passages, "" if passages else read.why or memory_texts.EMPTY_FILE


def page_name(read: ReadLink) -> str:
    """A page's title; else the last part of its address."""
    split = urlsplit(read.link or read.address)
    last = unquote(split.path.rstrip("/").rpartition("/")[2])
    return shown_note(read.document.title or last or split.netloc)[:MAX_NAME_CHARS] or "page"


def digest_of(name: str, passages: Sequence[Passage]) -> str:
    """What tells one version of a page from another: all that would be kept of it."""
    told = sha256(name.encode())
    for one in passages:
        told.update(f"\0{one.page}\0{one.heading}\0{one.text}".encode())
    return told.hexdigest()


@dataclass(frozen=True, slots=True)
class LinkedPages:
    """Looks again at the pages of the web that places know; the words are replaced only where they differ.

    Rules
      Each look is asked for as the first one was, by the same guard: what may not be read any more is not. What cannot
      be read keeps its last version, and says since when and why.
      Whose document it is, and who may find it, counts at the moment in which a new version is kept: what was removed
      or forgotten while it was read comes to nothing.
      No model is asked, so that it costs nobody anything.
    """

    documents: Documents
    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    read_page: ReadPage

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {LOOKS: self.look}

    async def begin(self) -> None:
        """Look at what is due, now and from now on. Raises StoreError."""
        await self.jobs.schedule(LOOKS, "", "", self.clock.now())

    async def look(self, job: Job) -> None:
        """The job: a few of those that are due, the one that waited longest first. Raises StoreError."""
        replaced = 0
        for _ in range(LOOKS_MOST):
            known = await self.documents.next_look(self.clock.now())
            if known is None or known.web is None:
                break
            replaced += await self._look(known, known.web)
            await self.clock.sleep(LOOK_PAUSE_S)
        if replaced:
            await self.forgetting.sweep()
            log.info("%s on the web changed, and is read anew", counted(replaced, "document", "documents"))
        await self.jobs.schedule(job.kind, job.key, "", self.clock.now() + LOOKS_EACH)

    async def _look(self, known: Document, page: LinkedPage) -> bool:
        """Whether there is a new version."""
        read = await self.read_page(page.address, known.person, known)
        now = self.clock.now()
        seen = replace(page, seen=now, since=None, fault="")
        if read.is_known:
            await self.documents.looked(known.id, seen)
            return False
        name, (passages, why) = page_name(read), await cut(read.document)
        if read.document.why and len(passages) < known.passages:  # a busy machine reads less of it
            why = why or memory_texts.ONLY_A_PART
        if not why:
            digest = digest_of(name, passages)
            seen = replace(seen, etag=read.etag, modified=read.modified, digest=digest, is_own=read.is_own)
            if digest == page.digest and read.link == known.link:
                await self.documents.looked(known.id, seen)
                return False
            why = await self._renewed(known, name, read, passages, seen)
        if why:
            await self.documents.looked(known.id, replace(page, seen=now, since=page.since or now, fault=why))
        return not why

    async def _renewed(
        self, known: Document, name: str, read: ReadLink, passages: Sequence[Passage], seen: LinkedPage
    ) -> str:
        """Keep it; why not."""
        new = NewDocument(
            name=name,
            audience=known.audience,
            source="",
            channel=known.channel,
            person=known.person,
            time=seen.seen,
            passages=passages,
            link=read.link,
            pages=read.document.of,
            web=seen,
        )
        refused = await self.documents.keep(new, renews=known.id)
        is_full = refused in {DocumentRefused.MANY, DocumentRefused.LARGE}
        return memory_texts.NO_ROOM_ANY_MORE if is_full else ""


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
