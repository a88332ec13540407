"""The calls of Slack by which the bot acts, with what each error means for the model."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from agent.errors import ToolError
from agent.messages import JsonObject
from agent.ports.clock import Clock
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackDown, SlackError, SlackLimited, SlackRefused

PATIENCE_S: Final = 45.0  # For one Retry-After
_DONE_BEFORE: Final = frozenset({"already_reacted", "already_pinned", "no_pin", "not_pinned"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ActCalls:
    clock: Clock

    async def asked(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """Ask Slack something. What it does not answer is not known, and so is not allowed. Raises ToolError."""
        try:
            return await ask()
        except SlackRefused as refused:
            if refused.code == "missing_scope":
                raise ToolError(platforms_texts.ACT_SCOPE, ours=True) from refused
            if refused.code in {"channel_not_found", "thread_not_found", "message_not_found", "user_not_found"}:
                raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True) from refused
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True) from refused
        except SlackError as error:
            raise ToolError(platforms_texts.ACT_UNKNOWN, ours=True) from error

    async def limited(self, call: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """Call, once more after a rate limit. Raises SlackDown where Slack did not answer, else ToolError."""
        try:
            try:
                return await call()
            except SlackLimited as limited:
                if limited.retry_after_s > PATIENCE_S:
                    raise
                await self.clock.sleep(limited.retry_after_s)
                return await call()
        except SlackLimited as limited:
            raise ToolError(platforms_texts.ACT_BUSY, ours=True) from limited
        except SlackRefused as refused:
            if refused.code == "missing_scope":
                raise ToolError(platforms_texts.ACT_SCOPE, ours=True) from refused
            raise ToolError(platforms_texts.ACT_REFUSED.format(code=refused.code), ours=True) from refused

    async def done(self, call: Callable[[], Awaitable[JsonObject]], *fine: str) -> JsonObject:
        """Call, and take the errors `fine` for success. Raises ToolError."""

        async def once() -> JsonObject:
            try:
                return await call()
            except SlackRefused as refused:
                if refused.code in _DONE_BEFORE or refused.code in fine:
                    return {}
                raise

        try:
            return await self.limited(once)
        except SlackDown as error:
            raise ToolError(platforms_texts.ACT_UNSURE, ours=True) from error
