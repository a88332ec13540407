"""The choice of a model, for tests in which there is only one."""

from collections.abc import Awaitable, Callable

from agent.ports import Provider
from agent.records import Incoming


def always(model: Provider) -> Callable[[Incoming], Awaitable[Provider]]:
    """That model answers everybody."""

    async def chosen(_: Incoming) -> Provider:
        return model

    return chosen
