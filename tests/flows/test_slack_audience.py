"""What is known where in Slack, and who is told so; what is the same on each platform is in `test_audience`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agent.providers.scripted import ScriptedProvider
from tests.fakes.canoe import answer
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, FakeEphemeral
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"


@dataclass
class Talk:
    clock: MovedClock
    slack: FakeSlack
    store: StoreInMemory
    model: ScriptedProvider
    people: dict[str, str] = field(default_factory=dict[str, str])
    places: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(self, who: str, where: str, text: str) -> None:
        """Ask, and wait for the answer."""
        turns = len(self.store.turns) + 1
        await self.slack.say(self.people[who], self.places[where], f"{ME} {text}")
        await self.slack.until(lambda: len(self.store.turns) == turns and self.store.turns[-1].state == "done")

    async def knows(self, who: str, where: str) -> bool:
        """Whether the model is given anything vermilion when this person asks here."""
        before = len(self.model.requests)
        await self.ask(who, where, "which colour has the thing?")
        return any("vermilion" in message.text for request in self.model.requests[before:] for message in request)

    async def knowing(self) -> set[tuple[str, str]]:
        """In which places which person would be told of it."""
        return {place for place in PLACES if await self.knows(*place)}

    def told(self, who: str) -> list[FakeEphemeral]:
        """What only this person was told about what was left out."""
        return [
            one for one in self.slack.state.ephemerals if "not shown here" in one.text and one.user == self.people[who]
        ]


PLACES = [
    ("ann", "ann's"),
    ("bob", "bob's"),
    ("ann", "general"),
    ("bob", "general"),
    ("ann", "secret"),
    ("bob", "secret"),
    ("ann", "other"),
]


@asynccontextmanager
async def talking() -> AsyncGenerator[Talk, None]:
    """Ann and bob, each in direct messages, both in a public channel and two private ones."""
    clock = MovedClock()
    async with FakeSlack(clock) as slack:
        talk = Talk(clock, slack, store_in_memory(), ScriptedProvider(answer))
        talk.people = {name: slack.state.user(name) for name in ("ann", "bob")}
        talk.places = {f"{name}'s": slack.state.channel(name, "im") for name in talk.people}
        talk.places |= {"general": slack.state.channel("general")}
        talk.places |= {name: slack.state.channel(name, "private") for name in ("secret", "other")}
        host = turns_host(talk.store, talk.model, clock)
        async with serving(slack, host), host.turns.serving():
            yield talk


async def test_what_was_told_in_public_is_known_to_its_person_in_public_and_in_their_dm() -> None:
    async with talking() as talk:
        await talk.ask("ann", "general", "remember my canoe, it is vermilion")
        assert await talk.knowing() == {("ann", "ann's"), ("ann", "general")}


async def test_the_asker_alone_is_told_that_more_was_found_in_their_dm() -> None:
    async with talking() as talk:
        await talk.ask("ann", "ann's", "my canoe is vermilion")
        await talk.ask("ann", "general", "which colour has the canoe?")
        await talk.slack.until(lambda: talk.told("ann"))
        (ephemeral,) = talk.told("ann")
        assert ephemeral.text.startswith("1 more result from your direct messages")
        assert ephemeral.channel == talk.places["general"]
        assert not any("not shown here" in m.text for request in talk.model.requests for m in request)
        assert not any("not shown here" in message.text for message in talk.slack.state.messages)
        await talk.ask("bob", "general", "which colour has the canoe?")
        await talk.ask("ann", "ann's", "which colour has the canoe?")
    assert (len(talk.told("ann")), talk.told("bob")) == (1, [])
