"""Sessions of a model, each for one turn: the provider's own, or one that sends the whole context in each round."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agent.messages import Message
from agent.ports.model import CallOptions, ModelSession, Provider, ProviderEvent, ResumingProvider


def open_session(provider: Provider, options: CallOptions) -> ModelSession:
    """Open the provider's own session if it can resume, else one that sends the whole context in each round."""
    if provider.capabilities.resume and isinstance(provider, ResumingProvider):
        return provider.connect(options)
    return ReplaySession(provider, options)


async def one_round(session: ModelSession, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
    """Answer `messages` in this session, then close it. Raises the errors of `ModelSession.answer`."""
    try:
        async with aclosing(session.answer(messages)) as stream:
            async for event in stream:
                yield event
    finally:
        await session.close()


class SessionProvider(ABC):
    """A provider that answers in sessions: a question outside of them is a session of one round."""

    @abstractmethod
    def connect(self, options: CallOptions) -> ModelSession:
        """Open a new session; it connects when the connection is first needed."""

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return one_round(self.connect(options), messages)


class ReplaySession:
    """Sends the whole context in each round."""

    def __init__(self, provider: Provider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options

    def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        return self._provider.stream(messages, self._options)

    async def close(self) -> tuple[str, ...]:
        return ()
