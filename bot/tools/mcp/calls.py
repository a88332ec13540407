"""One call of an MCP server: its questions to the person for whom it runs, and its result.

Rules
  A call asks one question after the other, up to a limit. After a question was cancelled or expired, the call asks no
  more. A question ends with its call. If the person gave the server an answer, the call's result may repeat it: such a
  result is kept for the turn only, and for this person alone.
  Before protocol 2026-07-28 a server asks with a request of its own, which over standard input and output names no
  call. It is cancelled unless all calls that run there, or were given up recently, are of one person in one
  conversation.
"""

import asyncio
import base64
import binascii
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never
from urllib.parse import urlsplit

import mcp_types as types
from mcp import MCPError, UrlElicitationRequiredError

from agent.errors import StoreError, ToolError
from agent.messages import (
    ElicitAction,
    Elicitation,
    Elicited,
    Image,
    Json,
    JsonObject,
    Link,
    ResultPart,
    SharedFile,
    StructuredData,
    is_too_deep,
)
from agent.ports.tools import Ask, ToolContext
from agent.toolbox.results import ToolLimits
from bot.tools.mcp.listing import one_line
from bot.tools.mcp.questions import QuestionRefused, checked_question

log = logging.getLogger(__name__)

# Repetitions of a call: one for each of its questions, and some without a question.
MAX_ROUNDS: Final = 8
# How long a call that was given up may still ask: the server works on it until it notices.
GIVEN_UP_S: Final = 300.0
MAX_GIVEN_UP: Final = 100  # Pairs of person and conversation that are told apart; with more, questions are cancelled
ROUND_PAUSE_S: Final = 0.2
NEEDS_INPUT: Final = "the server asks the person for something again and again: tell them, and go on without it"
ASKS_OTHERWISE: Final = "the server asks for something that cannot be given here (sampling, or a list of folders)"
NOT_OPENED: Final = (
    "the server needs a page to be opened first, and the person did not: tell them, and go on without it"
)

Asker: TypeAlias = tuple[str, str]  # A person's id, and the conversation

# What the server requires before the call is repeated: in the protocol of 2026, and in the one before.
Required: TypeAlias = types.InputRequiredResult | UrlElicitationRequiredError


@dataclass(eq=False)
class CallQuestions:
    """Asks the questions of one call. `source`: the operator's name of the server. `limit`: the number of questions."""

    source: str
    asker: Asker
    ask: Ask
    limit: int
    waiting: int = 0
    """Questions that wait for the person now."""
    asked: int = 0
    has_answers: bool = False
    """Whether the server was given values by the person, which its result may repeat."""
    _over: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _tasks: set["asyncio.Task[Elicited]"] = field(default_factory=set["asyncio.Task[Elicited]"])
    _rounds: int = 0

    async def elicit(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Return the person's answer. Raises nothing but CancelledError, which also ends the question."""
        self.asked += 1
        if self._over or self.asked > self.limit:
            return types.ElicitResult(action="cancel")
        try:
            match params:
                case types.ElicitRequestURLParams(message=message, url=address):
                    question = checked_question(self.source, message, None, address)
                case types.ElicitRequestFormParams(message=message, requested_schema=schema):
                    question = checked_question(self.source, message, schema)
        except QuestionRefused as why:
            log.info("MCP server %s: what it asks is shown to nobody: %s", self.source, why)
            return types.ElicitResult(action="decline")
        task = asyncio.ensure_future(self._ask_in_order(question))
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._tasks.discard(task)
        answer = Elicited(ElicitAction.CANCEL) if task.cancelled() else task.result()
        is_form = answer.action is ElicitAction.ACCEPT and not question.address
        self.has_answers = self.has_answers or bool(answer.values)
        content = dict(answer.values) if is_form else None
        return types.ElicitResult.model_validate({"action": answer.action.value, "content": content})

    async def _ask_in_order(self, question: Elicitation) -> Elicited:
        async with self._lock:
            if self._over:
                return Elicited(ElicitAction.CANCEL)
            self.waiting += 1
            try:
                answer = await self.ask(question)
            except StoreError as error:
                log.warning("MCP server %s: its question could not be kept: %s", self.source, error)
                answer = Elicited(ElicitAction.CANCEL)
            finally:
                self.waiting -= 1
            self._over = self._over or answer.action is ElicitAction.CANCEL
            return answer

    async def again(self, params: types.CallToolRequestParams, required: Required) -> types.CallToolRequestParams:
        """Return the parameters with which the call is repeated, with the answers. Raises ToolError."""
        self._rounds += 1
        if self._rounds > MAX_ROUNDS:
            raise ToolError(NEEDS_INPUT)
        if isinstance(required, UrlElicitationRequiredError):
            for page in required.elicitations[: self.limit]:
                if (await self.elicit(page)).action != "accept":
                    raise ToolError(NOT_OPENED)
            return params
        requests = required.input_requests or {}
        if len(requests) > self.limit:
            raise ToolError(NEEDS_INPUT)
        responses: types.InputResponses = {}
        for name, request in requests.items():
            if not isinstance(request, types.ElicitRequest):
                raise ToolError(ASKS_OTHERWISE)
            responses[name] = await self.elicit(request.params)
        if not requests:
            await asyncio.sleep(ROUND_PAUSE_S * self._rounds)
        return params.model_copy(update={"input_responses": responses or None, "request_state": required.request_state})

    def end(self) -> None:
        self._over = True
        for task in self._tasks:
            task.cancel()


def questions_of(context: ToolContext, source: str, limit: int) -> CallQuestions:
    return CallQuestions(source, (context.person.id, context.conversation), context.ask, limit)


def pages_first(error: MCPError) -> UrlElicitationRequiredError | None:
    """Return the pages to be opened before the call is repeated, if the error requires any."""
    if error.code != types.URL_ELICITATION_REQUIRED:
        return None
    try:
        return UrlElicitationRequiredError.from_error(error.error)
    except (AttributeError, TypeError, ValueError):
        return None


class GivenUp:
    """The askers of calls that were given up recently at one connection. The server may still work on such calls."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._askers = dict[Asker | None, float]()

    def add(self, questions: CallQuestions | None) -> None:
        """Record a call that was given up. `questions`: None if it cannot ask; it counts all the same, as a question of
        the server may be about its words.
        """
        now = self._monotonic()
        self._askers = {asker: when for asker, when in self._askers.items() if when >= now - GIVEN_UP_S}
        full = len(self._askers) >= MAX_GIVEN_UP
        self._askers[None if questions is None or full else questions.asker] = now

    def sole(self, running: Iterable[CallQuestions | None]) -> CallQuestions | None:
        """Return the call to which a question without a call's name belongs; None if that is not certain, or the call
        cannot ask.
        """
        calls, since = [*running], self._monotonic() - GIVEN_UP_S
        asking = [call for call in calls if call is not None]
        askers = {asker for asker, when in self._askers.items() if when >= since} | {call.asker for call in asking}
        if len(askers) != 1 or len(asking) < len(calls):
            return None
        return min(asking, key=lambda call: call.asked, default=None)  # spreads several questions over the calls


# The result of a call, as parts. Pure.

MAX_PARTS: Final = 200  # Of one result; the rest is counted
MAX_ERROR_CHARS: Final = 2_000
MAX_LISTED: Final = 100  # Resources or prompts in one list
# The image types that models accept; any other image is a file.
_IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_NO_FILE_NAME: Final = re.compile(r"[^\w.\-]+", re.ASCII)
_BLANK: Final = re.compile(r"[\s\x00-\x20]")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_EXTENSIONS: Final = {
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/mp4": "m4a",
    "audio/flac": "flac", "audio/webm": "webm", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif",
    "image/webp": "webp", "image/svg+xml": "svg", "application/pdf": "pdf", "application/json": "json",
    "application/zip": "zip", "text/csv": "csv", "text/plain": "txt", "text/html": "html",
}  # fmt: skip
_LIMITS: Final = ToolLimits()


def parts_of(result: types.CallToolResult) -> tuple[ResultPart, ...]:
    """Return the parts of a result. Raises ToolError with the server's text if the call failed."""
    parts = tuple(part for number, block in enumerate(result.content[:MAX_PARTS]) for part in _block(block, number))
    if result.is_error:
        message = "\n".join(part for part in parts if isinstance(part, str))
        raise ToolError(message[:MAX_ERROR_CHARS] or "the server says that it failed, and not why")
    structured: Json = result.structured_content
    if structured is not None and not _is_repeated(parts, structured):
        text = json.dumps(structured, ensure_ascii=False)
        fits = len(text) <= _LIMITS.max_result_chars
        parts = (*parts, StructuredData(structured) if fits else f"{text[: _LIMITS.max_result_chars]}\n[cut]")
    left = len(result.content) - MAX_PARTS
    return parts if left <= 0 else (*parts, f"[left out: {left} more parts]")


def _is_repeated(parts: Sequence[ResultPart], structured: Json) -> bool:
    """Whether a text has the structured content already: servers should send both forms, for older clients.

    The official SDK for Python wraps a function's plain value: "3" and {"result": 3}.
    """
    value = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    if isinstance(value, str | int | float) and (value if isinstance(value, str) else json.dumps(value)) in parts:
        return True
    for part in parts:
        if isinstance(part, str) and part.lstrip()[:1] in ("{", "[") and not is_too_deep(part):
            try:
                if json.loads(part) in (structured, value):
                    return True
            except ValueError:
                pass
    return False


def _block(block: types.ContentBlock, number: int) -> Iterator[ResultPart]:
    match block:
        case types.TextContent(text=text):
            yield _text(text)
        case types.ImageContent(data=data, mime_type=media_type) | types.AudioContent(data=data, mime_type=media_type):
            yield _file(data, media_type, f"result-{number + 1}")
        case types.ResourceLink(uri=uri, name=name, description=description):
            yield _link(str(uri), name, description or "")
        case types.EmbeddedResource(resource=resource):
            yield from _contents(resource)
        case _:
            assert_never(block)


def _contents(resource: types.TextResourceContents | types.BlobResourceContents) -> Iterator[ResultPart]:
    uri = str(resource.uri)
    match resource:
        case types.TextResourceContents(text=text):
            yield _text(f"{one_line(uri, 500)}:\n{text[: _LIMITS.max_result_chars]}")
        case types.BlobResourceContents(blob=blob, mime_type=media_type):
            yield _file(blob, media_type or "application/octet-stream", _base_name(uri))
        case _:
            assert_never(resource)


def _text(text: str) -> str:
    """Cut a text to the maximum length of a result. The registry cuts the whole result again."""
    limit = _LIMITS.max_result_chars
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: {len(text) - limit} more characters]"


def _file(data: str, media_type: str, name: str) -> ResultPart:
    media_type = media_type.lower() if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[left out, because it cannot be read: a file ({media_type})]"
    if media_type in _IMAGE_TYPES:
        return Image(media_type, content)
    extension = _EXTENSIONS.get(media_type, "bin")
    return SharedFile(name if "." in name else f"{name}.{extension}", media_type, content)


def _base_name(uri: str) -> str:
    try:
        path = urlsplit(uri).path or uri
    except ValueError:
        path = uri
    return _NO_FILE_NAME.sub("_", path.rstrip("/").rsplit("/", 1)[-1]).strip("._")[:80] or "resource"


def _link(uri: str, name: str, description: str) -> ResultPart:
    title = " - ".join(filter(None, (one_line(name, 200), one_line(description, 500))))
    if uri.startswith(("https://", "http://")) and len(uri) <= 2_000 and not _BLANK.search(uri):
        return Link(uri, title)
    return f"{title} (resource {one_line(uri, 500)})"


def resource_parts(result: types.ReadResourceResult) -> tuple[ResultPart, ...]:
    return tuple(part for resource in result.contents[:MAX_PARTS] for part in _contents(resource))


def resource_list(resources: Sequence[types.Resource], templates: Sequence[types.ResourceTemplate]) -> str:
    """List the resources of a server, a line each."""
    lines = [_line(str(resource.uri), resource.name, resource.description) for resource in resources[:MAX_LISTED]]
    lines += [_line(template.uri_template, template.name, template.description) for template in templates[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def prompt_list(prompts: Sequence[types.Prompt]) -> str:
    """List the prompts of a server, a line each with their arguments."""
    lines = [_line(prompt.name, _arguments(prompt), prompt.description) for prompt in prompts[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def _arguments(prompt: types.Prompt) -> str:
    names = [f"{argument.name}{'' if argument.required else '?'}" for argument in (prompt.arguments or [])[:20]]
    return f"({', '.join(names)})" if names else ""


def _line(name: str, more: str, description: str | None) -> str:
    return one_line(" ".join(filter(None, (name, more, f"- {description}" if description else ""))), 500)


def prompt_parts(result: types.GetPromptResult) -> tuple[ResultPart, ...]:
    """Return the messages of a prompt. To the model it is text like any other result, and no instruction."""
    messages = enumerate(result.messages[:MAX_PARTS])
    return tuple(part for number, message in messages for part in _block(message.content, number))


def arguments_of(args: JsonObject) -> dict[str, str]:
    """Return the arguments of a prompt as texts."""
    arguments = args.get("arguments")
    return {name: str(value) for name, value in arguments.items()} if isinstance(arguments, dict) else {}
