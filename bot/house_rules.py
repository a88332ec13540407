"""From the settings to the rules of the gate: who may ask, how much, and for how much. Pure.

Above: `bot.app`. Below: `bot.settings`, `bot.gate`, `bot.access`, `bot.surges`, `bot.budgets`.
"""

from bot.access import AccessRules
from bot.budgets import Budget, Budgets
from bot.gate import GateRules
from bot.settings import Settings
from bot.surges import Surges


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
