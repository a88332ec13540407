"""A model with scripted answers, for tests and demonstrations.

A script is a list of answers, one for each request in order, or one function that answers all requests. An answer is a
text, or a list of parts that are processed in order: a text arrives, an event is passed on, an error is raised, a pause
is waited for, and `Until` waits for a condition of the test. An answer without a ResponseEnded ends with
`StopReason.END`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.errors import ProviderError, ProviderRefused
from agent.messages import Message, Usage
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason, TokensArrived


@dataclass(frozen=True, slots=True)
class ScriptPause:
    """Wait before the next part."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until `happened()` returns: `Until(event.wait)`. If the event is never set, the model hangs."""

    happened: Callable[[], Awaitable[object]]


Part: TypeAlias = str | ProviderEvent | ScriptPause | Until | ProviderError
Answer: TypeAlias = str | Sequence[Part]
Answering: TypeAlias = Callable[[Sequence[Message]], Answer]


@dataclass(slots=True)
class ScriptedProvider:
    """Answers the n-th request with the n-th answer of `script`, and records all requests.

    A request after the end of the script raises ProviderRefused. `usage` is reported at the end of each answer without
    a ResponseEnded. `open_streams` is the number of answers that are being read: 0 after all generators were closed.
    """

    script: Sequence[Answer | Answering] | Answering
    name: str = "scripted"
    capabilities: Capabilities = field(default_factory=Capabilities)
    usage: Usage = field(default_factory=Usage)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    requests: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])
    options: list[CallOptions] = field(default_factory=list[CallOptions])
    open_streams: int = 0

    async def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        self.options.append(options)
        self.requests.append(tuple(messages))
        answer = self._answer(len(self.requests), messages)
        self.open_streams += 1
        try:
            async for event in self._perform((answer,) if isinstance(answer, str) else answer):
                yield event
                if isinstance(event, ResponseEnded):
                    return
            yield ResponseEnded(StopReason.END, self.usage)
        finally:
            self.open_streams -= 1

    async def aclose(self) -> None:
        """Nothing to close."""

    def _answer(self, number: int, messages: Sequence[Message]) -> Answer:
        if callable(self.script):
            return self.script(messages)
        if number > len(self.script):
            raise ProviderRefused(f"The script has {len(self.script)} answers; this was request {number}.")
        answer = self.script[number - 1]
        return answer(messages) if callable(answer) else answer

    async def _perform(self, parts: Sequence[Part]) -> AsyncGenerator[ProviderEvent, None]:
        for part in parts:
            match part:
                case str():
                    yield TokensArrived(part)
                case ScriptPause(seconds):
                    await self.sleep(seconds)
                case Until(happened):
                    await happened()
                case ProviderError():
                    raise part
                case _:
                    yield part
