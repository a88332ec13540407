"""Work outside of turns: the jobs of features, and what they do while the bot serves."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.jobs import JobWorker


@asynccontextmanager
async def background(core: Core, features: Iterable[Feature], owner: str) -> AsyncGenerator[None]:
    """Run what is due until the block ends. Each mapping of jobs has its own worker, and delays no other.

    `owner`: the unique name of this process in the leases of jobs. Raises StoreError.
    """
    async with AsyncExitStack() as stack:
        for feature in features:
            if feature.serving is not None:
                await stack.enter_async_context(feature.serving())
            for handlers in feature.jobs:
                worker = JobWorker(core.store.jobs, handlers, core.clock, owner, telemetry=core.telemetry)
                await stack.enter_async_context(worker.serving())
        yield
