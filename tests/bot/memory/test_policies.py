"""/policy: everybody sees the policies where they ask; managers set and remove them; the history shows removed ones."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.memory.facts import ConstraintType, MemoryType
from agent.memory.layers import ContextReader, Environment, IdentityRole, Layers, memory_context
from agent.memory.review import UNUSED
from agent.ports.tools import Asker
from bot.chat.panels import Panel
from bot.memory import texts as memory_texts
from bot.memory.policies import (
    MAX_CHARS,
    MAX_NAME_CHARS,
    NOT_A_MANAGER,
    PolicyService,
    RemovePolicy,
    Request,
    SetPolicy,
    ShowPolicies,
    UnclearPolicy,
    read_policy_request,
)
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import START
from tests.fakes.store import StoreInMemory, store_in_memory

TEAM = Place(TeamAudience("T1"), within_team="T1")
BOARD = Place(GroupAudience("board"), within_team="T1")
ELSEWHERE = Place(TeamAudience("T2"), within_team="T2")
TOO_LONG = UnclearPolicy(memory_texts.POLICY_TOO_LONG.format(limit=MAX_CHARS, name_limit=MAX_NAME_CHARS))


@dataclass
class World:
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=lambda: FakeClock(START, auto=False))

    async def ask(self, words: str, authority: Authority = Authority.MANAGER, place: Place = TEAM) -> str:
        return (await self.panel(words, authority, place)).text

    async def panel(self, words: str, authority: Authority = Authority.MANAGER, place: Place = TEAM) -> Panel:
        await self.clock.advance(timedelta(minutes=1).total_seconds())
        asker = Asker(Person("ann", "Ann", "Europe/Berlin"), place, authority=authority)
        return await PolicyService(self.store.facts, self.clock).answer(asker, words)

    async def listed(self, place: Place = TEAM) -> list[str]:
        text = await self.ask("", Authority.GUEST, place)
        return [line.partition(" (")[0] for line in text.splitlines() if line.startswith("- ")]


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("", ShowPolicies()),
        ("  LIST ", ShowPolicies()),
        ("history", ShowPolicies(past=True)),
        (
            "set budget: at most 5,000 EUR a month",
            SetPolicy("budget", "at most 5,000 EUR a month", ConstraintType.BUDGET),
        ),
        ("Set  Deadline of Apollo:  Friday", SetPolicy("Deadline of Apollo", "Friday", ConstraintType.DEADLINE)),
        ("set Nobody deploys at 17:00", SetPolicy("", "Nobody deploys at 17:00")),
        ("set discount: see https://example.org", SetPolicy("discount", "see https://example.org")),
        ("remove 3", RemovePolicy("3")),
        ("delete #12", RemovePolicy("12")),
        ("set", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("set budget:", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("set budget", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("set 预算不超过5000欧元", SetPolicy("", "预算不超过5000欧元")),
        ("remove", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("remove everything", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("list all of them", UnclearPolicy(memory_texts.POLICY_USAGE)),
        ("what?", UnclearPolicy(memory_texts.POLICY_USAGE)),
        (f"set budget: {'x' * 501}", TOO_LONG),
        (f"set {'x' * 81}: 5", TOO_LONG),
    ],
)
def test_words_are_read_alike_in_any_case(words: str, request_: Request) -> None:
    assert read_policy_request(words) == request_


async def test_what_a_manager_sets_everybody_sees_and_it_binds() -> None:
    world = World()
    assert (await world.ask("")).startswith(memory_texts.NO_POLICY)
    answer = await world.ask("set budget: at most 5,000 EUR a month")
    assert answer == (
        "Policy set.\n\nPolicies for everyone here:\n\n"
        f"- **1** budget: at most 5,000 EUR a month (set {START.date().isoformat()} by a manager)"
    )
    (fact,) = world.store.facts_kept
    assert (fact.person, fact.audience, fact.memory_type) == ("", "team:T1", MemoryType.ORGANIZATIONAL)
    assert (fact.is_constraint, fact.constraint_type) == (True, ConstraintType.BUDGET)
    assert await world.listed() == ["- **1** budget: at most 5,000 EUR a month"]
    layers = Layers(IdentityRole("Ben"), Environment(START), tuple(world.store.facts_kept))
    context = memory_context(layers, ContextReader(frozenset({"team:T1"}), "May I spend 9,000 EUR?"))
    assert "FACTS:\n! budget: at most 5,000 EUR a month" in context.text


@pytest.mark.parametrize("authority", [Authority.STRANGER, Authority.GUEST, Authority.EMPLOYEE])
async def test_seed_003_nobody_below_a_manager_sets_or_removes(authority: Authority) -> None:
    world = World()
    await world.ask("set budget: 5 EUR")
    assert await world.ask("set budget: 9,000 EUR", authority) == NOT_A_MANAGER
    assert await world.ask("remove 1", authority) == NOT_A_MANAGER
    assert await world.listed() == ["- **1** budget: 5 EUR"]


async def test_a_manager_does_not_take_back_what_an_administrator_set() -> None:
    world = World()
    await world.ask("set budget: 5 EUR", Authority.ADMIN)
    refusal = "Someone with more authority set this."
    assert await world.ask("set budget: 9 EUR") == refusal
    assert await world.ask("remove 1") == refusal
    assert await world.listed() == ["- **1** budget: 5 EUR"]


async def test_what_is_replaced_or_removed_can_be_traced() -> None:
    world = World()
    await world.ask("set budget: 5 EUR")
    assert (await world.ask("set budget: 9 EUR")).startswith("Policy set. It replaces: budget: 5 EUR.")
    assert (await world.ask("remove 2", Authority.ADMIN)).startswith(
        "Policy removed. `/policy history` still lists it."
    )
    assert await world.listed() == []
    day = START.date().isoformat()
    assert (await world.ask("history", Authority.GUEST)).splitlines()[2:] == [
        f"- **1** budget: 5 EUR (set {day} by a manager; replaced {day} by a manager)",
        f"- **2** budget: 9 EUR (set {day} by a manager; removed {day} by an administrator)",
    ]
    assert await world.ask("remove 2") == (await world.ask("remove 7")).replace("7", "2")


async def test_a_removed_policy_is_superseded_and_no_longer_in_a_context() -> None:
    world = World()
    await world.ask("set budget: at most 5,000 EUR")
    await world.ask("remove 1")
    layers = Layers(IdentityRole("Ben"), Environment(START), tuple(world.store.facts_kept))
    context = memory_context(layers, ContextReader(frozenset({"team:T1"}), "May I spend 9,000 EUR?"))
    assert "FACTS" not in context.text
    assert [" ".join(value.words) for value in context.superseded] == ["at most 5,000 eur"]


async def test_a_private_channels_policy_holds_there_only_and_the_teams_there_too() -> None:
    world = World()
    await world.ask("set budget: 5 EUR")
    await world.ask("set merger: call it Apollo", place=BOARD)
    assert await world.listed(BOARD) == ["- **1** budget: 5 EUR", "- **2** merger: call it Apollo"]
    assert await world.listed() == ["- **1** budget: 5 EUR"]
    assert await world.listed(ELSEWHERE) == []
    assert "no policy 1 here" in await world.ask("remove 1", place=BOARD)
    assert "no policy 2 here" in await world.ask("remove 2", place=ELSEWHERE)


async def test_a_persons_facts_are_no_policies_and_cannot_be_removed_here() -> None:
    world = World()
    place = Place(PersonAudience("ann"))
    await remember(world.store.facts, "ann", "budget: 5 EUR", "person:ann", START)
    assert await world.listed(place) == []
    assert "no policy 1 here" in await world.ask("remove 1", Authority.ADMIN, place)


async def test_secrets_are_refused_and_text_is_shown_as_it_is() -> None:
    world = World()
    assert memory_texts.NO_SECRETS in await world.ask("set wifi: the password is hunter2")
    assert world.store.facts_kept == []
    assert "*free* beer" not in await world.ask("set motto: *free* beer")


async def test_policies_about_different_things_stand_beside_one_another() -> None:
    world = World()
    await world.ask("set The budget for hardware is $200")
    shown = await world.ask("set The budget for travel is $300")
    assert "It replaces" not in shown
    assert "$200" in shown
    assert "$300" in shown
    assert "It replaces: The budget for travel is $300" in await world.ask("set The budget for travel is $400")


def reviewed(panel: Panel) -> list[str]:
    return [part.text for part in panel.parts]


async def test_managers_are_shown_which_policies_of_their_place_may_be_out_of_date() -> None:
    world = World()
    await world.ask("set trips: trips cost at most 500 EUR", place=BOARD)
    await world.ask("set tea: no tea in the lab")
    await world.ask("set journeys: trips cost at most 400 EUR")
    assert reviewed(await world.panel("", place=BOARD)) == [], "one role is above no other"
    await world.ask("set travel: trips cost at most 300 EUR", Authority.ADMIN)
    day = f"{START:%Y-%m-%d}"
    otherwise = f"(a newer policy, set on {day}, says otherwise: “travel: trips cost at most 300 EUR”)"
    trips = f"**1** trips: trips cost at most 500 EUR {otherwise}"
    panel = await world.panel("", place=BOARD)
    assert reviewed(panel) == [memory_texts.POLICIES_TO_REVIEW, trips]
    assert [action.words for part in panel.parts for action in part.actions] == ["keep 1", "remove 1"]
    assert reviewed(await world.panel("", Authority.EMPLOYEE, BOARD)) == []
    assert reviewed(await world.panel("history", place=BOARD)) == []
    assert reviewed(await world.panel("")) == [], "it is removed where it was set"
    await world.clock.advance(UNUSED.total_seconds())
    assert reviewed(await world.panel(""))[1] == f"**2** tea: no tea in the lab (not used since {day})"


async def test_managers_keep_policies_of_their_place_and_nobody_else_does() -> None:
    world = World()
    await world.ask("set tea: no tea in the lab")
    await world.clock.advance(UNUSED.total_seconds())
    assert (await world.panel("keep 1", Authority.EMPLOYEE)).text == NOT_A_MANAGER
    assert (await world.panel("keep 1", place=BOARD)).refused
    assert (await world.panel("keep 2")).refused
    assert len((await world.panel("")).parts) == 2
    kept = await world.panel("keep #1")
    assert kept.text.startswith(memory_texts.POLICY_KEPT)
    assert kept.parts == ()
    assert (await world.panel("")).parts == ()
    await world.clock.advance(UNUSED.total_seconds())
    assert len((await world.panel("")).parts) == 2
