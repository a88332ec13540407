"""Pages as ordinary messages: posted, and edited while they grow.

Above: `surface`. Below: `api`, `abilities`, `budget`, `mrkdwn`, `page_errors`,
`reply_blocks`.

Theory of operation. A page is sent as `markdown_text`, which Slack takes only without blocks; one that has buttons, at
its end, as a block of Markdown with the buttons below it. What a workspace refuses of that is left out: first the
newest kind of buttons, then all of them, then `markdown_text`; never the words.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot.platforms.slack import payload
from bot.platforms.slack.api import Method, SlackApi, SlackLimited, SlackRefused
from bot.platforms.slack.mrkdwn import mrkdwn
from bot.platforms.slack.replies.abilities import Abilities
from bot.platforms.slack.replies.budget import Budget, Budgets, Queue
from bot.platforms.slack.replies.page_errors import BLOCKS_REFUSED, page_errors
from bot.platforms.slack.replies.reply_to import ReplyTo
from bot.platforms.slack.views.reply_blocks import below
from bot.surface import Look, PageKey, PageQueued

log = logging.getLogger(__name__)

EVENT_TYPE = "cogency_page"
NOTICE_CHARS = 3_000
"""As much of a page with blocks as stands in notifications, which Slack wants besides."""


def metadata_of(key: PageKey) -> Json:
    """What makes a page known again."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": str(key)}}


@dataclass(frozen=True, slots=True)
class Messages:
    """Those of one reply. `name` stands for it in the budgets."""

    api: SlackApi
    budgets: Budgets
    abilities: Abilities
    clock: Clock
    to: ReplyTo
    conversation: str
    name: str

    async def post(self, key: PageKey, look: Look) -> str:
        """Show a new page; its time stamp. Raises SurfaceError."""
        queue = self.budgets.posts(self.to.channel)
        self._keep_pace(queue)
        where: dict[str, Json] = {"channel": self.to.channel, "thread_ts": self.to.thread_ts or None}
        posted = await self._write(queue, Method.POST, look, {**where, "metadata": metadata_of(key)})
        return payload.text(posted, "ts")

    async def edit(self, ts: str, look: Look, key: PageKey | None = None) -> None:
        """Show the whole page anew; `key`, if it is not yet known by it. Raises SurfaceError."""
        self._keep_pace(self.budgets.updates)
        where: dict[str, Json] = {"channel": self.to.channel, "ts": ts}
        metadata = None if key is None else metadata_of(key)
        await self._write(self.budgets.updates, Method.UPDATE, look, {**where, "metadata": metadata})

    def buttons(self, look: Look) -> list[list[Json]]:
        """What stands below the words, in each form that Slack may take, the best one first; [] for nothing."""
        forms = dict.fromkeys((self.abilities.plain_buttons, True))
        made = [below(look.offers, look.turn, self.conversation, self.to, plain=plain) for plain in forms]
        return [blocks for blocks in made if blocks]

    def _keep_pace(self, limit: Budget | Queue) -> None:
        if (wait := limit.wait(self.name, self.clock.monotonic())) > 0:
            raise PageQueued(wait)

    async def _write(self, limit: Budget | Queue, method: Method, look: Look, where: dict[str, Json]) -> JsonObject:
        with page_errors():
            try:
                return await self._send(method, look, where)
            except SlackLimited as limited:
                limit.limited(self.clock.monotonic(), limited.retry_after_s)
                raise

    async def _send(self, method: Method, look: Look, where: dict[str, Json]) -> JsonObject:
        """In the best form that Slack takes."""
        *better, last = self._forms(look)
        for form in better:
            try:
                return await self.api.call(method, **where, **form)
            except SlackRefused as refused:
                if refused.code != "no_text" and not (
                    "blocks" in form and refused.code in BLOCKS_REFUSED | {"msg_blocks_too_many"}
                ):
                    raise
                log.info("%s The page is shown in a simpler form.", refused)
                self.abilities.plain_buttons |= "blocks" in form
        return await self.api.call(method, **where, **last)

    def _forms(self, look: Look) -> Iterator[dict[str, Json]]:
        for buttons in self.buttons(look):
            words: Json = {"type": "markdown", "text": look.text}
            yield {"text": mrkdwn(look.text)[:NOTICE_CHARS], "blocks": [words, *buttons]}
        yield {"markdown_text": look.text}
        yield {"text": look.text}  # a server that does not know markdown_text
