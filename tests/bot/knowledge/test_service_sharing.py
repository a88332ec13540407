"""Sharing a channel's facts with the team: who switches it on, how it is announced, and how a person opts out."""

from dataclasses import dataclass, field, replace

import pytest

from agent.admission_terms import Authority
from agent.errors import Refused
from agent.incoming import Attachment, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.memory.documents import ON, SHARING
from agent.memory.forgetting_plans import PAUSED
from agent.ports.tools import Asker
from bot.chat.attachments.reading import ReadDocument
from bot.chat.texts import replies as reply_texts
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.commands import KNOWLEDGE_COMMAND, knowledge_panel
from bot.knowledge.service import KnowledgeService, asks_to_share
from bot.memory import texts as memory_texts
from tests.bot.memory.test_service import Office
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.store import StoreInMemory, store_in_memory

PUBLIC = Place(TeamAudience("T"), within_team="T")
CLUB = Place(GroupAudience("club"), whole_channel=True)
BOSS = Asker(Person("s:T:boss", "Bea"), PUBLIC, "C1", Authority.MANAGER, manages=True)
BOB = replace(BOSS, person=Person("s:T:bob", "Bob"), authority=Authority.EMPLOYEE, manages=False)


async def no_file(_file: Attachment, _source: str, _person: str) -> ReadDocument:
    raise AssertionError


@dataclass
class Channel:
    """A service, and the messages in its channel, each with the sharing state at that moment."""

    store: StoreInMemory = field(default_factory=store_in_memory)
    heard: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    mute: bool = False

    @property
    def service(self) -> KnowledgeService:
        store, clock = self.store, FakeClock()
        return KnowledgeService(
            documents=store.documents,
            forgetting=store.forgetting,
            read=no_file,
            clock=clock,
            preferences=store.preferences,
        )

    async def say(self, said: str) -> None:
        if self.mute:
            raise Refused(reply_texts.NOT_SAID_THERE)
        self.heard.append((said, await self.shares()))

    async def shares(self) -> bool:
        return await self.store.preferences.all_of("channel:C1") == {SHARING: ON}

    async def switch(self, *, on: bool, asker: Asker = BOSS) -> str:
        return (await self.service.answer(asker, f"share {'on' if on else 'off'}", self.say)).text


async def test_who_manages_a_public_channel_switches_it_on_once_everybody_there_was_told() -> None:
    channel = Channel()
    assert await channel.switch(on=True) == knowledge_texts.SHARED_FROM_NOW
    assert channel.heard == [(knowledge_texts.SHARING_ON.format(who="Bea"), False)]
    assert await channel.shares()
    assert await channel.switch(on=True) == knowledge_texts.SHARES_ALREADY
    assert len(channel.heard) == 1


async def test_it_is_switched_off_at_once_and_that_is_said_too() -> None:
    channel = Channel()
    await channel.switch(on=True)
    assert await channel.switch(on=False) == knowledge_texts.SHARED_NO_MORE
    assert channel.heard[1:] == [(knowledge_texts.SHARING_OFF.format(who="Bea"), False)]
    assert await channel.switch(on=False) == knowledge_texts.SHARES_NOTHING


async def test_where_nobody_can_be_told_it_is_not_switched_on_but_off() -> None:
    channel = Channel(mute=True)
    assert await channel.switch(on=True) == reply_texts.NOT_SWITCHED.format(why=reply_texts.NOT_SAID_THERE)
    assert not await channel.shares()
    channel.mute = False
    await channel.switch(on=True)
    channel.mute = True
    assert (await channel.switch(on=False)).startswith(knowledge_texts.SHARED_NO_MORE)
    assert not await channel.shares()


@pytest.mark.parametrize(
    ("asker", "told"),
    [
        (BOB, knowledge_texts.NOT_SHARING),
        (replace(BOB, authority=Authority.GUEST), knowledge_texts.NOT_FOR_GUESTS),
        (replace(BOSS, place=CLUB), knowledge_texts.SHARED_IN_PUBLIC),
        (replace(BOSS, place=Place(PersonAudience("s:T:boss")), channel=""), knowledge_texts.SHARED_IN_PUBLIC),
    ],
    ids=["a member", "a guest", "in a private channel", "in a direct message"],
)
async def test_nobody_else_and_nowhere_else_is_it_switched_on(asker: Asker, told: str) -> None:
    channel = Channel()
    assert await channel.switch(on=True, asker=asker) == told
    assert (channel.heard, channel.store.chosen) == ([], {})


async def test_the_list_says_that_it_is_on_and_offers_who_manages_the_channel_to_change_it() -> None:
    channel = Channel()
    for on, offered in ((False, ["share on"]), (True, ["share off"])):
        if on:
            await channel.switch(on=True)
        asked = [await channel.service.answer(who, "") for who in (BOSS, BOB, replace(BOSS, place=CLUB))]
        assert [knowledge_texts.SHARES_HERE in one.text for one in asked] == [on, on, False]
        pressed = [[action.words for action in knowledge_panel(one).actions] for one in asked]
        assert pressed == [offered, [], []]


def test_words_that_switch_it_are_understood_and_others_are_talk() -> None:
    assert [asks_to_share(words) for words in ("share on", " Share  OFF ", "share", "share on Monday")] == [
        True,
        False,
        None,
        None,
    ]
    assert KNOWLEDGE_COMMAND.means("share on", NOON)
    assert not KNOWLEDGE_COMMAND.means("share on Monday", NOON)


async def test_a_person_takes_theirs_out_and_sees_that_they_did() -> None:
    office = Office()
    assert (await office.ask("share off")).text == memory_texts.OWN_NOT_SHARED
    assert office.store.chosen["ann"][SHARING] == PAUSED
    assert memory_texts.OWN_KEPT_BACK in (await office.ask("")).text
    assert memory_texts.OWN_KEPT_BACK not in (await office.ask("", "bob")).text
    assert (await office.ask("share on")).text == memory_texts.OWN_SHARED
    assert SHARING not in office.store.chosen.get("ann", {})
    assert memory_texts.OWN_KEPT_BACK not in (await office.ask("")).text
    assert (await office.ask("share maybe")).refused
