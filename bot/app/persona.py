"""Who the bot is: the operator's persona, with the commands as they are called on each platform."""

from collections.abc import Awaitable, Callable

from agent.context import COMMANDS, Persona
from agent.incoming import Incoming, platform_of
from bot.app.settings import Settings
from bot.memory import texts as memory_texts
from bot.platforms.slack.options import PLATFORM as SLACK
from bot.platforms.slack.slash_commands import named, notice


def command_names(settings: Settings) -> Callable[[str, str], str]:
    """Return a function that takes the source of a message, or a person's id, and one of the texts with commands. It
    returns the text with the names that the commands have on that platform.
    """
    prefix = settings.slack.command_prefix
    in_slack = {text: notice(text, prefix) for text in (memory_texts.LEARNS, memory_texts.KEEPS)}
    in_slack[COMMANDS] = named(COMMANDS, prefix)

    def called(source: str, text: str) -> str:
        return in_slack[text] if platform_of(source) == SLACK else text

    return called


def persona_of(settings: Settings) -> Callable[[Incoming], Awaitable[Persona]]:
    """Return a function that returns the persona for a question."""
    called, language_rule = command_names(settings), settings.chat.language_rule

    async def persona(incoming: Incoming) -> Persona:
        instructions = settings.chat.channel_instructions.get(incoming.channel, "")
        return Persona(settings.chat.persona, language_rule, instructions, called(incoming.source, COMMANDS))

    return persona
