"""Checks before a scheduled question is asked: it is asked only if the content that it watches has changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import assert_never, cast

from agent.citations import FETCH
from agent.errors import CogencyError
from agent.incoming import Incoming
from agent.messages import JsonObject, Provenance, ToolCall
from agent.ports.clock import Clock
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect
from agent.schedules.definitions import CheckKind, FirstCheck
from agent.tool_policy import PolicyAnswer, PolicyRow, decide
from agent.toolbox.registry import Toolbox
from agent.tools.read_channel import NAME as READ_CHANNEL
from agent.turn_setup import asker_of
from bot.schedules import texts as schedule_texts


class CheckFailed(CogencyError):
    """The content cannot be read now."""


@dataclass(frozen=True, slots=True)
class CheckRunner:
    """Runs a check with the read-only tools that its person may use there without approval, but not on pages of the
    operator's own network, which a person has to name.
    """

    toolbox: Toolbox
    clock: Clock
    rows: Sequence[PolicyRow] = ()

    async def digest(self, check: FirstCheck, incoming: Incoming) -> str:
        """Return a digest of the current content. Raises CheckFailed."""
        asker, call = asker_of(incoming), call_of(check)
        await self.toolbox.prepare(asker)
        registry = self.toolbox.registry(asker)
        if registry.check(call) is not None or not self._may_run(registry.get(call.name), asker):
            raise CheckFailed(schedule_texts.NOTHING_SEEN.format(tool=call.name))
        tool = registry.get(call.name)
        context = ToolContext(
            incoming.person,
            incoming.place,
            incoming.conversation,
            0,
            self.clock.now(),
            authority=incoming.authority,
            channel=incoming.channel,
        )
        try:
            async with asyncio.timeout(tool.timeout_s):
                output = await tool.run(registry.adapt_arguments(call).args, context)
        except TimeoutError:
            raise CheckFailed(schedule_texts.NOTHING_SEEN.format(tool=call.name)) from None
        text, parts = (output, ()) if isinstance(output, str) else (output.text, output.parts)
        content = (
            parts if check.kind is CheckKind.CHANNEL else (text, *parts)
        )  # the head of a channel contains the time
        return sha256(repr(content).encode()).hexdigest()

    def _may_run(self, tool: Tool, asker: Asker) -> bool:
        decided = decide(self.rows, tool.name, tool.effect, asker, Provenance.OWN)
        return tool.effect is ToolEffect.READS and decided.answer is PolicyAnswer.YES


def call_of(check: FirstCheck) -> ToolCall:
    """Return the tool call that makes a check."""
    match check.kind:
        case CheckKind.PAGE:
            return ToolCall(FETCH, {"url": check.target})
        case CheckKind.CHANNEL:
            return ToolCall(READ_CHANNEL, {"where": check.target, "last": 1})
        case CheckKind.TOOL:
            return ToolCall(check.target, cast("JsonObject", check.args))
        case _:
            assert_never(check.kind)
