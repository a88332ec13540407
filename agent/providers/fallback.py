"""A row of models: when the first cannot answer, the next one does, and says so.

Rules. Only before the first event. Within a turn the model that answered goes on: its vendor knows the earlier rounds.
A model that is down rests for a while, so that not every question waits for it; the last one in the row never does, nor
one that refused: that takes no time, and may be about this question alone. The last error is the one that is raised.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent import ports
from agent.errors import FailureReason, ProviderError, ProviderUnavailable, StreamBroken
from agent.loop import one_round, open_session
from agent.messages import Message

REST_S = 60.0
"""How long a model that is down is passed over: outages last longer, a hiccup costs one minute of the second best."""


class FallbackProvider:
    """Answers with the first of `providers` that can. At least one."""

    def __init__(self, providers: Sequence[ports.Provider], clock: ports.Clock, rest_s: float = REST_S) -> None:
        self._providers = tuple(providers)
        self._clock = clock
        self._rest_s = rest_s
        self._failed: dict[int, tuple[float, FailureReason]] = {}

    @property
    def name(self) -> str:
        return self._providers[0].name

    @property
    def capabilities(self) -> ports.Capabilities:
        """Those of the first; each turn has a session of its own, which keeps to the model that answered."""
        return replace(self._providers[0].capabilities, resume=True)

    def connect(self, options: ports.CallOptions) -> "FallbackSession":
        return FallbackSession(self, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ports.ProviderEvent, None]:
        return one_round(self.connect(options), messages)

    def candidates(self) -> list[tuple[int, ports.Provider, FailureReason | None]]:
        """Those that may answer now, each with the reason why the one before it did not; None for the first."""
        now = self._clock.monotonic()
        why: FailureReason | None = None
        found: list[tuple[int, ports.Provider, FailureReason | None]] = []
        for place, provider in enumerate(self._providers):
            failed_at, reason = self._failed.get(place, (float("-inf"), None))
            if now - failed_at < self._rest_s and place < len(self._providers) - 1:
                why = why or reason
            else:
                found.append((place, provider, why))
        return found

    def failed(self, place: int, reason: FailureReason) -> None:
        self._failed[place] = (self._clock.monotonic(), reason)


class FallbackSession:
    def __init__(self, row: FallbackProvider, options: ports.CallOptions) -> None:
        self._row = row
        self._options = options
        self._current: ports.ModelSession | None = None

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ports.ProviderEvent, None]:
        if self._current is not None:
            async with aclosing(self._current.answer(messages)) as events:
                async for event in events:
                    yield event
            return
        candidates = self._row.candidates()
        failure: FailureReason | None = None
        for place, provider, rested in candidates:
            last = place == candidates[-1][0]
            session, why = open_session(provider, self._options), failure or rested
            begun = False
            try:
                async with aclosing(session.answer(messages)) as events:
                    async for event in events:
                        if not (begun or isinstance(event, ports.HandleKept)):
                            begun, self._current = True, session
                            if why:
                                yield ports.ModelChanged(provider.name, why)
                        yield event
            except ProviderError as error:
                if begun or last or isinstance(error, StreamBroken):
                    raise
                failure = failure or error.reason
                if isinstance(error, ProviderUnavailable):
                    self._row.failed(place, error.reason)
            finally:
                if self._current is not session:
                    await session.close()
            if begun:
                return

    async def close(self) -> tuple[str, ...]:
        return () if self._current is None else await self._current.close()
