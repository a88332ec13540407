"""Two accounts are connected only after both have agreed, and are read only while their platforms know them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import CogencyError
from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.schedules.definitions import Admitted, NotAllowed, Occurrence, Schedule
from bot.chat.access.connected_accounts import MAX_ACCOUNTS
from bot.chat.access.readers import Readers
from bot.chat.caches import MAX_AGE_S
from bot.chat.commands.declaration import CommandCall
from bot.chat.one_time_codes import CODE_TIME
from bot.connect import texts as connect_texts
from bot.connect.commands import connect
from bot.connect.feature import audited
from bot.connect.service import ENTRIES, ConnectService, TooOften
from tests.examples import examples
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

MOST_LABEL = 30  # Of a confirmation in Slack
ANN, ANN_THERE, BEN, EVE = "slack:T1:U1", "discord:1", "slack:T1:U2", "discord:666"


@dataclass
class Platform:
    """Implements `SchedulePlatform`. `gone`: whom it does not know; `down`: it gives no answer."""

    gone: set[str] = field(default_factory=set[str])
    down: bool = False
    names: dict[str, str] = field(default_factory=dict[str, str])

    async def admit(self, occurrence: Occurrence) -> Admitted:
        if self.down:
            raise CogencyError("it is down")
        person = occurrence.schedule.definition.person
        if person in self.gone:
            return NotAllowed("They left.")
        incoming = message_of(person, occurrence.time)
        return replace(incoming, person=Person(person, self.names.get(person, incoming.person.name)))

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        return message_of(schedule.definition.person, time)


def message_of(person: str, time: datetime) -> Incoming:
    place = Place(PersonAudience(person))
    return replace(said("", place=place), person=Person(person, f"name of {person}"), time=time)


@dataclass
class World:
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=False))
    store: StoreInMemory = field(default_factory=store_in_memory)
    slack: Platform = field(default_factory=Platform)
    discord: Platform = field(default_factory=Platform)
    refused: set[str] = field(default_factory=set[str])

    def service(self) -> ConnectService:
        secrets = iter(f"secret {number}" for number in range(10_000))
        platforms = {"slack:T1": self.slack, "discord": self.discord}
        record = audited(self.store.audit, self.clock)
        return ConnectService(
            self.store.preferences, self.clock, lambda: next(secrets), platforms, self.refusal, record
        )

    async def refusal(self, incoming: Incoming) -> str | None:
        return "You may not ask." if incoming.person.id in self.refused else None


@pytest.fixture
def world() -> World:
    return World()


async def connected(service: ConnectService, first: str, second: str) -> None:
    """`first` gets a code, `second` enters it, and both agree."""
    assert await service.enter(second, await service.new_code(first)) == first
    assert await service.confirm_entered(second, first, mine=True)
    assert await service.waiting(first) == second
    assert await service.confirm(first, second, mine=True)


async def test_two_accounts_are_connected_after_both_have_agreed(world: World) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    assert await service.usable(ANN) == [ANN_THERE]
    assert await service.usable(ANN_THERE) == [ANN]
    assert await service.listed(ANN_THERE) == "**name of discord:1** (ID 1) on Discord"


async def test_the_audit_holds_who_connected_and_disconnected_accounts_without_the_other_ones_id(world: World) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    await service.disconnect(ANN)
    rows = [(row.person, row.arguments) for row in await world.store.audit.newest(9)]
    assert sorted(rows) == [
        (ANN_THERE, "named an account on Slack as theirs"),
        (ANN, "connected an account on Discord"),
        (ANN, "disconnected an account on Discord"),
    ]


async def test_a_stolen_code_connects_nothing_unless_its_person_agrees_to_the_thief(world: World) -> None:
    service = world.service()
    assert await service.enter(EVE, await service.new_code(ANN)) == ANN
    assert await service.confirm_entered(EVE, ANN, mine=True)
    assert await service.usable(EVE) == ()
    assert await service.usable(ANN) == ()
    assert await service.waiting(ANN) == EVE
    assert await service.confirm(ANN, EVE, mine=False)
    assert await service.waiting(ANN) is None
    assert not await service.confirm(ANN, EVE, mine=True)
    assert await service.usable(EVE) == ()


async def test_somebody_who_is_talked_into_entering_a_code_sees_whose_it_is_and_can_decline(world: World) -> None:
    service = world.service()
    assert await service.enter(ANN, await service.new_code(EVE)) == EVE
    assert await service.confirm_entered(ANN, EVE, mine=False)
    assert await service.waiting(EVE) is None
    assert not await service.confirm(EVE, ANN, mine=True)


async def test_a_code_works_once_and_for_ten_minutes_and_not_in_its_own_account(world: World) -> None:
    service = world.service()
    code = await service.new_code(ANN)
    assert await service.enter(ANN_THERE, code.lower().replace("-", " ")) == ANN
    assert await service.enter(EVE, code) is None
    assert await service.enter(ANN, await service.new_code(ANN)) is None
    late = await service.new_code(ANN)
    await world.clock.advance(CODE_TIME.total_seconds())
    assert await service.enter(ANN_THERE, late) is None
    replaced = await service.new_code(ANN)
    await service.new_code(ANN)
    assert await service.enter(ANN_THERE, replaced) is None


async def test_an_unanswered_step_is_valid_for_ten_minutes(world: World) -> None:
    service = world.service()
    await service.enter(ANN_THERE, await service.new_code(ANN))
    await world.clock.advance(CODE_TIME.total_seconds())
    assert not await service.confirm_entered(ANN_THERE, ANN, mine=True)
    await service.enter(ANN_THERE, await service.new_code(ANN))
    assert await service.confirm_entered(ANN_THERE, ANN, mine=True)
    await world.clock.advance(CODE_TIME.total_seconds())
    assert await service.waiting(ANN) is None
    assert not await service.confirm(ANN, ANN_THERE, mine=True)
    assert await service.usable(ANN) == ()


async def test_nobody_agrees_to_an_account_that_entered_no_code(world: World) -> None:
    service = world.service()
    assert not await service.confirm_entered(EVE, ANN, mine=True)
    assert not await service.confirm(EVE, ANN, mine=True)
    assert await service.usable(EVE) == ()


async def test_codes_cannot_be_guessed(world: World) -> None:
    service = world.service()
    await service.new_code(ANN)
    for number in range(ENTRIES.limit):
        assert await service.enter(EVE, f"AAAA-AAAA-{number:04}") is None
    with pytest.raises(TooOften):
        await service.enter(EVE, "AAAA-AAAA-AAAA")
    await world.clock.advance(timedelta(hours=1).total_seconds())
    assert await service.enter(EVE, "AAAA-AAAA-AAAA") is None


async def test_no_account_is_reached_by_way_of_a_third_one(world: World) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    await connected(service, ANN_THERE, BEN)
    assert await service.usable(ANN) == [ANN_THERE]
    assert await service.usable(BEN) == [ANN_THERE]


@pytest.mark.parametrize("person", [ANN, ANN_THERE])
async def test_either_account_separates_both(world: World, person: str) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    assert await service.disconnect(person) == [ANN if person == ANN_THERE else ANN_THERE]
    assert await service.usable(ANN) == ()
    assert await service.usable(ANN_THERE) == ()
    assert await service.disconnect(person) == []


@pytest.mark.parametrize("forgotten", [ANN, ANN_THERE])
async def test_forgetting_everything_separates_the_accounts_and_leaves_no_id_of_the_other(
    world: World, forgotten: str
) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    await world.store.forgetting.forget(Everything(forgotten), world.clock.now())
    for person in (ANN, ANN_THERE):
        assert await service.usable(person) == ()
        assert await world.store.preferences.all_of(person) == {}


def leave(world: World) -> None:
    world.discord.gone.add(ANN_THERE)


def fail(world: World) -> None:
    world.discord.down = True


def refuse(world: World) -> None:
    world.refused.add(ANN_THERE)


@pytest.mark.parametrize("change", [leave, fail, refuse])
async def test_an_account_that_its_platform_does_not_admit_is_not_read(
    world: World, change: Callable[[World], None]
) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    readers = Readers(world.store.conversations.groups, world.clock, accounts=service.usable)
    place = Place(PersonAudience(ANN))
    assert await readers.audiences(place) == {f"person:{ANN}", f"person:{ANN_THERE}"}
    change(world)
    await world.clock.advance(MAX_AGE_S)
    assert await readers.audiences(place) == {f"person:{ANN}"}
    assert await readers.audiences(Place(PersonAudience(ANN_THERE))) == {f"person:{ANN_THERE}", f"person:{ANN}"}


async def test_an_account_of_a_platform_that_is_not_connected_is_not_read(world: World) -> None:
    service = world.service()
    await connected(service, ANN, "discord:1")
    service.platforms = {"slack:T1": world.slack}
    assert await service.usable(ANN) == []


async def test_a_person_reads_a_bounded_number_of_accounts(world: World) -> None:
    service = world.service()
    for number in range(MAX_ACCOUNTS + 2):
        await connected(service, f"discord:{number}", ANN)
        await world.clock.advance(timedelta(hours=1).total_seconds())
    assert len(await service.usable(ANN)) == MAX_ACCOUNTS


PEOPLE = st.sampled_from([ANN, ANN_THERE, BEN])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("code"), PEOPLE),
        st.tuples(st.just("enter"), PEOPLE, PEOPLE),
        st.tuples(st.just("entered"), PEOPLE, PEOPLE, st.sampled_from(["yes", ""])),
        st.tuples(st.just("confirm"), PEOPLE, PEOPLE, st.sampled_from(["yes", ""])),
        st.tuples(st.just("off"), PEOPLE),
        st.tuples(st.just("wait"), st.sampled_from(["1", "11"])),
    ),
    max_size=25,
)


class Walk:
    """Steps in any order, and who agreed to whom, when."""

    def __init__(self) -> None:
        self.world = World()
        self.service = self.world.service()
        self.codes, self.asked = dict[str, str](), dict[str, str]()
        self.agreed = dict[tuple[str, str], datetime]()

    async def take(self, kind: str, *what: str) -> None:
        match kind, what:
            case "code", [person]:
                self.codes[person] = await self.service.new_code(person)
            case "enter", [person, owner]:
                await self.enter(person, owner)
            case "entered", [person, other, mine]:
                had_agreed = (person, other) in self.agreed
                if await self.service.confirm_entered(person, other, mine=bool(mine)):
                    assert self.asked.get(person) == other or had_agreed
                    self.answer(person, other, mine=bool(mine))
            case "confirm", [person, other, mine]:
                if await self.service.confirm(person, other, mine=bool(mine)):
                    self.answer(person, other, mine=bool(mine))
            case "off", [person]:
                for other in [other for one, other in self.agreed if one == person]:
                    self.answer(person, other, mine=False)
                await self.service.disconnect(person)
            case _:
                await self.world.clock.advance(60.0 * float(what[0]))

    async def enter(self, person: str, owner: str) -> None:
        with suppress(TooOften):
            entered = await self.service.enter(person, self.codes.get(owner, "none"))
            self.asked |= {} if entered is None else {person: entered}

    def answer(self, person: str, other: str, *, mine: bool) -> None:
        if mine:
            self.agreed[person, other] = self.world.clock.now()
        else:
            for pair in ((person, other), (other, person)):
                self.agreed.pop(pair, None)


@given(steps=STEPS)
@settings(max_examples=examples(60), deadline=None)
async def test_whatever_happens_two_accounts_are_connected_only_if_each_agreed_to_the_other(
    steps: list[tuple[str, ...]],
) -> None:
    walk = Walk()
    for kind, *what in steps:
        await walk.take(kind, *what)
        for person in (ANN, ANN_THERE, BEN):
            for other in await walk.service.accounts.of(person):
                assert abs(walk.agreed[person, other] - walk.agreed[other, person]) <= CODE_TIME


async def test_a_yes_that_was_not_answered_connects_nothing_later(world: World) -> None:
    service = world.service()
    await service.enter(ANN, await service.new_code(BEN))
    assert await service.confirm_entered(ANN, BEN, mine=True)
    await world.clock.advance(timedelta(days=30).total_seconds())
    await service.enter(BEN, await service.new_code(ANN))
    assert await service.confirm_entered(BEN, ANN, mine=True)
    assert await service.usable(ANN) == ()
    assert await service.waiting(ANN) == BEN
    assert await service.confirm(ANN, BEN, mine=True)
    assert await service.usable(ANN) == [BEN]


async def test_a_yes_is_about_the_account_that_was_shown_and_can_be_taken_back(world: World) -> None:
    service = world.service()
    await service.enter(ANN, await service.new_code(ANN_THERE))
    await service.enter(ANN, await service.new_code(EVE))
    assert not await service.confirm_entered(ANN, ANN_THERE, mine=True)
    assert await service.confirm_entered(ANN, EVE, mine=True)
    assert await service.confirm_entered(ANN, EVE, mine=False)
    assert await service.waiting(EVE) is None
    assert not await service.confirm(EVE, ANN, mine=True)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ann", "**Ann** (ID 1) on Discord"),
        ("\u3164", "**an account without a name** (ID 1) on Discord"),
        ("\u202enn\u0000A", "**nnA** (ID 1) on Discord"),
        ("**Ann**\n(ID 7)", r"**\*\*Ann\*\*(ID 7)** (ID 1) on Discord"),
        ("A" * 100, f"**{'A' * 39}…** (ID 1) on Discord"),
    ],
)
async def test_an_account_is_described_by_its_id_whatever_it_calls_itself(world: World, name: str, shown: str) -> None:
    world.discord.names[ANN_THERE] = name
    assert await world.service().described(ANN_THERE) == shown


async def test_an_account_that_cannot_be_checked_is_not_connected(world: World) -> None:
    world.discord.down = True
    panel = await connect(world.service(), CommandCall(words="x", caller=FakeCaller()))
    assert panel.refused
    service = world.service()
    code = await service.new_code(ANN_THERE)
    panel = await connect(service, CommandCall(words=code, caller=FakeCaller()))
    assert (panel.text, panel.actions) == (connect_texts.UNCHECKED, ())


async def test_the_list_fits_each_platform_whatever_accounts_call_themselves(world: World) -> None:
    service = world.service()
    world.discord.names[ANN_THERE] = "Ann " * 50
    await connected(service, ANN, ANN_THERE)
    panel = await connect(service, CommandCall(words="", caller=FakeCaller()))
    assert all(len(action.label) <= MOST_LABEL for action in panel.actions)
    (off,) = [action for action in panel.actions if action.danger]
    assert (
        "Disconnected" in (await connect(service, CommandCall(words=off.words, caller=FakeCaller(), pressed=True))).text
    )
    assert await service.usable(ANN) == ()


async def test_where_the_operator_has_turned_it_off_nothing_is_read_and_accounts_can_be_disconnected(
    world: World,
) -> None:
    service = world.service()
    await connected(service, ANN, ANN_THERE)
    service.enabled = False
    assert await service.usable(ANN) == ()
    assert (await connect(service, CommandCall(words="", caller=FakeCaller()))).text == connect_texts.CONNECT_OFF
    assert "Disconnected" in (await connect(service, CommandCall(words="off", caller=FakeCaller()))).text
    assert await service.accounts.of(ANN_THERE) == ()


async def test_words_that_are_typed_press_no_button(world: World) -> None:
    service = world.service()
    await service.enter(ANN, await service.new_code(EVE))
    for words in (f"entered yes {EVE}", f"mine yes {EVE}", f"off {EVE}"):
        assert (await connect(service, CommandCall(words=words, caller=FakeCaller()))).refused
    assert await service.waiting(EVE) is None
