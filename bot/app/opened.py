"""What a running bot has open: the store, models, files, tool servers and the policy about tools."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bot.app import parts
from bot.app.settings import Settings
from bot.chat.attachments.reading import AttachmentReader, Fetch
from bot.memory.meanings import Meanings
from bot.models.embedding import open_embedder
from bot.models.switch import ModelSwitch
from bot.tools.approvals import ApprovalPolicy
from bot.tools.mcp.source import NO_MCP_SERVERS, McpSource
from store.engine import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    store: Store
    models: ModelSwitch
    meanings: Meanings | None
    """None without a model for embeddings."""
    reader: AttachmentReader
    sources: tuple[McpSource, ...]
    """The tool servers; at most one source."""
    policy: ApprovalPolicy

    @property
    def servers(self) -> McpSource:
        return self.sources[0] if self.sources else NO_MCP_SERVERS


@asynccontextmanager
async def open_parts(
    settings: Settings, store: Store, models: ModelSwitch, fetchers: Mapping[str, Fetch], *, sign_ins: bool
) -> AsyncGenerator[Opened]:
    """Open the rest beside the store and the models, until the block ends. `fetchers`: fetch an attached file, by the
    source of its message. `sign_ins`: serve the pages for signing in to tool servers. Raises SettingsError and
    StoreError.
    """
    async with AsyncExitStack() as stack:
        meanings = None
        if settings.models.embeddings:
            embedder = open_embedder(settings.models.embeddings, settings.models)
            stack.push_async_callback(embedder.aclose)
            meanings = Meanings(embedder, store.embeddings, embedder.is_local)
        yield Opened(
            store=store,
            models=models,
            meanings=meanings,
            reader=await stack.enter_async_context(parts.open_reader(settings, store, fetchers)),
            sources=await stack.enter_async_context(
                parts.open_tool_sources(settings, store.tool_accounts, pages=sign_ins)
            ),
            policy=await stack.enter_async_context(parts.open_policy(settings, store)),
        )
