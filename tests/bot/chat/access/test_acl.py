"""Who may use the bot: lists by team, channel, role and person; guests and strangers only where it is open to them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.incoming import Incoming, Person
from bot.chat.access.acl import (
    AccessEntry,
    AccessKind,
    AccessRules,
    closed_to,
    may_use,
    parse_entries,
    parse_model_access,
    parse_openness,
)
from bot.chat.access.settings import people
from bot.chat.askers import Requester
from tests.examples import examples
from tests.fakes.incoming import said

LISTS = st.frozensets(
    st.builds(AccessEntry, st.sampled_from(AccessKind), st.sampled_from(["T1", "C1", "R1", "U1", "U2"])), max_size=4
)
AUTHORITIES = st.sampled_from(Authority)


def requested(
    *,
    person: str = "slack:T1:U1",
    team: str = "T1",
    channel: str = "C1",
    roles: frozenset[str] = frozenset({"R1"}),
    authority: Authority = Authority.EMPLOYEE,
) -> Incoming:
    return replace(
        said("Hello?"),
        source="slack:T1",
        person=Person(person, "Ann"),
        team=team,
        channel=channel,
        roles=roles,
        authority=authority,
    )


def refusal(access: AccessRules, incoming: Incoming) -> str | None:
    return closed_to(access, Requester.wrote(incoming), incoming.authority)


def rules(allow: str = "", deny: str = "", open_to: str = "", operators: str = "") -> AccessRules:
    return AccessRules(
        parse_entries(allow), parse_entries(deny), parse_openness(open_to), operators=frozenset(operators.split())
    )


@pytest.mark.parametrize("authority", [Authority.EMPLOYEE, Authority.MANAGER, Authority.ADMIN])
def test_without_rules_every_member_is_allowed(authority: Authority) -> None:
    assert refusal(AccessRules(), requested(authority=authority)) is None


def test_guests_and_strangers_are_allowed_only_if_it_is_open_to_them() -> None:
    guest, stranger = requested(authority=Authority.GUEST), requested(authority=Authority.STRANGER)
    assert refusal(rules(), guest) == "Guests cannot use me here. Ask my operator for access."
    assert "could not find you among them" in str(refusal(rules(), stranger))
    assert refusal(rules(open_to="guests"), guest) is None
    assert refusal(rules(open_to="guests"), stranger) is not None
    assert refusal(rules(open_to="Guests, strangers"), stranger) is None


@pytest.mark.parametrize("allow", ["team:T1", "channel:C1", "role:R1", "person:U1", "person:slack:T1:U1", "Role: R1"])
def test_a_named_entry_is_allowed(allow: str) -> None:
    assert refusal(rules(allow), requested()) is None


@pytest.mark.parametrize(
    ("allow", "why"),
    [
        ("team:T2", "workspace or server"),
        ("channel:C2", "in this channel"),
        ("role:R2", "Your role"),
        ("person:U2", "You do not have access"),
        ("team:T1, channel:C2", "in this channel"),
        ("channel:C1, role:R2", "Your role"),
        ("channel:C2, person:U2", "in this channel"),
    ],
)
def test_of_teams_channels_and_roles_each_kind_that_is_named_must_match(allow: str, why: str) -> None:
    assert why in str(refusal(rules(allow), requested()))


def test_a_named_person_is_allowed_everywhere_and_as_a_guest() -> None:
    named = rules("channel:C2, person:U1")
    assert refusal(named, requested(authority=Authority.GUEST)) is None


def test_an_allowed_channel_does_not_let_guests_in() -> None:
    assert refusal(rules("channel:C1"), requested(authority=Authority.GUEST)) is not None


@given(LISTS, LISTS, AUTHORITIES)
@settings(max_examples=examples(100))
def test_a_denied_entry_is_refused_whatever_else_is_listed(
    allow: frozenset[AccessEntry], deny: frozenset[AccessEntry], authority: Authority
) -> None:
    incoming = requested(authority=authority)
    given_rules = AccessRules(allow, deny)
    if any(entry.matches(Requester.wrote(incoming)) for entry in deny):
        assert refusal(given_rules, incoming) is not None


@given(LISTS, LISTS, AUTHORITIES)
@settings(max_examples=examples(100))
def test_operators_and_the_terminal_are_always_allowed(
    allow: frozenset[AccessEntry], deny: frozenset[AccessEntry], authority: Authority
) -> None:
    incoming = requested(authority=authority)
    assert refusal(AccessRules(allow, deny, operators=frozenset({"U1"})), incoming) is None
    assert refusal(AccessRules(allow, deny), replace(incoming, person=Person("terminal:ann", "Ann"))) is None


@given(LISTS, LISTS, AUTHORITIES, AUTHORITIES)
@settings(max_examples=examples(100))
def test_more_authority_never_excludes_a_person(
    allow: frozenset[AccessEntry], deny: frozenset[AccessEntry], one: Authority, other: Authority
) -> None:
    lower, higher = sorted([one, other])
    given_rules = AccessRules(allow, deny, frozenset({Authority.GUEST}))
    if refusal(given_rules, requested(authority=lower)) is None:
        assert refusal(given_rules, requested(authority=higher)) is None


@given(LISTS, LISTS, AUTHORITIES)
def test_every_refusal_says_what_holds_and_then_what_to_do(
    allow: frozenset[AccessEntry], deny: frozenset[AccessEntry], authority: Authority
) -> None:
    why = refusal(AccessRules(allow, deny), requested(authority=authority))
    if why is not None:
        assert ". Ask " in why
        assert why.count(".") == 2
        assert why.endswith(".")


def test_a_model_that_no_rule_names_is_open_to_everyone() -> None:
    named = AccessRules(
        models=parse_model_access('{"openai:gpt-6.1-sol": "role:R2, person:U2"}'), operators=frozenset({"U9"})
    )
    assert may_use(named, "openai:gpt-6-luna", Requester("slack:T1:U1"))
    assert not may_use(named, "openai:gpt-6.1-sol", Requester("slack:T1:U1", roles=frozenset({"R1"})))
    assert may_use(named, "openai:gpt-6.1-sol", Requester("slack:T1:U1", roles=frozenset({"R2"})))
    assert may_use(named, "openai:gpt-6.1-sol", Requester("slack:T1:U2"))
    assert may_use(named, "openai:gpt-6.1-sol", Requester("slack:T1:U9"))
    assert may_use(named, "openai:gpt-6.1-sol", Requester("terminal:you"))


@pytest.mark.parametrize("wrong", ["T1", "team", "team:", "server:T1", "person:Ann Lee", "team:T1 channel:C1"])
def test_an_invalid_list_is_reported_without_its_value(wrong: str) -> None:
    with pytest.raises(ValueError, match="each team:ID, channel:ID") as caught:
        parse_entries(wrong)
    assert wrong not in str(caught.value).replace("team:ID", "")


def test_other_invalid_settings_say_what_they_must_be() -> None:
    with pytest.raises(ValueError, match="must be guests, strangers, or both"):
        parse_openness("everybody")
    for wrong in ("{", "{}", '["a"]', '{"m": 1}'):
        with pytest.raises(ValueError, match="must be a JSON object that maps each model"):
            parse_model_access(wrong)
    with pytest.raises(ValueError, match="each team:ID"):
        parse_model_access('{"m": "U1"}')
    for wrong in ("Ann Lee", ",", "ü", "boss", "U1,boss", "@boss", "u0123", "discord:ann", "<@U1>"):
        with pytest.raises(ValueError, match="must be user IDs"):
            people(wrong)
    known = {"U1", "WENTERPRISE", "slack:T1:U2", "184467440737095516", "discord:18446744", "terminal:you"}
    assert people(", ".join(known)) == known


@pytest.mark.parametrize(
    ("allow", "closed"),
    [("channel:C1", False), ("person:U2, channel:C1", False), ("person:U2", True), ("team:T2", True)],
)
def test_without_a_channel_only_rules_for_all_channels_apply(allow: str, *, closed: bool) -> None:
    why = closed_to(rules(allow), Requester("slack:T1:U1", team="T1"), Authority.EMPLOYEE)
    assert (why is not None) == closed
