"""The features of the bot.

A feature is a folder of `bot/`, and a line in the list that `features` returns. Its folder builds its value
(`bot.chat.feature.Feature`) from the core that all features share and from its own settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.app import parts
from bot.app.opened import Opened
from bot.app.persona import command_names
from bot.app.settings import Settings
from bot.budgets import feature as budgets
from bot.channels.ambient import AmbientService
from bot.chat import files
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.forgetting import feature as forgetting
from bot.forgetting.retention import VendorCopies
from bot.knowledge import feature as knowledge
from bot.memory.feature import Memory, open_memory
from bot.schedules import feature as schedules
from bot.tools.plugins import feature as plugins
from bot.web import feature as web
from bot.web.feature import page_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features of one bot, and those of their parts that its turns use."""

    all: Sequence[Feature]
    memory: Memory
    copies: VendorCopies
    """What vendors of models store for a while."""


def features(
    settings: Settings, core: Core, opened: Opened, ambient: AmbientService | None = None, *, stays: bool = True
) -> Features:
    """`ambient`: None where there are no channels. `stays`: whether the bot outlives the answer to a question.

    Raises SettingsError.
    """
    store = opened.store
    copies = VendorCopies(store.jobs, core.clock, opened.models.forget_handles)
    memory = open_memory(
        core,
        settings.memory,
        meanings=opened.meanings,
        has_budget=parts.budget_allowances(settings, store).may_spend,
        named=command_names(settings),
    )
    listed = (
        forgetting.feature(core, settings.forgetting, copies),
        budgets.feature(settings.budgets, parts.budget_service(settings, store)),
        memory.feature,
        files.feature(core, store.conversations, opened.reader),
        plugins.feature(core, parts.plugins_in_use(settings)),
        schedules.feature(core, offers_work=stays),
        *(() if ambient is None else (ambient.feature,)),
        knowledge.feature(core, page_reader(settings.web, core.clock)),
        web.feature(core, settings.web),
    )
    return Features(all=listed, memory=memory, copies=copies)
