"""`python`: runs code that the model writes, on the files of the conversation.

Rules
  The code runs in a sandbox (`bot.python.engine`); the call changes nothing outside of it, so that it may run again.
  A result belongs to the readers of the files that the code was given; without files, to those of the place; and of
  these to the readers of what its tools returned (`code_tools`).
  What the code prints is data. Once files were there, whose names others chose, it never counts as the asker's own
  words; and no address in it counts as read, because the code may have put it together.
  Errors of the code are results, which the model reads to mend it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from agent.errors import ToolError
from agent.events import SECONDS
from agent.inner_calls import labelled
from agent.messages import Json, JsonObject, Provenance
from agent.ports.tools import Report, ToolContext, ToolEffect, ToolOutput
from agent.protocol.render import neutralise
from bot.chat.attachments.kinds import shown_note
from bot.python import texts
from bot.python.code_argument import code_of
from bot.python.code_tools import CodeTools
from bot.python.conversation_files import ConversationFiles, GivenFiles, name_of_call
from bot.python.engine import EngineUnavailable, Limit, PythonEngine, RunEnded, RunFile, RunLimits
from bot.python.result_files import ResultFiles, result_files
from bot.python.traceback_text import shorten_error

NAME: Final = "python"
REPORT_S: Final = 3.0  # Between two reports of how long it has run: each edits the reply
MAX_OUTPUT_CHARS: Final = 16_000  # For the model: less than a result may hold, so that the lines below it stay
MAX_LISTED: Final = 20  # Names of files in a result

_PROPERTIES: Final[dict[str, Json]] = {
    "code": {"type": "string", "minLength": 1, "description": "a whole script; it starts anew each time"},
}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": ["code"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class PythonTool:
    engine: PythonEngine
    files: ConversationFiles
    limits: RunLimits
    timeout_s: float = 300.0
    """Fetching the files, waiting for the runs of others and for tools, and the run itself."""
    name: str = NAME
    description: str = texts.DESCRIPTION
    effect: ToolEffect = ToolEffect.READS
    runs_code: bool = True
    report_s: float = REPORT_S
    schema: JsonObject = field(default_factory=lambda: _SCHEMA)

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        code = code_of(args)
        if len(code) > self.limits.code_chars:
            raise ToolError(texts.CODE_TOO_LONG.format(limit=self.limits.code_chars), ours=True)
        if context.calls_before >= self.limits.per_turn:
            raise ToolError(texts.TOO_OFTEN.format(limit=self.limits.per_turn), ours=True)
        given = await self.files.of(context, self.limits.given_bytes)
        if saved := given.saved_by(name_of_call(context)):
            return await _saved_before(given, saved, context)
        code_tools = CodeTools(context.inner)
        functions = code_tools.functions_for(code)
        try:
            async with _reporting(context.report, self.limits.seconds, self.report_s) as begun:
                earlier = [RunFile(name, file.data) for name, file in given.earlier.items()]
                ended = await self.engine.run(code, given.files, context.person.id, begun, functions, earlier)
        except EngineUnavailable as error:
            raise ToolError(str(error), ours=True) from None
        labels = labelled(_output_of(given, context), code_tools.results, context.place)
        # Megabytes of tables take long to look through. What code left that failed is hardly what was asked for.
        results = ResultFiles() if ended.failed else await asyncio.to_thread(result_files, ended.files)
        is_kept = await self.files.save(context, given, ended, labels)
        text = neutralise(result_text(ended, given, results, self.limits, is_kept=is_kept))
        return replace(labels, text=text, parts=(*results.files, *results.seen), failed=ended.failed)


def _output_of(given: GivenFiles, context: ToolContext) -> ToolOutput:
    """Return output without a text that was computed from these files."""
    words = Provenance.FOREIGN if given.files or given.earlier or given.left_out else context.words
    return ToolOutput("", given.messages, (), given.audience, words=words, read=(), documents=given.documents)


async def _saved_before(given: GivenFiles, saved: Sequence[RunFile], context: ToolContext) -> ToolOutput:
    """Return the result of a call that has run before its process was killed: what is left are its files."""
    results = await asyncio.to_thread(result_files, saved)
    text = neutralise("\n".join([texts.RAN_BEFORE, *_listed(texts.EARLIER, [shown_note(file.name) for file in saved])]))
    return replace(_output_of(given, context), text=text, parts=(*results.files, *results.seen))


def result_text(
    ended: RunEnded, given: GivenFiles, results: ResultFiles, limits: RunLimits, *, is_kept: bool = True
) -> str:
    """Return what the model reads of a run. `is_kept`: whether its files are there for later runs. Pure."""
    lines = list[str]()
    match ended.limit:
        case Limit.TIME:
            lines.append(texts.OUT_OF_TIME.format(seconds=limits.seconds))
        case Limit.FILE_CALLS:
            lines.append(texts.OUT_OF_FILE_CALLS)
        case Limit.CRASH:
            lines.append(texts.CRASHED.format(megabytes=limits.memory_bytes // (1024 * 1024)))
        case None if ended.failed:
            lines.append(texts.FAILED)
        case None:
            pass
    if output := ended.output.strip("\n"):
        lines += [texts.PRINTED, _middle_cut(output), *([texts.CUT] if ended.is_cut else [])]
    if error := shorten_error(ended.error).strip("\n"):
        lines += [texts.ERRORS, error]
    if not (lines or results.files or results.left_out):
        lines.append(texts.NOTHING_PRINTED)
    lines += _listed(texts.NOT_HANDED_OVER, results.left_out)
    lines += _listed(texts.LEFT_BY_FAILED, [shown_note(file.name) for file in ended.files]) if ended.failed else []
    lines += [] if is_kept else [texts.NOT_KEPT]
    if ended.failed and given.files:
        lines += _listed(texts.GIVEN, [file.name for file in given.files])
    lines += _listed(texts.EARLIER, [shown_note(name) for name in given.earlier if name not in ended.removed])
    lines += _listed(texts.NOT_GIVEN, given.left_out)
    return "\n".join(lines)


def _middle_cut(output: str) -> str:
    """Return the beginning and the end of a long output: results often stand at its end."""
    if len(output) <= MAX_OUTPUT_CHARS:
        return output
    half = MAX_OUTPUT_CHARS // 2
    return f"{output[:half]}\n[{len(output) - MAX_OUTPUT_CHARS:,} characters left out]\n{output[-half:]}"


def _listed(head: str, names: Sequence[str]) -> list[str]:
    more = [f"and {len(names) - MAX_LISTED} more"] if len(names) > MAX_LISTED else []
    return [f"{head} {'; '.join([*names[:MAX_LISTED], *more])}"] if names else []


@asynccontextmanager
async def _reporting(report: Report, limit_s: float, every_s: float) -> AsyncGenerator[Callable[[], None]]:
    """Yield what is called when a run begins: from then on its seconds are reported, until the block ends."""
    has_begun = asyncio.Event()

    async def tell() -> None:
        await has_begun.wait()
        seconds = 0.0
        while (seconds := seconds + every_s) <= limit_s:
            await asyncio.sleep(every_s)
            await report(seconds, limit_s, SECONDS)

    task = asyncio.create_task(tell())
    try:
        yield has_begun.set
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
