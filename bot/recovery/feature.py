"""What a failover of the database lost, as a feature of the chat bot."""

from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.recovery.service import LostWritesService


def feature(core: Core) -> Feature:
    platforms = core.platforms
    service = LostWritesService(
        core.store.recent_writes, core.clock, platforms.histories, platforms.others, core.turns.end_lost
    )
    return Feature(name="recovery", serving=service.serving)
