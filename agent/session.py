"""One turn's exchange with a model, whether its vendor can keep the context or not.

Above: `agent.loop`, the providers that resume. Below: the Provider and Session ports.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agent.messages import Message
from agent.ports import CallOptions, Provider, ProviderEvent, ResumingProvider, Session


def open_session(provider: Provider, options: CallOptions) -> Session:
    """A session of the provider: its own where it can resume, else one that replays the context in each round."""
    if provider.capabilities.resume and isinstance(provider, ResumingProvider):
        return provider.connect(options)
    return ReplaySession(provider, options)


async def one_round(session: Session, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
    """Answer `messages` in this session alone, and close it. Errors as `Session.receive`."""
    try:
        await session.send(messages)
        async with aclosing(session.receive()) as events:
            async for event in events:
                yield event
    finally:
        await session.close()


class ReplaySession:
    """Sends the whole context in each round."""

    def __init__(self, provider: Provider, options: CallOptions) -> None:
        self._provider = provider
        self._options = options
        self._messages: Sequence[Message] = ()

    async def send(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    def receive(self) -> AsyncGenerator[ProviderEvent, None]:
        return self._provider.stream(self._messages, self._options)

    async def close(self) -> tuple[str, ...]:
        """Nothing is kept."""
        return ()
