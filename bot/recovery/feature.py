"""What a failover of the database lost, as a feature of the chat bot."""

from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.recovery.service import LostWritesService


def feature(core: Core) -> Feature:
    service = LostWritesService(core.store.recent_writes, core.clock, core.platforms.histories)
    return Feature(name="recovery", serving=service.serving)
