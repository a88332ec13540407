"""Looks at linked pages again, and learns what changed: a job, in one process at a time, about once a day."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from agent.jobs import Job
from agent.memory.documents import Document, DocumentRefused, Documents, LinkedPage, NewDocument, Passage
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from bot.chat.attachments.reading import ReadLink
from bot.chat.jobs import Handler
from bot.chat.texts.formatting import counted
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.service import FETCH_PAGES, ReadPage, digest_of, page_name, split_document

log = logging.getLogger(__name__)

# The interval of the job: it reads a few due pages each time, so that they are spread over the day.
LOOK_INTERVAL: Final = timedelta(minutes=10)
MAX_FETCHES: Final = 12  # Pages per interval, 1,700 a day. Where there are more, each is read less often than daily.
LOOK_PAUSE_S: Final = 1.0  # Between two pages, so that no site receives a burst of requests


@dataclass(frozen=True, slots=True)
class LinkedPages:
    """Reads the linked web pages again; a document is replaced only where its text differs.

    Rules
      Each request passes the same guard as the first: an address that may no longer be reached is not read. A page that
      cannot be read keeps its last version, and shows since when and why.
      A document's owner and audience are those at the time when a new version is stored; a document that was removed or
      forgotten during the request is not stored again.
      No model is called, so it costs nothing.
    """

    documents: Documents
    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    read_page: ReadPage

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {FETCH_PAGES: self.look}

    async def begin(self) -> None:
        """Schedule the job. Raises StoreError."""
        await self.jobs.schedule(FETCH_PAGES, "", "", self.clock.now())

    async def look(self, job: Job) -> None:
        """Run the job: read a few of the due pages, longest due first. Raises StoreError."""
        replaced = 0
        for _ in range(MAX_FETCHES):
            document = await self.documents.next_look(self.clock.now())
            if document is None or document.web is None:
                break
            replaced += await self._refresh(document, document.web)
            await self.clock.sleep(LOOK_PAUSE_S)
        if replaced:
            await self.forgetting.sweep()
            log.info("web pages that changed and were read again: %s", counted(replaced, "document", "documents"))
        await self.jobs.schedule(job.kind, job.key, "", self.clock.now() + LOOK_INTERVAL)

    async def _refresh(self, document: Document, page: LinkedPage) -> bool:
        """Read a page again; return whether a new version was stored."""
        read = await self.read_page(page.address, document.person, document)
        now = self.clock.now()
        seen = replace(page, seen=now, since=None, fault="")
        if read.is_known:
            await self.documents.looked(document.id, seen)
            return False
        name, (passages, reason) = page_name(read), await split_document(read.document)
        if read.document.why and len(passages) < document.passages:  # a busy machine may read only a part in time
            reason = reason or knowledge_texts.ONLY_A_PART
        if not reason:
            digest = digest_of(name, passages)
            seen = replace(seen, etag=read.etag, modified=read.modified, digest=digest, is_own=read.is_own)
            if digest == page.digest and read.link == document.link:
                await self.documents.looked(document.id, seen)
                return False
            reason = await self._store_version(document, name, read, passages, seen)
        if reason:
            await self.documents.looked(document.id, replace(page, seen=now, since=page.since or now, fault=reason))
        return not reason

    async def _store_version(
        self, document: Document, name: str, read: ReadLink, passages: Sequence[Passage], seen: LinkedPage
    ) -> str:
        """Store the new version; return why that is impossible, or ""."""
        new = NewDocument(
            name=name,
            audience=document.audience,
            source="",
            channel=document.channel,
            person=document.person,
            time=seen.seen,
            passages=passages,
            link=read.link,
            pages=read.document.page_count,
            web=seen,
        )
        refused = await self.documents.keep(new, renews=document.id)
        is_full = refused in {DocumentRefused.MANY, DocumentRefused.LARGE}
        return knowledge_texts.NO_ROOM_ANY_MORE if is_full else ""
