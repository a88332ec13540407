"""The word "stop", and notices to the authors of messages that are refused or delayed."""

import logging
from dataclasses import dataclass

from agent.errors import CogencyError, Refused, StoreUnavailable, Unexpected
from agent.messages import JsonObject
from agent.ports.clock import Clock
from bot.chat.access.admission import NoticeThrottle
from bot.chat.host import Host
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackError
from bot.platforms.slack.caller import Direct
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.inbound import SlackBot, SlackMessage
from bot.platforms.slack.reply_to import ReplyTo, of_message
from bot.platforms.slack.slash_commands import named

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerCommands:
    """The word "stop", and notices to the authors of messages that are refused or delayed.

    Rules. "stop" is never a question. Any member who can write in a thread can stop its answer. Notices are ephemeral.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    clock: Clock
    throttle: NoticeThrottle

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    async def stop_by_message(self, message: SlackMessage) -> bool:
        """Stop what the message means. Return whether any turn was stopped. Raises CogencyError."""
        outside_threads = message.direct and not message.in_thread
        meant = await self.direct.active(message.channel) if outside_threads else await self.direct.thread_of(message)
        return any([await self.host.turns.stop_conversation(conversation) for conversation in meant])

    async def notify_muted(self, message: SlackMessage) -> None:
        await self._send(of_message(message), platforms_texts.AMBIENT_MUTED)

    async def notify_nothing_runs(self, message: SlackMessage) -> None:
        await self._send(of_message(message), reply_texts.NOTHING_RUNNING)

    async def notify_refused(self, refusal: Refused, message: SlackMessage) -> None:
        """Show the author why their message was refused, once: a mention arrives as two events, which two processes may
        receive. Nothing is shown if the refusal was already. Raises StoreError.
        """

        async def tell() -> None:
            log.info("a message was refused: %s", refusal)
            try:
                await self._send(of_message(message), formatting.literal(str(refusal)))
            except SlackError as error:
                log.warning("the error could not be posted either: %s", error)

        if not refusal.was_shown:
            await self.host.deduplication.run_once(self.me.source, f"refused:{message.channel}:{message.ts}", tell)

    async def notify_waiting(self, body: JsonObject, why: CogencyError | None) -> None:
        """Tell the author of a question that it cannot be taken in, or not yet, unless they read so just now. `why`:
        None if that is not known.
        """
        message = inbound.read_event(body, self.me)
        if message is None or not (message.direct or message.mentioned):
            return
        match why:
            case StoreUnavailable():
                sentence = platforms_texts.KEPT_WAITING
            case Unexpected():
                sentence = str(why)
            case _:
                sentence = platforms_texts.SLACK_KEPT_WAITING
        if self.throttle.was_shown(message.user, sentence):
            return
        try:
            await self._send(of_message(message), sentence)
        except SlackError as error:
            log.warning("the notice about a waiting message could not be posted: %s", error)

    async def _send(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).send(named(markdown, self.me.prefix))
