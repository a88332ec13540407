"""A provider with fallbacks.

Rules
  If a model cannot answer, the next one does, and reports the change, but only before the first event. Within a turn
  the model that answered stays, because its vendor knows the earlier rounds.
  A model that is down is skipped for a while, so that not each question waits for it. The last model is never skipped,
  nor is one that refused: that takes no time, and may concern this question only.
  If all models fail, the last error is raised.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.errors import FailureReason, ProviderError, ProviderUnavailable, StreamBroken
from agent.loop import one_round, open_session
from agent.messages import Message
from agent.ports.clock import Clock
from agent.ports.model import CallOptions, Capabilities, HandleKept, ModelChanged, ModelSession, Provider, ProviderEvent

# How long a model that is down is skipped: outages last longer, and a short failure costs one minute of the next model.
COOLDOWN_S = 60.0


class FallbackProvider:
    """Answers with the first of `providers` that can answer. There must be at least one."""

    def __init__(self, providers: Sequence[Provider], clock: Clock, cooldown_s: float = COOLDOWN_S) -> None:
        self._providers = tuple(providers)
        self._clock = clock
        self._cooldown_s = cooldown_s
        self._failed: dict[int, tuple[float, FailureReason]] = {}

    @property
    def name(self) -> str:
        return self._providers[0].name

    @property
    def capabilities(self) -> Capabilities:
        """Those of the first provider, with `resume`: each turn's session stays with the model that answered."""
        return replace(self._providers[0].capabilities, resume=True)

    def connect(self, options: CallOptions) -> "FallbackSession":
        return FallbackSession(self, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return one_round(self.connect(options), messages)

    def candidates(self) -> list[tuple[int, Provider, FailureReason | None]]:
        """Return (index, provider, why earlier ones are skipped) for each provider that may answer now."""
        now = self._clock.monotonic()
        skipped_reason: FailureReason | None = None
        candidates: list[tuple[int, Provider, FailureReason | None]] = []
        for index, provider in enumerate(self._providers):
            failed_at, reason = self._failed.get(index, (float("-inf"), None))
            if now - failed_at < self._cooldown_s and index < len(self._providers) - 1:
                skipped_reason = skipped_reason or reason
            else:
                candidates.append((index, provider, skipped_reason))
        return candidates

    def failed(self, index: int, reason: FailureReason) -> None:
        self._failed[index] = (self._clock.monotonic(), reason)


class FallbackSession:
    def __init__(self, fallback: FallbackProvider, options: CallOptions) -> None:
        self._fallback = fallback
        self._options = options
        self._current: ModelSession | None = None

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        # Once a provider has answered, the turn stays with it: its handles and its cache mean nothing to another one.
        if self._current is not None:
            async with aclosing(self._current.answer(messages)) as events:
                async for event in events:
                    yield event
            return
        candidates = self._fallback.candidates()
        failure: FailureReason | None = None
        for index, provider, skipped_reason in candidates:
            is_last = index == candidates[-1][0]
            session, reason = open_session(provider, self._options), failure or skipped_reason
            begun = False
            try:
                async with aclosing(session.answer(messages)) as events:
                    async for event in events:
                        # A handle is no answer yet: if the provider fails now, the next one can still be asked.
                        if not (begun or isinstance(event, HandleKept)):
                            begun, self._current = True, session
                            if reason:
                                yield ModelChanged(provider.name, reason)
                        yield event
            except ProviderError as error:
                # After the first event another provider would repeat words that the person has already seen.
                if begun or is_last or isinstance(error, StreamBroken):
                    raise
                failure = failure or error.reason
                if isinstance(error, ProviderUnavailable):
                    self._fallback.failed(index, error.reason)
            finally:
                if self._current is not session:
                    await session.close()
            if begun:
                return

    async def close(self) -> tuple[str, ...]:
        return () if self._current is None else await self._current.close()
