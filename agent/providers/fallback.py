"""A provider with fallbacks.

Rules
  If a model cannot answer, the next one does, and reports the change, but only before the first event. Within a turn
  the model that answered stays, because its vendor knows the earlier rounds. If it fails between two rounds, another
  one goes on with the whole context: the calls so far and their results are in it, and no tool runs twice.
  A prompt that is too long for the model of the turn is shortened for that, not sent to another one.
  A model that is down is skipped for a while, so that not each question waits for it. The last model is never skipped,
  nor is one that refused: that takes no time, and may concern this question only.
  If all models fail, the last error is raised.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.errors import ContextTooLong, FailureReason, ProviderError, ProviderUnavailable, StreamBroken
from agent.messages import Message
from agent.model_sessions import SessionProvider, open_session
from agent.ports.clock import Clock
from agent.ports.model import CallOptions, Capabilities, HandleKept, ModelChanged, ModelSession, Provider, ProviderEvent

# How long a model that is down is skipped: outages last longer, and a short failure costs one minute of the next model.
COOLDOWN_S = 60.0


class FallbackProvider(SessionProvider):
    """Answers with the first of `providers` that can answer. There must be at least one."""

    def __init__(self, providers: Sequence[Provider], clock: Clock, cooldown_s: float = COOLDOWN_S) -> None:
        self.providers = tuple(providers)
        self._clock = clock
        self._cooldown_s = cooldown_s
        self._failed: dict[int, tuple[float, FailureReason]] = {}

    @property
    def name(self) -> str:
        return self.providers[0].name

    @property
    def capabilities(self) -> Capabilities:
        """Those of the first provider, with `resume`: each turn's session stays with the model that answered."""
        return replace(self.providers[0].capabilities, resume=True)

    def connect(self, options: CallOptions) -> "FallbackSession":
        return FallbackSession(self, options)

    def candidates(self) -> list[tuple[int, Provider, FailureReason | None]]:
        """Return (index, provider, why earlier ones are skipped) for each provider that may answer now."""
        now = self._clock.monotonic()
        skipped_reason: FailureReason | None = None
        candidates: list[tuple[int, Provider, FailureReason | None]] = []
        for index, provider in enumerate(self.providers):
            failed_at, reason = self._failed.get(index, (float("-inf"), None))
            if now - failed_at < self._cooldown_s and index < len(self.providers) - 1:
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
        self._index = 0
        self._current: ModelSession | None = None
        self._kept: tuple[str, ...] = ()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        failure: FailureReason | None = None
        candidates = self._candidates()
        for index, provider, skipped_reason in candidates:
            is_last, is_own = index == candidates[-1][0], self._current is not None and index == self._index
            session = self._current if self._current is not None and is_own else open_session(provider, self._options)
            reason = None if is_own else failure or skipped_reason
            begun = False
            try:
                async with aclosing(session.answer(messages)) as events:
                    async for event in events:
                        # Also before a handle: it is deleted at the vendor of the model that was named last.
                        if reason:
                            yield ModelChanged(provider.name, reason)
                            reason = None
                        # A handle is no answer yet: if the provider fails now, the next one can still be asked.
                        if not (begun or isinstance(event, HandleKept)):
                            begun = True
                            await self._stay_with(index, session)
                        yield event
            except ProviderError as error:
                # After the first event another provider would repeat words that the person has already seen.
                stays = is_own and isinstance(error, ContextTooLong)
                if begun or is_last or stays or isinstance(error, StreamBroken):
                    raise
                failure = failure or error.reason
                if isinstance(error, ProviderUnavailable):
                    self._fallback.failed(index, error.reason)
            finally:
                if self._current is not session:
                    self._kept += await session.close()
            if begun:
                return

    async def close(self) -> tuple[str, ...]:
        if self._current is not None:
            self._kept += await self._current.close()
        return self._kept

    def _candidates(self) -> list[tuple[int, Provider, FailureReason | None]]:
        """Return the providers to try: the one of this turn first, because its handles and its cache mean nothing to
        another one.
        """
        candidates = self._fallback.candidates()
        if self._current is None:
            return candidates
        own = (self._index, self._fallback.providers[self._index], None)
        return [own, *(candidate for candidate in candidates if candidate[0] != self._index)]

    async def _stay_with(self, index: int, session: ModelSession) -> None:
        if self._current is not None and self._current is not session:
            self._kept += await self._current.close()
        self._index, self._current = index, session
