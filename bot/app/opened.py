"""What a running bot has open: the store, models, files, tool servers and the policy about tools."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.hooks.models import HookedEmbedder, HookedProvider
from agent.hooks.running import Hooks
from agent.hooks.values import HookPoint, HookUse
from agent.ports.embeddings import Embedder
from agent.providers.keys import own_mark
from agent.providers.static_embeddings import StaticEmbedder
from bot.app import parts
from bot.app.settings import Settings
from bot.chat.attachments.reading import AttachmentReader, Fetch
from bot.chat.telemetry import SILENT, HookUsed, Telemetry
from bot.hooks.opening import open_hooks
from bot.memory.meanings import Meanings
from bot.models.embedding import open_embedder
from bot.models.place_keys import PlaceKeyService
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
    place_keys: PlaceKeyService
    hooks: Hooks | None = None

    async def forget_handles(self, model: str, handles: Sequence[str]) -> Sequence[str]:
        """Delete these handles at the model's vendor, each with the key that stored it; return those that may still
        exist. Raises SettingsError and StoreError.
        """
        marks = {handle: own_mark(handle) for handle in handles}
        kept = [*await self.models.forget_handles(model, [handle for handle, mark in marks.items() if not mark])]
        for mark in dict.fromkeys(filter(None, marks.values())):
            keys = await self.place_keys.keys_marked(mark)
            own = [handle for handle in handles if marks[handle] == mark]
            kept += await self.models.forget_own_handles(model, own, keys)
        return kept

    @property
    def servers(self) -> McpSource:
        return self.sources[0] if self.sources else NO_MCP_SERVERS


@asynccontextmanager
async def open_parts(
    settings: Settings,
    store: Store,
    models: ModelSwitch,
    fetchers: Mapping[str, Fetch],
    *,
    sign_ins: bool,
    telemetry: Telemetry = SILENT,
) -> AsyncGenerator[Opened]:
    """Open the rest beside the store and the models, until the block ends. `fetchers`: fetch an attached file, by the
    source of its message. `sign_ins`: serve the pages for signing in to tool servers. From now on, what goes to the
    models passes the operator's hooks. Raises SettingsError and StoreError.
    """

    def record(use: HookUse) -> None:
        telemetry.record(HookUsed(use))

    async with AsyncExitStack() as stack:
        hooks = stack.enter_context(open_hooks(settings.hooks, parts.CLOCK, record))
        checked = hooks if hooks is not None and hooks.has(HookPoint.BEFORE_MODEL) else None
        models.put_behind(None if checked is None else partial(HookedProvider, hooks=checked))
        place_keys = parts.place_keys(settings, store, models)
        meanings = None
        if settings.models.embeddings:
            embedder = open_embedder(settings.models.embeddings, settings.models, rings=models.rings)
            stack.push_async_callback(embedder.aclose)
            # The model inside of the program sends nothing anywhere.
            is_sent = not isinstance(embedder, StaticEmbedder)
            behind: Embedder = HookedEmbedder(embedder, checked) if checked is not None and is_sent else embedder
            meanings = Meanings(behind, store.embeddings, embedder.is_local)
        yield Opened(
            store=store,
            models=models,
            meanings=meanings,
            reader=await stack.enter_async_context(parts.open_reader(settings, store, fetchers, models, place_keys)),
            sources=await stack.enter_async_context(
                parts.open_tool_sources(settings, store.tool_accounts, pages=sign_ins)
            ),
            policy=await stack.enter_async_context(parts.open_policy(settings, store)),
            place_keys=place_keys,
            hooks=hooks,
        )
