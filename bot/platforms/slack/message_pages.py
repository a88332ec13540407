"""Pages of replies as ordinary messages, which are edited; and which error of a page each of Slack's errors is."""

import logging
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.protocol.render import joined
from bot.chat.method_queue import MethodQueue
from bot.chat.rates import MethodRate
from bot.chat.reply import surface as reply_surface
from bot.chat.reply.markdown import has_table
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api
from bot.platforms.slack.api import MethodRates, SlackApi, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.feature_support import FeatureSupport
from bot.platforms.slack.markup import notice
from bot.platforms.slack.options import Method
from bot.platforms.slack.reply_buttons import button_rows
from bot.platforms.slack.reply_to import ReplyTo
from bot.platforms.slack.tables import blocks_with_tables, count_tables

log = logging.getLogger(__name__)


# Slack's error codes, by the error of `bot.chat.reply.surface` that each becomes.

TOO_LONG: Final = frozenset({"msg_too_long", "msg_blocks_too_many", "markdown_text_too_long"})
# The workspace does not know a kind of block; the text is not the reason.
BLOCKS_REFUSED: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "block_mismatch"})
STREAMING: Final = "streaming_state_conflict"
_LOCKED: Final = frozenset({"cant_update_message", "cant_delete_message", "edit_window_closed"})
# What an operator can fix while the answer waits; any other refusal is permanent.
CURABLE: Final = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "missing_scope"}
)
# What an operator can do, for the log.
_OPERATOR: Final = {
    "missing_scope": "`cogency doctor` shows which scope is missing.",
    **dict.fromkeys(CURABLE - {"missing_scope"}, platforms_texts.INSTALL_AGAIN),
}
_DELETED: Final = frozenset({"message_not_found", "canvas_not_found", "thread_not_found", "no_such_thread"})


class StillStreaming(reply_surface.PageLocked):
    """The message is a stream that has not been ended."""


@contextmanager
def page_errors() -> Generator[None, None, None]:
    """Translate SlackError into the SurfaceError that it means."""
    try:
        yield
    except SlackLimited as limited:
        raise reply_surface.PageLimited(limited.retry_after_s) from limited
    except SlackRefused as refused:
        if refused.code in TOO_LONG:
            raise reply_surface.PageFull(str(refused)) from refused
        if refused.code == STREAMING:
            raise StillStreaming(str(refused)) from refused
        if refused.code in _LOCKED:
            raise reply_surface.PageLocked(str(refused)) from refused
        if refused.code in CURABLE:
            raise reply_surface.PageUnsent(f"{refused} {_OPERATOR[refused.code]}") from refused
        if refused.code in _DELETED:
            raise reply_surface.PageGone(str(refused)) from refused
        raise reply_surface.PageRefused(str(refused), refused.remedy) from refused
    except SlackError as error:
        raise reply_surface.PageUnsent(str(error)) from error


EVENT_TYPE = "cogency_page"


def metadata_of(key: reply_surface.PageKey) -> Json:
    """Return the message metadata that identifies a page."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": str(key)}}


@dataclass(frozen=True, slots=True)
class _Form:
    """What a page is sent as: arguments of the method. `tables`: how many sortable tables they have."""

    args: dict[str, Json]
    tables: int = 0


@dataclass(frozen=True, slots=True)
class MessagePages:
    """The pages of one reply, as ordinary messages. `name` identifies the reply in the call budgets. `sortable`:
    whether the tables of a final page become sortable.
    """

    api: SlackApi
    budgets: MethodRates
    features: FeatureSupport
    clock: Clock
    to: ReplyTo
    conversation: str
    name: str
    sortable: bool

    async def post(self, key: reply_surface.PageKey, look: reply_surface.PageContent) -> str:
        """Post a new page and return its time stamp. Raises SurfaceError."""
        queue = self.budgets.posts(self.to.channel)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        posted = await self._write(queue, Method.POST, self._forms(look), {**where, "metadata": metadata_of(key)})
        return api.text(posted, "ts")

    async def post_blocks(self, key: reply_surface.PageKey, text: str, blocks: Sequence[Json]) -> str:
        """Post a message of blocks and return its time stamp; "" if Slack does not take them. Raises SurfaceError."""
        queue = self.budgets.posts(self.to.channel)
        if (wait := await queue.ask(self.name, self.clock.monotonic())) > 0:
            raise reply_surface.PageQueued(wait)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        with page_errors():
            try:
                posted = await self.api.call(
                    Method.POST, **where, text=text, blocks=[*blocks], metadata=metadata_of(key)
                )
            except SlackLimited as limited:
                await queue.hold(self.clock.monotonic(), limited.retry_after_s)
                raise
            except SlackRefused as refused:
                if refused.code not in BLOCKS_REFUSED | TOO_LONG:
                    raise
                log.info("%s What the answer presents is shown as text.", refused)
                return ""
        return api.text(posted, "ts")

    async def edit(self, ts: str, look: reply_surface.PageContent, key: reply_surface.PageKey | None = None) -> None:
        """Replace the whole page. `key`: to be added if the message's metadata has no key yet. Raises SurfaceError."""
        metadata = None if key is None else metadata_of(key)
        await self._update(ts, self._forms(look), metadata)

    async def show_tables(self, ts: str, look: reply_surface.PageContent) -> None:
        """Make the tables of a complete page sortable, if it has any. Raises SurfaceError: the page is as it was."""
        if has_table(look.text):
            await self._update(ts, (form for form in self._forms(look) if form.tables))

    async def _update(self, ts: str, forms: Iterable[_Form], metadata: Json = None) -> None:
        where: dict[str, Json] = {"channel": self.to.channel, "ts": ts, "metadata": metadata}
        await self._write(self.budgets.updates, Method.UPDATE, forms, where)

    def buttons(self, look: reply_surface.PageContent) -> list[list[Json]]:
        """Return the blocks below the text in each form that Slack may take, the best one first; [] for none."""
        forms = dict.fromkeys((self.features.plain_buttons, True))
        rows = [button_rows(look.offers, look.turn, self.conversation, self.to, plain=plain) for plain in forms]
        return [blocks for blocks in rows if blocks]

    async def _write(
        self, limit: MethodRate | MethodQueue, method: Method, forms: Iterable[_Form], where: dict[str, Json]
    ) -> JsonObject:
        """Send the first of these forms that Slack takes, once the budget allows it: only then are they made. Raises
        SurfaceError.
        """
        if (wait := await limit.ask(self.name, self.clock.monotonic())) > 0:
            raise reply_surface.PageQueued(wait)
        with page_errors():
            try:
                return await self._send(method, forms, where)
            except SlackLimited as limited:
                await limit.hold(self.clock.monotonic(), limited.retry_after_s)
                raise

    async def _send(self, method: Method, forms: Iterable[_Form], where: dict[str, Json]) -> JsonObject:
        refusal: SlackRefused | None = None
        for form in forms:
            try:
                return await self.api.call(method, self.to.mentions, **where, **form.args)
            except SlackRefused as refused:
                self._check_form(form, refused)
                refusal = refused
        if refusal is not None:
            raise refusal
        return {}

    def _check_form(self, form: _Form, refused: SlackRefused) -> None:
        """Record which form Slack does not take. Raises the refusal if it has another reason."""
        has_blocks = "blocks" in form.args
        if refused.code != "no_text" and not (has_blocks and refused.code in BLOCKS_REFUSED | {"msg_blocks_too_many"}):
            raise refused
        log.info("%s The page is shown in a simpler form.", refused)
        if form.tables:
            self.features.mark_tables_refused(form.tables, self.clock.monotonic())
        elif has_blocks:  # also if tables were refused before: they are not to blame
            self.features.plain_buttons, self.features.tables_again = True, 0.0

    def _forms(self, look: reply_surface.PageContent) -> Iterator[_Form]:
        """Yield the forms of a page, the best one first."""
        if look.note:
            lines = [f"*{line}*" for line in look.note.splitlines()]
            look = replace(look, text=joined([look.text, "  \n".join(lines)]), note="")
        below = self.buttons(look) or ([[]] if self.to.mentions else [])
        words: Json = {"type": "markdown", "text": look.text}
        most = self.features.max_tables(self.clock.monotonic()) if look.final and self.sortable else 0
        tables = blocks_with_tables(look.text, most) if most else []
        beside = notice(look.text) if below or tables else ""  # The same for each form: it takes long to make
        while number := count_tables(tables):
            yield _Form({"text": beside, "blocks": [*tables, *(below[0] if below else ())]}, number)
            tables = blocks_with_tables(look.text, 1) if number > 1 else []
        for buttons in below:
            yield _Form({"text": beside, "blocks": [words, *buttons]})
        if not self.to.mentions:  # Slack takes markdown_text only alone
            yield _Form({"markdown_text": look.text})
        yield _Form({"text": look.text})  # for a workspace that does not know markdown_text
