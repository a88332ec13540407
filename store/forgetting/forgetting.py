"""Forgetting: erase by plan in one transaction, wipe the bytes, prove it.

On SQLite a deleted row's bytes are overwritten (secure_delete), FTS5 gives up the words of deleted entries when it is
optimised, and the write-ahead log keeps old pages until a checkpoint empties it. Until all of that has happened a
sweep is owed; that is written down with the erasing itself, so it outlives a crash. What nobody waits for (`retire`,
`reword`) leaves it owed: one sweep then serves many. On PostgreSQL the server keeps the files: rows and index entries
are gone, and the receipt says that their bytes are the operator's.
"""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from agent.memory.forgetting import Deleted, EntriesPlan, ForgettingPlan, Preview, Wish
from agent.records import Receipt, ShownPage
from store.databases.database import Database, Files
from store.forgetting import entries, proof, undo
from store.forgetting.chosen import reaches_anything
from store.forgetting.erase import Wishes, erase, owed, settle
from store.forgetting.erased import ErasedIds
from store.forgetting.preview import preview
from store.forgetting.replies import titles
from store.forgetting.reword import reword
from store.search import index


class SqlForgetting:
    """The port Forgetting on a database."""

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        self._database = database
        self._erased_ids = erased_ids

    async def preview(self, plan: Wish) -> Preview:
        return await self._database.read(preview, plan)

    async def forget(
        self, plan: ForgettingPlan, now: datetime, *, replies: bool = False, related: bool = False
    ) -> Receipt:
        """See the port. `bytes_gone` False means that another reader holds old pages: `sweep`, or the next start,
        wipes them; or that a server keeps the files (`kept_by_server`).
        """
        wishes, owes = Wishes(replies=replies, related=related), self._database.files is not None
        gone = await self._database.write_alone(erase, plan, self._erased_ids, now, owes_sweep=owes, wishes=wishes)
        receipt = Receipt(gone.counts, await self._database.read(proof.found_again, plan, gone), bytes_gone=False)
        wiped = await self._wiped(receipt, gone.texts, gone.summaries)
        return replace(wiped, replies=gone.replies, related=len(gone.doomed.may))

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:  # noqa: ARG002 -- no id is kept
        """See the port; `bytes_gone` as above."""
        gone, counts = await self._database.write_alone(
            _erase_entries, plan, owes_sweep=self._database.files is not None
        )
        receipt = Receipt(counts, await self._database.read(entries.left, plan), bytes_gone=False)
        return await self._wiped(receipt, [], list(gone.texts))

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> Receipt:
        on_server = self._database.files is None
        counts, left = await self._database.write_alone(undo.set_aside, plan, key, until, owes_sweep=not on_server)
        return Receipt(counts, left, bytes_gone=False, kept_by_server=on_server)

    async def undo(self, person: str, key: str | None = None) -> str | None:
        return await self._database.write_alone(undo.bring_back, person, key)

    async def wipe(self, key: str) -> bool:
        await self._database.write(undo.wipe, key, owes_sweep=self._database.files is not None)
        return await self.sweep()

    async def titles(self, plan: ForgettingPlan) -> list[ShownPage]:
        return await self._database.read(titles, plan)

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        if not await self._database.read(reaches_anything, plan):
            return {}
        wishes, owes = Wishes(limit=limit), self._database.files is not None
        gone = await self._database.write_alone(erase, plan, self._erased_ids, now, owes_sweep=owes, wishes=wishes)
        return gone.counts

    async def reword(
        self, channel: str, message_id: str, text: str, now: datetime, learn_at: datetime | None = None
    ) -> bool:
        if not await self._database.read(reaches_anything, Deleted(channel, frozenset({message_id}))):
            return False
        owes = self._database.files is not None
        return await self._database.write_alone(reword, channel, message_id, text, now, learn_at, owes_sweep=owes)

    async def sweep(self) -> bool:
        files = self._database.files
        if files is None or not await self._database.read(owed):
            return True
        wiped = await self._wipe(files)
        if wiped:
            await self._database.write(settle)
        return wiped

    async def _wiped(self, receipt: Receipt, said: list[str], made: list[str]) -> Receipt:
        """The receipt once the bytes are wiped, and the files were searched for them."""
        files = self._database.files
        if files is None:
            return replace(receipt, kept_by_server=True)
        wiped, pieces = await self._wipe(files), proof.pieces(said)
        seen = await files.find(pieces | proof.pieces(made))
        bytes_gone = wiped and not await self._database.read(proof.traces, seen, pieces)
        if bytes_gone:
            await self._database.write(settle)
        return replace(receipt, bytes_gone=bytes_gone)

    async def _wipe(self, files: Files) -> bool:
        await self._database.write(index.optimize)
        return await files.checkpoint()


def _erase_entries(
    connection: Connection, plan: EntriesPlan, *, owes_sweep: bool
) -> tuple[entries.Falling, dict[str, int]]:
    falling = entries.falling(connection, plan)
    return falling, entries.erase(connection, falling, owes_sweep=owes_sweep)
