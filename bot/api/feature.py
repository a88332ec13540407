"""The API for programs, as a feature of the chat bot."""

from collections.abc import Callable

from bot.api.commands import COMMAND, PersonTokens
from bot.api.settings import ApiSettings
from bot.api.tokens import TokenService
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature


def feature(core: Core, settings: ApiSettings, new_secret: Callable[[], str]) -> Feature:
    service = TokenService(core.store.api_tokens, core.clock, new_secret)
    return Feature(name="api", commands=bound_commands(PersonTokens(service, settings)))


def bound_commands(tokens: PersonTokens) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(tokens),)
