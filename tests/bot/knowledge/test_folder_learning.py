"""Adding the files of a folder to a place again and again, in a real store, with the real reader."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.errors import Refused
from agent.incoming import Attachment
from agent.memory.audience import Audience, GroupAudience, TeamAudience, label
from agent.memory.documents import DocumentPlace, DocumentQuery, NewDocument, Passage
from bot.chat.attachments.reading import AttachmentReader, ReadDocument
from bot.knowledge.folder_learning import FILE_SOURCE, FileEnd, FileOutcome, FolderLearner
from bot.knowledge.folders import FoundFiles, find_files
from bot.platforms.terminal.attachments import fetch
from tests.fakes import pdfs
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory

pytestmark = pytest.mark.slow  # files, and processes that read them

TEAM, CLUB = TeamAudience("slack:T1"), GroupAudience("slack:T1:C1")


@dataclass
class Library:
    """A folder, and the place that learns it. `audience`: of the place now; None if nothing is stored of it."""

    folder: Path
    store: StoreInMemory = field(default_factory=store_in_memory)
    audience: Audience | None = TEAM
    read: Counter[str] = field(default_factory=Counter[str])

    async def place(self) -> DocumentPlace | None:
        return None if self.audience is None else DocumentPlace(self.audience, "slack:T1", "C1")

    async def learn(self, *, remove_missing: bool = False, found: FoundFiles | None = None) -> list[FileOutcome]:
        reader = AttachmentReader({FILE_SOURCE: fetch})

        async def read(file: Attachment, source: str, person: str) -> ReadDocument:
            self.read[file.name] += 1
            return await reader.document(file, source, person)

        learner = FolderLearner(
            documents=self.store.documents,
            forgetting=self.store.forgetting,
            fetch=fetch,
            read=read,
            clock=FakeClock(),
            place=self.place,
        )
        files = found or find_files([str(self.folder)])
        return [outcome async for outcome in learner.learn(files, remove_missing=remove_missing)]

    async def ends(self, *, remove_missing: bool = False) -> dict[str, str]:
        return {outcome.name: outcome.end.name for outcome in await self.learn(remove_missing=remove_missing)}

    async def names(self, audience: Audience = TEAM) -> list[str]:
        return sorted(document.name for document in await self.store.documents.listed(frozenset({label(audience)})))

    async def finds(self, words: str) -> list[str]:
        query = DocumentQuery(words, frozenset({label(TEAM)}))
        return [hit.document.name for hit in await self.store.documents.search(query)]

    def write(self, name: str, text: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "handbook")
    library.write("boats.md", "# Boats\n\nOur boats are blue.")
    library.write("guides/trips.pdf", pdfs.pdf("Trips are booked by train."))
    return library


async def test_unchanged_files_are_not_read_again_and_changed_ones_replace_their_documents(library: Library) -> None:
    assert await library.ends() == {"handbook/boats.md": "LEARNED", "handbook/guides/trips.pdf": "LEARNED"}
    assert await library.finds("trips train") == ["handbook/guides/trips.pdf"]
    library.write("boats.md", "# Boats\n\nOur boats are red.")
    assert await library.ends() == {"handbook/boats.md": "UPDATED", "handbook/guides/trips.pdf": "UNCHANGED"}
    assert library.read == {"boats.md": 2, "trips.pdf": 1}
    assert await library.names() == ["handbook/boats.md", "handbook/guides/trips.pdf"]
    assert await library.finds("blue") == []
    assert await library.finds("red boats") == ["handbook/boats.md"]


async def test_what_is_refused_keeps_its_last_version_and_says_why(library: Library) -> None:
    await library.learn()
    library.write("guides/trips.pdf", b"%PDF-1.7 broken")
    library.write("boats.md", b"\x00\x01\x02" * 99)
    outcomes = {outcome.name: outcome for outcome in await library.learn()}
    assert {outcome.end for outcome in outcomes.values()} == {FileEnd.REFUSED}
    assert all(outcome.detail for outcome in outcomes.values())
    assert await library.finds("trips train") == ["handbook/guides/trips.pdf"]


async def test_only_documents_of_these_folders_are_removed_when_their_files_are_gone(library: Library) -> None:
    await library.learn()
    for name, digest in (("handbook/by-ann.md", ""), ("other/far.md", "d1"), ("handbook/gone.md", "d2")):
        await library.store.documents.keep(
            NewDocument(name, label(TEAM), "slack:T1", "C1", "", NOON, [Passage("words")], file_digest=digest)
        )
    (library.folder / "boats.md").unlink()
    assert (await library.ends()).keys() == {"handbook/guides/trips.pdf"}
    assert len(await library.names()) == 5
    ends = await library.ends(remove_missing=True)
    assert ends == {
        "handbook/guides/trips.pdf": "UNCHANGED",
        "handbook/boats.md": "REMOVED",
        "handbook/gone.md": "REMOVED",
    }
    assert await library.names() == ["handbook/by-ann.md", "handbook/guides/trips.pdf", "other/far.md"]


async def test_an_empty_or_unreadable_folder_removes_nothing(library: Library) -> None:
    await library.learn()
    await library.learn(remove_missing=True, found=FoundFiles([], ["handbook/"]))
    some = find_files([str(library.folder / "guides")])
    unread = FoundFiles(some.files, ["handbook/"], unread=[("handbook/secret", "Permission denied")])
    [refused, *_] = await library.learn(remove_missing=True, found=unread)
    assert (refused.name, refused.end) == ("handbook/secret/", FileEnd.REFUSED)
    assert "Permission denied" in refused.detail
    assert "handbook/boats.md" in await library.names()


async def test_a_channel_that_becomes_private_meanwhile_gets_private_documents(library: Library) -> None:
    files = find_files([str(library.folder)])
    await library.learn(found=FoundFiles(files.files[:1]))
    library.audience = CLUB
    await library.learn(found=files)
    assert await library.names(CLUB) == ["handbook/boats.md", "handbook/guides/trips.pdf"]


async def test_a_place_that_is_erased_meanwhile_gets_nothing(library: Library) -> None:
    library.audience = None
    with pytest.raises(Refused, match="was erased"):
        await library.learn()
    assert await library.names() == []


async def test_a_link_that_replaces_a_file_before_it_is_read_is_not_followed(library: Library, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("nobody may know")
    found = find_files([str(library.folder)])
    (library.folder / "boats.md").unlink()
    (library.folder / "boats.md").symlink_to(tmp_path / "secret.md")
    outcomes = {outcome.name: outcome.end for outcome in await library.learn(found=found)}
    assert outcomes["handbook/boats.md"] is FileEnd.REFUSED
    assert await library.finds("nobody") == []
