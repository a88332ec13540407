"""Models behind `before_model`: of each request, the values that the operator hides are replaced before it goes to a
vendor, and put back in what comes.

Rules
  The whole request is looked at each time: instructions, history, memory, the question, results, the tools' texts.
  Pictures are not.
  What a vendor gets back in its own form was written by it, and so holds placeholders. Where another session has
  written it, they may stand for other values: then the vendor gets the text instead.
"""

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final, cast

from agent.embeddings import Embedded
from agent.errors import ProviderError, ProviderUnavailable, RequestWithheld
from agent.hooks.masking import Placeholders, Restoring
from agent.hooks.running import Hooks
from agent.hooks.values import HookEnd, ModelRequest, Refuse
from agent.loop import one_round, open_session
from agent.messages import Json, Message, NativeContent, ToolSpec
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
FAILED: Final = "The operator's before_model failed, so the request was not sent. The log says why"
WITHHELD: Final = "(withheld)"  # Embedded in place of a text that may not leave, so that the others are embedded


class HookedProvider:
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

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return one_round(self.connect(options), messages)


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
        texts = (*_texts_of(messages), *_texts_of_tools(tools))
        await _hide(self._hooks, self._placeholders, texts)
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
        schema = cast("dict[str, Json]", self._placeholders.hide_json(dict(tool.schema)))
        return replace(tool, description=self._placeholders.hide(tool.description), schema=schema)


async def _hide(hooks: Hooks, placeholders: Placeholders, texts: Sequence[str]) -> None:
    """Let the hook see the texts of a request. Raises ProviderError if it may not be sent."""
    hidden, use = await hooks.model(ModelRequest(tuple(texts)))
    if isinstance(hidden, Refuse):
        if use.end is HookEnd.FAILED:
            raise ProviderUnavailable(f"{FAILED}.", person=hidden.sentence)
        raise RequestWithheld(f"{REFUSED}.", quoted=hidden.sentence, person=hidden.sentence)
    placeholders.add(hidden.values, texts)


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
            for item in value.values():
                yield from _strings(item)
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
