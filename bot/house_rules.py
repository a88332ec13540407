"""From the settings to the rules of the gate: who may ask, how much, and for how much. Pure.

Above: `bot.app`. Below: `bot.settings`, `bot.access.gate`, `bot.access.lists`, `bot.access.surges`,
`bot.access.budgets`.
"""

from bot.access.budgets import Budget, Budgets
from bot.access.gate import GateRules
from bot.access.lists import AccessRules
from bot.access.surges import Surges
from bot.settings import Settings


def gate_rules(settings: Settings) -> GateRules:
    """Who may ask, and how much."""
    return GateRules(
        access_rules(settings),
        Surges.of(
            person_minute=settings.person_per_minute,
            person_hour=settings.person_per_hour,
            channel_minute=settings.channel_per_minute,
            backlog=settings.backlog,
        ),
    )


def access_rules(settings: Settings) -> AccessRules:
    return AccessRules(settings.allow, settings.deny, settings.open_to, settings.model_access, settings.operators)


def budgets(settings: Settings) -> Budgets:
    """What may be spent in a day."""
    return Budgets(
        person=Budget(settings.person_tokens, settings.person_dollars),
        channel=Budget(settings.channel_tokens, settings.channel_dollars),
        everyone=Budget(settings.everyone_tokens, settings.everyone_dollars),
    )
