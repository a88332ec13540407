"""One plain question to a model, outside of turns: no tools, no protocol, the whole answer as one text."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from agent import ports
from agent.messages import Message, ModelCall, estimate_usage
from agent.protocol.render import neutralise

MAX_CHARS: Final = 100_000
"""Of text and reasoning together. Nobody asks for as much; a small model that repeats itself would never end."""


def as_data(messages: Sequence[Message]) -> list[Message]:
    """The messages, with what people wrote as in turns: nothing of it is a token that the server of an open model could
    read as the beginning of somebody else's message.
    """
    return [replace(one, text=neutralise(one.text)) for one in messages]


async def complete(
    provider: ports.Provider,
    messages: Sequence[Message],
    count: Callable[[ModelCall], Awaitable[None]],
    options: ports.CallOptions = ports.CallOptions(),  # noqa: B008 -- frozen
) -> str:
    """The model's answer. `count` is told what the call took, also of one that broke off.

    Raises ProviderUnavailable, ProviderRefused and StreamBroken.
    """
    model, text, chars, ended = provider.name, list[str](), 0, None
    try:
        async with aclosing(provider.stream(messages, options)) as stream:
            async for event in stream:
                match event:
                    case ports.TokensArrived(piece):
                        text.append(piece)
                        chars += len(piece)
                    case ports.ReasoningArrived(piece):
                        chars += len(piece)
                    case ports.ModelChanged(name):
                        model = name
                    case ports.ResponseEnded():
                        ended = event
                    case _:
                        pass
                if chars > MAX_CHARS:
                    break
    finally:
        if chars or ended:
            usage = ended.usage if ended and ended.usage else estimate_usage(messages, "".join(text))
            await count(ModelCall(model, usage))
    return "".join(text)
