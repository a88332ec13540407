"""Gemini's Interactions, in resume mode: the vendor keeps the conversation of a turn, and forgets it when it is over.

Above: `opening`. Below: `wire_interactions` (what is said), `chain` (what is new), `replay` (how
it is asked, again where that is safe), `http`.

Theory of operation. A session is one turn. Each of its answers is an interaction that the vendor stores; the next round
names the last one that was completed, and brings only what is new. Whatever the vendor no longer knows is sent again,
whole, once. At the end of the turn every interaction is deleted there. What could not be deleted stays behind under a
handle that the turn has been told (`HandleKept`); `forget_handles` tries again, at any time, from any process.

An interaction whose name never arrived, because the connection died first, cannot be deleted: the vendor drops it when
its time of retention is over. What is asked outside a session (`stream`) is not stored at all.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from urllib.parse import quote

from agent.messages import Message
from agent.ports import CallOptions, Capabilities, Clock, HandleKept, ProviderEvent, ResponseEnded
from agent.providers.catalog import Endpoint
from agent.providers.chain import Chain, answered
from agent.providers.http import Http, TransportError
from agent.providers.replay import Patience, ReplayProvider
from agent.providers.retry import RetryPolicy
from agent.providers.wire_interactions import InteractionsDialect

PREFIX = "gemini-interaction:"
"""Tells our handles from those of other vendors, wherever they are kept together."""
DELETE_TIMEOUT_S = 5.0
"""Of one deletion. Nobody sees it happen, but the turn is over only then."""
CLOSE_TIMEOUT_S = 5.0
"""Of all deletions at the end of a turn; what is left can be deleted later."""
AT_ONCE = 8
"""How many are deleted at the same time: a long turn's in one breath, without flooding the vendor."""


class InteractionsProvider:
    """One model. `chance` gives numbers in [0, 1) for the jitter of retries."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        key: str | None,
        *,
        clock: Clock,
        chance: Callable[[], float],
        patience: Patience,
        retry: RetryPolicy,
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._clock = clock
        self._chance = chance
        self._patience = patience
        self._retry = retry
        self._dialect = InteractionsDialect(model)
        self._http = Http(proxies=not endpoint.is_local)

    def __repr__(self) -> str:
        return f"InteractionsProvider({self.name!r} at {self._endpoint.address!r})"

    @property
    def name(self) -> str:
        return f"{self._endpoint.name}:{self._model}"

    @property
    def capabilities(self) -> Capabilities:
        return self._dialect.capabilities

    def connect(self, options: CallOptions) -> "InteractionsSession":
        return InteractionsSession(self, options)

    async def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`, and let the vendor store nothing. Errors as the port says."""
        async with aclosing(self.ask(None, messages, options)) as events:
            async for event in events:
                yield event

    async def ask(
        self, chain: Chain | None, messages: Sequence[Message], options: CallOptions
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`, of which the vendor has what `chain` says. Errors as `stream`."""
        asked = ReplayProvider(
            self._endpoint,
            self._model,
            replace(self._dialect, chain=chain),
            self._key,
            clock=self._clock,
            chance=self._chance,
            patience=self._patience,
            retry=self._retry,
            http=self._http,
        )
        try:
            async with aclosing(asked.stream(messages, options)) as events:
                async for event in events:
                    yield HandleKept(PREFIX + event.handle) if isinstance(event, HandleKept) else event
        finally:
            self._dialect = replace(self._dialect, effort=asked.capabilities.effort)

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Delete these interactions at the vendor. Returns those that may still be there; other vendors' are passed by.

        Never raises: what is gone already counts as deleted.
        """
        ours = [handle for handle in handles if handle.startswith(PREFIX)]
        gate = asyncio.Semaphore(AT_ONCE)
        gone = await asyncio.gather(*(self._forget(handle.removeprefix(PREFIX), gate) for handle in ours))
        return tuple(handle for handle, deleted in zip(ours, gone, strict=True) if not deleted)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    async def _forget(self, interaction: str, gate: asyncio.Semaphore) -> bool:
        url = f"{self._endpoint.base_url}/interactions/{quote(interaction, safe='')}"
        headers = self._dialect.authorisation(self._key) if self._key else {}
        try:
            async with gate, asyncio.timeout(DELETE_TIMEOUT_S), self._http.request("DELETE", url, headers) as reply:
                return reply.status == 404 or 200 <= reply.status < 300
        except (TransportError, TimeoutError):
            return False


class InteractionsSession:
    """One turn. `kept` are the handles under which the vendor has something of it; after `close`, still has."""

    def __init__(self, provider: InteractionsProvider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options
        self._messages: tuple[Message, ...] = ()
        self._chain = Chain()
        self.kept: tuple[str, ...] = ()

    async def send(self, messages: Sequence[Message]) -> None:
        self._messages = tuple(messages)

    async def receive(self) -> AsyncGenerator[ProviderEvent, None]:
        """The answer to what was sent last. An answer that is abandoned leaves the chain as it was."""
        async with aclosing(self._provider.ask(self._chain, self._messages, self._options)) as events:
            async for event in events:
                if isinstance(event, HandleKept):
                    self.kept = (*self.kept, event.handle)
                if isinstance(event, ResponseEnded) and event.native:
                    self._chain = answered(self._messages, self.kept[-1].removeprefix(PREFIX), event.native)
                yield event

    async def close(self) -> tuple[str, ...]:
        """Delete what the vendor has of this turn, as far as that is done in a moment."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                self.kept = await self._provider.forget_handles(self.kept)
        return self.kept
