"""The hooks of one turn: of its question, its calls and its answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from agent.hooks.running import Hooks
from agent.hooks.values import Answer, Call, FileText, HookPoint, HookUse, Question, Refuse
from agent.incoming import Incoming, Quoted
from agent.loop import BeforeCall
from agent.messages import ToolCall
from agent.toolbox.registry import Registry

# Notes a use of a hook. Raises StoreError.
NoteUse: TypeAlias = Callable[[HookUse], Awaitable[None]]


async def _note_nothing(_: HookUse) -> None:
    pass


@dataclass(frozen=True, slots=True)
class TurnHooks:
    """What the operator's hooks say about the turn of `question`. Without `hooks` they say nothing."""

    question: Incoming
    hooks: Hooks | None = None
    note: NoteUse = _note_nothing

    @property
    def holds_answer(self) -> bool:
        """Whether no text of the answer may be shown before it is complete."""
        return self.hooks is not None and self.hooks.holds_answers

    @property
    def checks_question(self) -> bool:
        return self.hooks is not None and self.hooks.has(HookPoint.BEFORE_QUESTION)

    @property
    def checks_answer(self) -> bool:
        return self.hooks is not None and self.hooks.has(HookPoint.AFTER_ANSWER)

    async def before_question(self, text: str, files: Sequence[Quoted]) -> tuple[str, Sequence[Quoted]] | Refuse:
        """Return the question's text, and the texts of its files, as the model may read them. Raises StoreError."""
        if self.hooks is None or not self.hooks.has(HookPoint.BEFORE_QUESTION):
            return text, files
        asked = self.question
        names = tuple(FileText(file.source, file.text) for file in files)
        question = Question(text, names, asked.person.id, asked.channel, asked.conversation, asked.kind.name.lower())
        result, use = await self.hooks.question(question)
        await self.note(use)
        if isinstance(result, Refuse):
            return result
        return result.text, [replace(file, text=read.text) for file, read in zip(files, result.files, strict=True)]

    def before_call(self, tools: Registry) -> BeforeCall | None:
        """Return what sees each call of a tool; None for nothing."""
        hooks, asked = self.hooks, self.question
        if hooks is None or not hooks.has(HookPoint.BEFORE_CALL):
            return None

        async def run(call: ToolCall, by_code: bool) -> ToolCall | str:  # noqa: FBT001 -- the form of BeforeCall
            args, effect = tools.as_run(call).args, tools.get(call.name).effect.value
            given = Call(call.name, args, effect, by_code, asked.person.id, asked.channel, asked.conversation)
            result, use = await hooks.call(given)
            await self.note(use)
            if isinstance(result, Refuse):
                return result.sentence
            # One that the hook leaves as it is stays as the model wrote it: the model reads its own words again.
            return call if result.arguments == args else ToolCall(call.name, result.arguments)

        return run

    async def after_answer(self, text: str, question: str) -> str | Refuse | None:
        """Return what to show in place of the answer; None for the answer itself. Raises StoreError."""
        if self.hooks is None or not self.hooks.has(HookPoint.AFTER_ANSWER):
            return None
        asked = self.question
        answer = Answer(text, question, asked.person.id, asked.channel, asked.conversation)
        result, use = await self.hooks.answer(answer)
        await self.note(use)
        return result
