"""Each setting becomes the rule of its name."""

from datetime import timedelta

from agent.admission_terms import Authority, Rate, Whose
from agent.spending import NANO, Money
from bot.app.from_settings import access_rules, budgets, gate_rules
from bot.app.settings import load_settings
from bot.budgets.budgets import UNLIMITED, Budget
from bot.chat.access.acl import AccessEntry, AccessKind

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def test_by_default_members_are_admitted_and_everything_but_channels_is_limited() -> None:
    settings = load_settings({})
    rules, usual = gate_rules(settings.access), budgets(settings)
    assert (rules.access.allow, rules.access.deny, rules.access.open_to) == (frozenset(),) * 3
    assert rules.surges.rates == (
        Rate(Whose.PERSON, 20, MINUTE),
        Rate(Whose.PERSON, 200, HOUR),
        Rate(Whose.CHANNEL, 60, MINUTE),
    )
    assert rules.surges.backlog == 1_000
    assert (usual.person, usual.channel) == (Budget(2_000_000, Money(5 * NANO)), UNLIMITED)
    assert usual.everyone == Budget(money=Money(100 * NANO))


def test_each_setting_is_the_rule_of_its_name() -> None:
    settings = load_settings(
        {
            "COGENCY_ALLOW": "team:T1",
            "COGENCY_DENY": "person:U1",
            "COGENCY_OPEN_TO": "guests",
            "COGENCY_MODEL_ACCESS": '{"m:x": "role:R1"}',
            "COGENCY_OPERATORS": "U9",
            "COGENCY_PERSON_PER_HOUR": "0",
            "COGENCY_CHANNEL_TOKENS_PER_DAY": "7",
            "COGENCY_EVERYONE_DOLLARS_PER_DAY": "0",
        }
    )
    access = access_rules(settings.access)
    assert (access.allow, access.deny) == ({AccessEntry(AccessKind.TEAM, "T1")}, {AccessEntry(AccessKind.PERSON, "U1")})
    assert (access.open_to, access.models) == ({Authority.GUEST}, {"m:x": {AccessEntry(AccessKind.ROLE, "R1")}})
    assert access.is_operator("slack:T1:U9")
    assert [rate.whose for rate in gate_rules(settings.access).surges.rates] == [Whose.PERSON, Whose.CHANNEL]
    assert (budgets(settings).channel, budgets(settings).everyone) == (Budget(tokens=7), UNLIMITED)
