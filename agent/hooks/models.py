"""Models behind `before_model`: of each request, the values that the operator hides are replaced before it goes to a
vendor, and put back in what comes.

Rules
  The whole request is looked at each time: instructions, history, memory, the question, results, the tools' texts.
  Pictures are not. The names in a tool's schema are not replaced, since vendors allow few characters there: a request
  with a value in one is not sent.
  What a vendor gets back in its own form was written by it, and so holds placeholders. Where another session has
  written it, they may stand for other values: then the vendor gets the text instead.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast

from agent import texts
from agent.embeddings import Embedded
from agent.errors import ProviderError, ProviderUnavailable, RequestWithheld
from agent.hooks.masking import Placeholders, Restoring
from agent.hooks.running import Hooks
from agent.hooks.values import HookEnd, ModelRequest, Refuse
from agent.messages import Json, Message, NativeContent, ToolSpec
from agent.model_sessions import SessionProvider, open_session
from agent.ports.embeddings import Embedder
from agent.ports.model import (
    CallOptions,
    Capabilities,
    ModelSession,
    Provider,
    ProviderEvent,
    ResponseEnded,
    TokensArrived,
)

REFUSED: Final = "The operator's before_model refused the request"
IN_SCHEMA: Final = (
    "A value that the operator's before_model hides is part of a name in the schema of the tool {tool}, so the request "
    "was not sent. Rename it there, or do not hide the value"
)
_KEYWORDS: Final = frozenset(
    """$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalProperties allOf anyOf
    const contains contentEncoding contentMediaType default definitions dependentRequired dependentSchemas deprecated
    description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains maxItems maxLength
    maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern
    patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems
    unevaluatedProperties uniqueItems writeOnly""".split()  # noqa: SIM905 -- as a list, it takes sixty lines
)
FAILED: Final = "The operator's before_model failed, so the request was not sent. The log says why"
WITHHELD: Final = "(withheld)"  # Embedded in place of a text that may not leave, so that the others are embedded


class HookedProvider(SessionProvider):
    """A model behind the hook. It has sessions, also where the model has none: a session remembers its placeholders."""

    def __init__(self, provider: Provider, hooks: Hooks) -> None:
        self._provider = provider
        self._hooks = hooks

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def capabilities(self) -> Capabilities:
        return replace(self._provider.capabilities, resume=True)

    def connect(self, options: CallOptions) -> "HookedSession":
        return HookedSession(self._provider, self._hooks, options)


class HookedSession:
    def __init__(self, provider: Provider, hooks: Hooks, options: CallOptions) -> None:
        self._provider = provider
        self._hooks = hooks
        self._options = options
        self._placeholders = Placeholders()
        self._session: ModelSession | None = None
        self._natives: list[NativeContent] = []

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        tools = self._options.tools if self._session is None else ()
        seen = (*_texts_of(messages), *_texts_of_tools(tools))
        await _hide(self._hooks, self._placeholders, seen)
        if self._session is None:  # its options hold the tools' texts
            tools = tuple(map(self._hide_tool, tools))
            self._session = open_session(self._provider, replace(self._options, tools=tools))
        restoring = Restoring(self._placeholders)
        try:
            async with aclosing(self._session.answer(list(map(self._hide_message, messages)))) as stream:
                async for event in stream:
                    if isinstance(event, TokensArrived):
                        if text := restoring.feed(event.text):
                            yield TokensArrived(text)
                        continue
                    if isinstance(event, ResponseEnded):
                        if event.native is not None:
                            self._natives.append(event.native)
                        if rest := restoring.flush():
                            yield TokensArrived(rest)
                    yield event
        except ProviderError:
            if rest := restoring.flush():
                yield TokensArrived(rest)
            raise
        if rest := restoring.flush():
            yield TokensArrived(rest)

    async def close(self) -> tuple[str, ...]:
        return () if self._session is None else await self._session.close()

    def _hide_message(self, message: Message) -> Message:
        hide = self._placeholders.hide
        is_own = any(message.native is native for native in self._natives)
        calls = tuple(
            replace(call, args=cast("dict[str, Json]", self._placeholders.hide_json(dict(call.args))))
            for call in message.calls
        )
        return replace(
            message,
            text=hide(message.text),
            said=hide(message.said),
            calls=calls,
            native=message.native if is_own else None,
        )

    def _hide_tool(self, tool: ToolSpec) -> ToolSpec:
        hide = self._placeholders.hide
        names = [name for name in _names(dict(tool.schema)) if name not in _KEYWORDS]
        if any(hide(name) != name for name in names):
            raise ProviderUnavailable(f"{IN_SCHEMA.format(tool=hide(tool.name))}.", person=texts.HOOK_FAILED)
        schema = cast("dict[str, Json]", self._placeholders.hide_json(dict(tool.schema), _KEYWORDS))
        return replace(tool, description=hide(tool.description), schema=schema)


async def _hide(hooks: Hooks, placeholders: Placeholders, seen: Sequence[str]) -> None:
    """Let the hook see the texts of a request. Raises ProviderError if it may not be sent."""
    hidden, use = await hooks.model(ModelRequest(tuple(seen)))
    if isinstance(hidden, Refuse):
        if use.end is HookEnd.FAILED:
            raise ProviderUnavailable(f"{FAILED}.", person=hidden.sentence)
        raise RequestWithheld(f"{REFUSED}.", quoted=hidden.sentence, person=hidden.sentence)
    placeholders.add(hidden.values, seen)


def _texts_of(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        yield message.text
        if message.said:
            yield message.said
        for call in message.calls:
            yield from _strings(dict(call.args))


def _texts_of_tools(tools: Sequence[ToolSpec]) -> Iterator[str]:
    for tool in tools:
        yield tool.description
        yield from _strings(dict(tool.schema))


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)
        case _:
            pass


def _names(value: Json) -> Iterator[str]:
    match value:
        case list():
            for item in value:
                yield from _names(item)
        case dict():
            for name, item in value.items():
                yield name
                yield from _names(item)
        case _:
            pass


class HookedEmbedder:
    """A model for embeddings behind the hook. A text that is refused is not sent."""

    def __init__(self, embedder: Embedder, hooks: Hooks) -> None:
        self._embedder = embedder
        self._hooks = hooks

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def weight(self) -> float:
        return self._embedder.weight

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await self._embedder.embed([await self._hidden(text) for text in texts])

    async def _hidden(self, text: str) -> str:
        placeholders = Placeholders()
        try:
            await _hide(self._hooks, placeholders, [text])
        except RequestWithheld:
            return WITHHELD
        return placeholders.hide(text)
