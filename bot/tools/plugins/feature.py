"""The skills of plug-ins, as a feature of the chat bot."""

import logging
from collections.abc import Sequence

from agent.tools.skill import SkillTool
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.tools.plugins.plugins import Plugin, skills_of

log = logging.getLogger(__name__)


def feature(core: Core, plugins: Sequence[Plugin]) -> Feature:
    """Logs which parts of plug-ins cannot be used."""
    skills, renamed = skills_of(plugins)
    for sentence in (*(f"{plugin.name}: {fault}" for plugin in plugins for fault in plugin.faults), *renamed):
        log.warning("plug-in %s", sentence)
    return Feature(name="plug-ins", tools=[SkillTool(skills, core.tool_timeout_s)] if skills else ())
