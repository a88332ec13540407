"""The operator's hooks for what an MCP client calls and reads outside of turns.

Rules
  A call passes `before_call` before any of it is stored. What a client reads passes `after_answer`, as an answer does,
  and then `before_model`, because the client's model reads it: hidden values become placeholders, and none is put back,
  since nothing that the client's model writes comes back here.
  The audit has each use of `before_call` and `after_answer`, without words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.doors import MCP_CLIENT
from agent.errors import Refused, ToolError
from agent.hooks.masking import Placeholders
from agent.hooks.running import Hooks
from agent.hooks.values import Answer, Call, HookPoint, HookUse, ModelRequest, Refuse
from agent.memory.audience import PersonAudience
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.ports.tool_audit import ToolAudit
from bot.chat.audit import hook_use


@dataclass(frozen=True, slots=True)
class ClientHooks:
    """For one request. `hooks`: None if the operator has none."""

    hooks: Hooks | None
    audit: ToolAudit
    clock: Clock

    async def before_call(
        self, tool: str, args: JsonObject, effect: str, person: str, conversation: str = ""
    ) -> dict[str, Json]:
        """Return the arguments with which a call may run. Raises ToolError if it may not, and StoreError."""
        if self.hooks is None or not self.hooks.has(HookPoint.BEFORE_CALL):
            return {**args}
        call = Call(tool, args, effect, person=person, channel=MCP_CLIENT, conversation=conversation)
        result, use = await self.hooks.call(call)
        await self._note(use, person)
        if isinstance(result, Refuse):
            raise ToolError(result.sentence)
        return {**result.arguments}

    async def leaving(self, text: str, person: str, question: str = "", conversation: str = "") -> str:
        """Return a text as a client may read it. Raises Refused if it may not, and StoreError."""
        if self.hooks is None:
            return text
        checked = await self._after_answer(self.hooks, text, person, question, conversation)
        if isinstance(checked, Refuse):
            raise Refused(checked.sentence)
        (hidden,) = await _hidden(self.hooks, [text if checked is None else checked])
        return hidden

    async def titles_leaving(self, titles: Sequence[str], person: str) -> list[str]:
        """Return the titles of threads as a client may read them: "" for those that `after_answer` changes or refuses,
        as a part of a list is no answer. Raises Refused if nothing may be read, and StoreError.
        """
        if self.hooks is None:
            return [*titles]
        checked = [await self._after_answer(self.hooks, title, person, "", "") for title in titles]
        kept = [title if verdict is None else "" for title, verdict in zip(titles, checked, strict=True)]
        return await _hidden(self.hooks, kept)

    async def _after_answer(
        self, hooks: Hooks, text: str, person: str, question: str, conversation: str
    ) -> str | Refuse | None:
        if not text.strip() or not hooks.has(HookPoint.AFTER_ANSWER):
            return None
        result, use = await hooks.answer(Answer(text, question, person, MCP_CLIENT, conversation))
        await self._note(use, person)
        return result

    async def _note(self, use: HookUse, person: str) -> None:
        row = hook_use(self.clock.now(), use, person, MCP_CLIENT, PersonAudience(person))
        await self.audit.add(row)


async def _hidden(hooks: Hooks, texts: Sequence[str]) -> list[str]:
    """Return the texts as a model may read them. Raises Refused if it may not."""
    if not hooks.has(HookPoint.BEFORE_MODEL) or not any(texts):
        return [*texts]
    result, _ = await hooks.model(ModelRequest(tuple(texts)))
    if isinstance(result, Refuse):
        raise Refused(result.sentence)
    placeholders = Placeholders()
    placeholders.add(result.values, texts)
    return [placeholders.hide(text) for text in texts]
