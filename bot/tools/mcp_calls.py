"""One call of an MCP server: what it may ask the person for whom it runs, and what it brings.

Rules
  One question after the other, so many for each call; once somebody has put one off, or let its time pass, the call
  asks no more. With the call ends what it asks. What a call brings that was told something by its person is kept for
  the turn only, and theirs alone: it may say it again.
  Before 2026-07-28 a server asks by a request of its own, which over standard input and output names no call. It is
  asked of nobody unless all that is under way there, or was given up just now, is of one person in one conversation.
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
from agent.ports import Ask, ToolContext
from agent.tools.registry import ToolLimits
from bot.tools.mcp_listing import one_line
from bot.tools.mcp_questions import QuestionRefused, checked_question

log = logging.getLogger(__name__)

# Of a call that is asked for again: each of its questions, and some in which it asks for nothing.
MOST_ROUNDS: Final = 8
# How long a call that was given up may still ask: as long as a server works on it without knowing.
GIVEN_UP_S: Final = 300.0
MOST_GIVEN_UP: Final = 100  # People and conversations that are told apart; of more nobody is asked
ROUND_PAUSE_S: Final = 0.2
NEEDS_INPUT: Final = "the server asks the person for something again and again: tell them, and go on without it"
ASKS_OTHERWISE: Final = "the server asks for something that cannot be given here (sampling, or a list of folders)"
NOT_OPENED: Final = (
    "the server needs a page to be opened first, and the person did not: tell them, and go on without it"
)

Asker: TypeAlias = tuple[str, str]  # A person's id, and the conversation

# What has to be answered before a call can be made again: in the protocol of 2026, and in the one before.
Required: TypeAlias = types.InputRequiredResult | UrlElicitationRequiredError


@dataclass(eq=False)
class CallQuestions:
    """`source`: the operator's name of the server. `most`: questions."""

    source: str
    asker: Asker
    ask: Ask
    most: int
    waiting: int = 0
    """Questions that wait for the person now."""
    asked: int = 0
    told: bool = False
    """Whether the server was told something by the person, which it may tell again."""
    _over: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asking: set["asyncio.Task[Elicited]"] = field(default_factory=set["asyncio.Task[Elicited]"])
    _rounds: int = 0

    async def elicited(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the person says to it. Never raises, but if it is cancelled: then the question ends, too."""
        self.asked += 1
        if self._over or self.asked > self.most:
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
        asking = asyncio.ensure_future(self._answered(question))
        self._asking.add(asking)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()
            self._asking.discard(asking)
        said = Elicited(ElicitAction.CANCEL) if asking.cancelled() else asking.result()
        is_form = said.action is ElicitAction.ACCEPT and not question.address
        self.told = self.told or bool(said.values)
        content = dict(said.values) if is_form else None
        return types.ElicitResult.model_validate({"action": said.action.value, "content": content})

    async def _answered(self, question: Elicitation) -> Elicited:
        async with self._turn:
            if self._over:
                return Elicited(ElicitAction.CANCEL)
            self.waiting += 1
            try:
                said = await self.ask(question)
            except StoreError as error:
                log.warning("MCP server %s: its question could not be kept: %s", self.source, error)
                said = Elicited(ElicitAction.CANCEL)
            finally:
                self.waiting -= 1
            self._over = self._over or said.action is ElicitAction.CANCEL
            return said

    async def again(self, params: types.CallToolRequestParams, required: Required) -> types.CallToolRequestParams:
        """The call as it is made again, with the answers. Raises ToolError."""
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise ToolError(NEEDS_INPUT)
        if isinstance(required, UrlElicitationRequiredError):
            for page in required.elicitations[: self.most]:
                if (await self.elicited(page)).action != "accept":
                    raise ToolError(NOT_OPENED)
            return params
        requests = required.input_requests or {}
        if len(requests) > self.most:
            raise ToolError(NEEDS_INPUT)
        responses: types.InputResponses = {}
        for name, request in requests.items():
            if not isinstance(request, types.ElicitRequest):
                raise ToolError(ASKS_OTHERWISE)
            responses[name] = await self.elicited(request.params)
        if not requests:
            await asyncio.sleep(ROUND_PAUSE_S * self._rounds)
        return params.model_copy(update={"input_responses": responses or None, "request_state": required.request_state})

    def end(self) -> None:
        self._over = True
        for asking in self._asking:
            asking.cancel()


def questions_of(context: ToolContext, source: str, most: int) -> CallQuestions:
    return CallQuestions(source, (context.person.id, context.conversation), context.ask, most)


def pages_first(error: MCPError) -> UrlElicitationRequiredError | None:
    """What has to be opened before the call is made again, if that is what the error says."""
    if error.code != types.URL_ELICITATION_REQUIRED:
        return None
    try:
        return UrlElicitationRequiredError.from_error(error.error)
    except (AttributeError, TypeError, ValueError):
        return None


class GivenUp:
    """Whose calls were given up of late at one connection, which does not know yet that nobody waits for them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._askers = dict[Asker | None, float]()

    def add(self, questions: CallQuestions | None) -> None:
        """`questions`: None where its person is not asked, whose words it may ask about all the same."""
        now = self._monotonic()
        self._askers = {one: when for one, when in self._askers.items() if when >= now - GIVEN_UP_S}
        full = len(self._askers) >= MOST_GIVEN_UP
        self._askers[None if questions is None or full else questions.asker] = now

    def sole(self, under_way: Iterable[CallQuestions | None]) -> CallQuestions | None:
        """Whom a question without the name of its call is for; None if that is not sure, or nobody may be asked."""
        calls, since = [*under_way], self._monotonic() - GIVEN_UP_S
        askers = {asker for asker, when in self._askers.items() if when >= since}
        askers |= {one.asker for one in calls if one is not None}
        theirs = [one for one in calls if one is not None]
        if len(askers) != 1 or len(theirs) < len(calls):
            return None
        return min(theirs, key=lambda one: one.asked, default=None)  # each of several has its own question


# What a server answers, as parts of a result. Pure.

MAX_PARTS: Final = 200  # Of one result; the rest is counted
MAX_ERROR_CHARS: Final = 2_000
MAX_LISTED: Final = 100  # Resources or prompts in one list
# What models see; any other picture is a file.
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_NO_FILE_NAME: Final = re.compile(r"[^\w.\-]+", re.ASCII)
_BLANK: Final = re.compile(r"[\s\x00-\x20]")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_ENDINGS: Final = {
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/x-wav": "wav", "audio/ogg": "ogg", "audio/mp4": "m4a",
    "audio/flac": "flac", "audio/webm": "webm", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif",
    "image/webp": "webp", "image/svg+xml": "svg", "application/pdf": "pdf", "application/json": "json",
    "application/zip": "zip", "text/csv": "csv", "text/plain": "txt", "text/html": "html",
}  # fmt: skip
_LIMITS: Final = ToolLimits()


def parts_of(result: types.CallToolResult) -> tuple[ResultPart, ...]:
    """What a call brought. Raises ToolError with the server's words if it says that it failed."""
    parts = tuple(part for number, block in enumerate(result.content[:MAX_PARTS]) for part in _block(block, number))
    if result.is_error:
        said = "\n".join(part for part in parts if isinstance(part, str))
        raise ToolError(said[:MAX_ERROR_CHARS] or "the server says that it failed, and not why")
    structured: Json = result.structured_content
    if structured is not None and not _is_said(parts, structured):
        text = json.dumps(structured, ensure_ascii=False)
        fits = len(text) <= _LIMITS.max_result_chars
        parts = (*parts, StructuredData(structured) if fits else f"{text[: _LIMITS.max_result_chars]}\n[cut]")
    left = len(result.content) - MAX_PARTS
    return parts if left <= 0 else (*parts, f"[left out: {left} more parts]")


def _is_said(parts: Sequence[ResultPart], structured: Json) -> bool:
    """Whether a text holds it already: servers should give it in both forms, for older clients.

    The official SDK for Python wraps a function's plain value: "3" and {"result": 3}.
    """
    wrapped = structured["result"] if isinstance(structured, dict) and structured.keys() == {"result"} else structured
    if (
        isinstance(wrapped, str | int | float)
        and (wrapped if isinstance(wrapped, str) else json.dumps(wrapped)) in parts
    ):
        return True
    for part in parts:
        if isinstance(part, str) and part.lstrip()[:1] in ("{", "[") and not is_too_deep(part):
            try:
                if json.loads(part) in (structured, wrapped):
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
    """No longer than a result may be, which the registry cuts again with what stands beside it."""
    most = _LIMITS.max_result_chars
    return text if len(text) <= most else f"{text[:most]}\n[cut: {len(text) - most} more characters]"


def _file(data: str, media_type: str, name: str) -> ResultPart:
    media_type = media_type.lower() if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
    try:
        read = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[left out, because it cannot be read: a file ({media_type})]"
    if media_type in _PICTURES:
        return Image(media_type, read)
    ending = _ENDINGS.get(media_type, "bin")
    return SharedFile(name if "." in name else f"{name}.{ending}", media_type, read)


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
    """What is in a resource."""
    return tuple(part for one in result.contents[:MAX_PARTS] for part in _contents(one))


def resource_list(resources: Sequence[types.Resource], templates: Sequence[types.ResourceTemplate]) -> str:
    """The resources of a server, a line each."""
    lines = [_line(str(one.uri), one.name, one.description) for one in resources[:MAX_LISTED]]
    lines += [_line(one.uri_template, one.name, one.description) for one in templates[:MAX_LISTED]]
    return "\n".join(lines) or "none"


def prompt_list(prompts: Sequence[types.Prompt]) -> str:
    """The prompts of a server, a line each with the arguments."""
    return "\n".join(_line(one.name, _arguments(one), one.description) for one in prompts[:MAX_LISTED]) or "none"


def _arguments(prompt: types.Prompt) -> str:
    named = [f"{one.name}{'' if one.required else '?'}" for one in (prompt.arguments or [])[:20]]
    return f"({', '.join(named)})" if named else ""


def _line(name: str, more: str, description: str | None) -> str:
    return one_line(" ".join(filter(None, (name, more, f"- {description}" if description else ""))), 500)


def prompt_parts(result: types.GetPromptResult) -> tuple[ResultPart, ...]:
    """What a prompt says. It is text like any other: who wrote it gives the model no orders."""
    return tuple(part for number, one in enumerate(result.messages[:MAX_PARTS]) for part in _block(one.content, number))


def arguments_of(args: JsonObject) -> dict[str, str]:
    """The arguments of a prompt, which are texts."""
    given = args.get("arguments")
    return {name: str(value) for name, value in given.items()} if isinstance(given, dict) else {}
