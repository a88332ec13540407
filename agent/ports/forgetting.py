"""Forgetting: erasing by plans, with proof.

Ids have the forms of `agent.incoming`. Every call of the store may raise StoreError, and StoreUnavailable if the same
may work later.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from agent.jobs import Job
from agent.memory.forgetting_plans import EntriesPlan, ForgettingPlan, Preview, Receipt, Wish
from agent.shown_replies import ShownPage


class Forgetting(Protocol):
    """Erasing by plans, with proof (`Receipt`): every text and id that a plan reaches, and what was derived from it."""

    async def preview(self, plan: Wish, watch: Callable[[int], object] = ...) -> Preview:
        """Return what the plan would erase now.

        `watch` is called now and then with the number of messages found, perhaps on another thread; an exception that
        it raises ends the search and is raised here.
        """
        ...

    async def forget(
        self, plan: ForgettingPlan, now: datetime, *, replies: bool = ..., related: bool = ..., limit: int | None = ...
    ) -> Receipt:
        """Erase what the plan names in one transaction, then search for proof. `limit`: see `retire`.

        `replies`: also delete the erased replies of the bot on the platform, by jobs (`DELETE_REPLY`). `related`: also
        erase what may have been derived (`Preview.related`).
        """
        ...

    async def titles(self, plan: ForgettingPlan, *, related: bool = False) -> list[ShownPage]:
        """Return where platforms show text that the plan would erase, beside the messages: the names of threads whose
        first questions are erased. `related`: with the messages that may repeat it.
        """
        ...

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        """Erase the oldest `limit` messages of the plan in the background. Returns the erased rows by kind.

        There is no proof, and the bytes wait for `sweep`. When no messages are left, it erases the rest of the plan.
        """
        ...

    async def author(self, source: str, channel: str, message_id: str) -> str | None:
        """Return the author of a platform's message; None if unknown: most edited messages were not for the bot."""
        ...

    async def text(self, source: str, channel: str, message_id: str) -> str | None:
        """Return the stored text of a platform's message; None if unknown."""
        ...

    async def update_text(
        self,
        source: str,
        channel: str,
        message_id: str,
        text: str,
        now: datetime,
        learn_at: datetime | None = None,
        held: Job | None = None,
    ) -> bool:
        """Store the new text of an edited earlier message, and erase what was derived from the old one.

        If the message was answered, it is learned from again at `learn_at` (None: not). False if nothing changed.
        `held`: the `EDIT` job with this text, which a newer edit removes. None: this text is the newest, and every
        `EDIT` of the message is removed.
        """
        ...

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:
        """Erase single entries about a person. Their source messages stay, but are not learned from again."""
        ...

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> Receipt:
        """As `forget_entries`, but until then `undo` can restore them by this key: no bytes are gone yet.

        They are not shown or used meanwhile. Afterwards a job (`ERASE_ENTRIES`, with this key) must call `wipe`.
        """
        ...

    async def undo(self, person: str, key: str | None = None) -> str | None:
        """Restore what the person deleted under this key (None: last), except entries whose source is gone meanwhile.

        Returns the key; None if there is nothing to restore.
        """
        ...

    async def wipe(self, key: str) -> bool:
        """End the time in which `undo` can restore this; True when no bytes of it are left."""
        ...

    async def drop_idle_files(self, conversation: str, now: datetime) -> datetime | None:
        """Delete the files of code that nothing has used for a while; their bytes wait for a sweep.

        Returns when to look again; None if no files are left there.
        """
        ...

    async def sweep(self) -> bool:
        """Wipe the bytes that earlier erasures could not (see their receipts); True when none are left."""
        ...
