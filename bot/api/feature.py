"""The API for programs, as a feature of the chat bot."""

from collections.abc import Callable
from dataclasses import dataclass

from agent.turn_kinds import TurnKind
from bot.api.asking import ApiAsking
from bot.api.commands import COMMAND, PersonTokens
from bot.api.http_api import PATH, HttpApi
from bot.api.posting import PersonPosts
from bot.api.settings import ApiSettings
from bot.api.sign_in import SignIns
from bot.api.tokens import OwnersAudit, TokenService
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.chat.http_routes import HttpRoutes
from bot.chat.kinds import TurnRule
from bot.chat.ports import ModelChoices


@dataclass(frozen=True, slots=True)
class Api:
    """`asking`, `sign_ins`: None at a terminal, which serves no programs."""

    feature: Feature
    asking: ApiAsking | None = None
    sign_ins: SignIns | None = None


def open_api(
    core: Core,
    settings: ApiSettings,
    models: ModelChoices,
    new_secret: Callable[[], str],
    new_id: Callable[[], str],
    people: PersonPosts | None = None,
) -> Api:
    """`new_secret`, `new_id`: as in `bot.api.tokens` and `bot.api.asking`. `people`: see `PersonPosts`."""
    record = OwnersAudit(core.store.audit, core.clock)
    service = TokenService(core.store.api_tokens, core.clock, new_secret, record)
    if core.admission is None:
        return Api(Feature(name="api", commands=bound_commands(PersonTokens(service, settings))))
    sign_ins = SignIns(core.store.preferences, core.clock, new_secret)
    asking = ApiAsking(core, service, models, new_id, new_id())
    served = Feature(
        name="api",
        commands=bound_commands(PersonTokens(service, settings, sign_ins)),
        kinds={TurnKind.API: TurnRule(offers_actions=False, watcher=asking.replies)},
        routes=[HttpRoutes(PATH, HttpApi(asking, people))],
        serving=asking.serving,
    )
    return Api(served, asking, sign_ins)


def bound_commands(tokens: PersonTokens) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(tokens),)
