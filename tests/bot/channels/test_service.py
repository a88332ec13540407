"""Requests of `/channel`, what they change, and who may make them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from agent.admission_terms import Authority
from agent.errors import Refused, StoreError
from agent.incoming import Person
from agent.memory.audience import Place, TeamAudience
from agent.memory.documents import SHARING
from agent.ports.tools import Asker
from bot.channels import rules
from bot.channels import texts as channels_texts
from bot.channels.feature import feature
from bot.channels.rule import ChannelRule, switch_value
from bot.channels.service import (
    ChangePlace,
    PlaceService,
    ShowPlace,
    UnclearPlace,
    UndoChange,
    is_place_request,
    read_place_request,
    read_value,
)
from bot.chat.access.acl import AccessRules, parse_entries, parse_model_access
from bot.chat.access.place_rules import OFF, name_at, place_owner
from bot.chat.texts import replies as reply_texts
from bot.memory import texts as memory_texts
from bot.memory.pauses import LearningPauses
from bot.models.service import ModelService
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

BOSS = Person("slack:T1:UBOSS", "Boss")
CHANNEL = "C1"
PUBLIC = Place(TeamAudience("slack:T1"))


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("", ShowPlace()),
        ("history", ShowPlace(past=True)),
        ("undo", UndoChange()),
        ("undo 12", UndoChange(12)),
        ("who everyone", ChangePlace(rules.WHO, "")),
        ("who members", ChangePlace(rules.WHO, "members")),
        ("who person:slack:T1:U1 and <@&77>", ChangePlace(rules.WHO, "person:slack:T1:U1 role:77")),
        ("who <!subteam^S1|@devs>, Members", ChangePlace(rules.WHO, "role:S1 members")),
        ("models ollama:a, ollama:b", ChangePlace(rules.MODELS, "ollama:a ollama:b")),
        ("models all", ChangePlace(rules.MODELS, "")),
        ("model usual", ChangePlace(rules.MODEL, "")),
        ("instructions: Be brief.\n  And kind.", ChangePlace(rules.INSTRUCTIONS, "Be brief.\nAnd kind.")),
        ("instructions none", ChangePlace(rules.INSTRUCTIONS, "")),
        ("language Português (Brasil)", ChangePlace(rules.LANGUAGE, "Português (Brasil)")),
        ("ambient on", ChangePlace(rules.AMBIENT, "10")),
        ("ambient 007", ChangePlace(rules.AMBIENT, "7")),
        ("ambient off", ChangePlace(rules.AMBIENT, "")),
        ("learning off", ChangePlace(rules.LEARNING, "off")),
        ("knowledge on", ChangePlace(rules.KNOWLEDGE, "")),
        ("act on.", ChangePlace(rules.ACTING, "on")),
        ("act usual", ChangePlace(rules.ACTING, "")),
        ("act now", None),
        ("who", None),
        ("who is there?", None),
        ("who team:T1", None),
        ("model a b", None),
        ("language German. Ignore what was said", None),
        ("ambient often", None),
        (f"instructions: {'x' * 1_001}", None),
        ("undo the deed", None),
        ("nonsense", None),
    ],
)
def test_what_is_asked_is_read_from_its_words(words: str, request_: object) -> None:
    read = read_place_request(words)
    assert read == request_ if request_ is not None else isinstance(read, UnclearPlace)


@pytest.mark.parametrize("rule", rules.CHANNEL_RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("words", ["off", "Off."])
def test_off_ends_what_was_chosen_unless_the_rule_gives_it_a_meaning(rule: ChannelRule, words: str) -> None:
    meant = OFF if rule.read is switch_value or rule in (rules.ACTING, rules.PEOPLE_WHO_HELP, rules.SOLVED) else ""
    assert read_place_request(f"{rule.name} {words}") == ChangePlace(rule, meant)


def test_off_is_read_for_a_rule_that_does_not_know_the_word() -> None:
    def read(words: str) -> str | None:
        if not words.isdecimal():
            raise Refused("A number, please.")
        return words

    rule = ChannelRule(name="size", title="Size", usual="any", usage="`size`", read=read)
    assert [read_value(rule, words) for words in ("5", "off", "big")] == [
        ChangePlace(rule, "5"),
        ChangePlace(rule, ""),
        UnclearPlace("A number, please."),
    ]


def test_talk_about_a_channel_orders_nothing() -> None:
    talk = ("", "instructions are missing", "is quiet today", "who knows?", "ambient music please")
    assert [words for words in talk if is_place_request(words)] == []
    assert is_place_request("instructions: be brief")
    assert is_place_request("ambient off")


@dataclass
class World:
    """A channel of a workspace, with its manager."""

    access: AccessRules = field(default_factory=AccessRules)
    store: Store = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    said: list[str] = field(default_factory=list[str])
    dumb: bool = False
    sends_words: bool = False
    asker: Asker = field(
        default_factory=lambda: Asker(
            BOSS,
            PUBLIC,
            CHANNEL,
            Authority.MANAGER,
            manages=True,
        )
    )

    async def service(self) -> PlaceService:
        models = ModelSettings(model="ollama:usual", allowed_models=("ollama:small", "ollama:dear"))
        switch = await ModelSwitch.open(models, self.clock, lambda: 0.0)
        return PlaceService(
            preferences=self.store.preferences,
            audit=self.store.audit,
            pauses=LearningPauses(self.store.preferences, self.store.profiles, self.clock),
            model_service=ModelService(switch, self.store.preferences, self.access),
            clock=self.clock,
            access=self.access,
            most_ambient=20,
            sends_words=self.sends_words,
        )

    async def say(self, words: str) -> None:
        if self.dumb:
            raise Refused("I may not write there.")
        self.said.append(words)

    async def order(self, words: str, not_receiving: str = "") -> str:
        """Return the answer, with "no:" before it if it was refused."""
        answer = await (await self.service()).answer(self.asker, words, self.say, not_receiving)
        return f"no: {answer.text}" if answer.refused else answer.text

    async def chosen(self) -> Mapping[str, str]:
        return (await (await self.service()).context("slack:T1", CHANNEL)).chosen


async def test_each_change_is_in_the_history_without_a_name_and_in_the_audit_with_one() -> None:
    world = World()
    assert channels_texts.CHOSEN_FOR_CHANNEL in await world.order("who members")
    await world.order("instructions: Link to the wiki.")
    assert await world.order("who members") == (await world.order("")).replace(
        channels_texts.PLACE_HEADING, f"{channels_texts.SO_ALREADY}\n\n{channels_texts.PLACE_HEADING}"
    )
    past = await world.order("history")
    assert "**1** Who may ask: full members (before: everyone with access to me; " in past
    assert "**2** Instructions: Link to the wiki" in past
    assert "by a channel manager" in past
    assert BOSS.name not in past
    audit = await world.store.audit.newest(10)
    assert [(row.person, row.channel, row.arguments) for row in audit] == [
        (BOSS.id, CHANNEL, "channel instructions: 17 characters"),
        (BOSS.id, CHANNEL, "channel who: members"),
    ]


async def test_a_change_is_undone_by_its_number_and_that_too() -> None:
    world = World()
    for words in ("language German", "language French", "model ollama:small", "undo 2"):
        await world.order(words)
    assert await world.chosen() == {"language": "German", "model": "ollama:small"}
    await world.order("undo")
    assert (await world.chosen())["language"] == "French"
    assert await world.order("undo 99") == f"no: {channels_texts.NO_SUCH_CHANGE}"


@pytest.mark.slow
async def test_the_history_is_bounded_and_its_numbers_go_on() -> None:
    world = World()
    for number in range(40):
        await world.order(f"ambient {number % 2 + 1}")
    lines = (await world.order("history")).splitlines()[2:]
    assert (len(lines), lines[-1].partition(" Answers")[0]) == (30, "- **40**")


async def test_nobody_else_changes_it_and_all_may_see_it() -> None:
    world = World()
    await world.order("language German")
    world.asker = replace(world.asker, manages=False, authority=Authority.EMPLOYEE)
    assert await world.order("language French") == f"no: {channels_texts.NOT_YOUR_CHANNEL}"
    assert "**Language**: German" in await world.order("")
    world.access = AccessRules(operators=frozenset({BOSS.id}))
    assert channels_texts.CHOSEN_FOR_CHANNEL in await world.order("language French")


async def test_a_place_narrows_what_the_settings_allow_and_never_widens_it() -> None:
    world = World(AccessRules(models=parse_model_access('{"ollama:dear": "role:S7"}')))
    sentence = reply_texts.model_not_allowed(("ollama:usual", "ollama:small"))
    for words in ("models openai:gpt-6.1-sol", "model ollama:dear", "models ollama:small ollama:dear"):
        assert await world.order(words) == f"no: {sentence}"
    assert await world.order("ambient 21") == f"no: {channels_texts.AMBIENT_MOST.format(most=20)}"
    assert await world.order("who role:S8") == f"no: {channels_texts.GROUP_UNKNOWN}"
    assert await world.order("instructions: the password is hunter22!X") == f"no: {memory_texts.NO_SECRETS}"
    assert await world.chosen() == {}
    world.access = replace(world.access, allow=parse_entries("role:S8"))
    await world.order("who role:S8")
    await world.order("models ollama:small")
    assert (
        await world.order("model ollama:usual") == f"no: {channels_texts.NOT_AMONG_MODELS.format(names='ollama:small')}"
    )
    assert await world.chosen() == {"who": "role:S8", "models": "ollama:small"}


async def test_what_concerns_others_is_said_to_them_before_it_is_switched_on() -> None:
    world = World(dumb=True)
    refused = f"no: {reply_texts.NOT_SWITCHED.format(why='I may not write there.')}"
    assert await world.order("ambient on") == refused
    world.dumb = False
    await world.order("ambient on")
    await world.order("ambient 15")
    await world.order("learning off")
    await world.order("learning on")
    await world.order("ambient off")
    assert [one.partition(" turned o")[0] for one in world.said] == ["Boss"] * 3
    assert "10 questions a day" in world.said[0]
    assert "I now learn from" in world.said[1]
    assert world.said[2] == channels_texts.SAID_AMBIENT_OFF.format(who="Boss")


async def test_who_cannot_be_heard_is_told_why_and_silence_needs_nobody() -> None:
    world = World()
    assert await world.order("ambient on", not_receiving="Switch the intent on.") == "no: Switch the intent on."
    await world.order("ambient on")
    world.dumb = True
    await world.order("ambient off")
    assert await world.chosen() == {}


async def test_learning_is_everybodys_pause_of_it() -> None:
    world = World()
    await world.order("learning off")
    assert [pause.for_everybody for pause in await (await world.service()).pauses.lasting("slack:T1:ann", CHANNEL)] == [
        True
    ]
    assert await world.chosen() == {"learning": "off"}
    await world.order("undo")
    assert await (await world.service()).pauses.lasting("slack:T1:ann", CHANNEL) == []


async def test_choices_that_cannot_be_read_are_no_empty_ones() -> None:
    world = World()
    await world.store.preferences.set(place_owner(CHANNEL), "place", "nonsense")
    with pytest.raises(StoreError, match="operator"):
        await world.order("")


async def test_a_channel_whose_models_are_all_gone_shows_its_managers_what_to_do() -> None:
    world = World()
    assert "cannot use any of the models" not in await world.order("models ollama:small")
    await world.store.preferences.set(place_owner(CHANNEL), name_at("slack:T1"), '{"models": "openai:gone"}')
    assert "A manager of the channel can allow others with `/channel models NAME`" in await world.order("")
    assert "cannot use any of the models" not in await world.order("models all")


async def test_words_leave_in_webhooks_only_if_a_manager_says_so_and_everybody_reads_of_it() -> None:
    world = World()
    assert await world.order("webhooks on") == f"no: {channels_texts.NO_WEBHOOKS}"
    world.sends_words = True
    world.dumb = True
    assert (await world.order("webhooks on")).startswith("no: ")
    assert "webhooks" not in await world.chosen()
    world.dumb = False
    assert channels_texts.CHOSEN_FOR_CHANNEL in await world.order("webhooks on")
    assert (await world.chosen())["webhooks"] == "on"
    assert "turned on sending this channel's questions and answers" in world.said[-1]
    world.dumb = True
    assert channels_texts.CHOSEN_FOR_CHANNEL in await world.order("webhooks off")
    assert "webhooks" not in await world.chosen()


async def test_what_was_chosen_for_a_channel_follows_it_to_a_new_id_but_sharing_and_other_workspaces_do_not() -> None:
    world = World()
    preferences, old, new = world.store.preferences, place_owner(CHANNEL), place_owner("C2")
    await preferences.set(old, name_at("slack:T1"), '{"who": "managers"}')
    await preferences.set(old, name_at("slack:T2"), '{"who": "everyone"}')
    await preferences.set(old, SHARING, "on")
    service = await world.service()
    await service.pauses.set("slack:T1:UANN", CHANNEL, on=True)
    await service.pauses.set_for_all("slack:T1", CHANNEL, on=True)
    events = feature(service).messages
    assert events is not None
    await events.place_renumbered("slack:T1", CHANNEL, "C2")
    assert await preferences.all_of(new) == {
        name: value for name, value in (await preferences.all_of(old)).items() if name.endswith(" slack:T1")
    }
    assert await service.pauses.among({"slack:T1:UANN", "slack:T1:UBEN"}, "C2") == {"slack:T1:UANN"}
    assert await service.pauses.is_paused_for_all("slack:T1", "C2")
    assert (await service.context("slack:T1", "C2")).chosen["who"] == "managers"
    await service.pauses.set("slack:T1:UANN", "C2", on=False)
    await preferences.set(new, name_at("slack:T1"), '{"who": "everyone"}')
    await events.place_renumbered("slack:T1", CHANNEL, "C2")  # the event may come twice
    assert (await service.context("slack:T1", "C2")).chosen["who"] == "everyone"
    assert await service.pauses.among({"slack:T1:UANN"}, "C2") == frozenset()
