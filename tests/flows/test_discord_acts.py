"""Acting on Discord for the person who asks: the real client, real turns, consent, and rights that change meanwhile."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import pytest

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.tool_policy import PolicyRow, read_rows
from bot.acts import texts as act_texts
from bot.acts.settings import ActMode, ActSettings
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.places import places_of_thread
from bot.tools import texts as tool_texts
from tests.fakes.discord_bot import WINDOW_S, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import (
    ANN,
    BO,
    BOT,
    CONNECT,
    DM_OF,
    EVERYBODY,
    GENERAL,
    GUILD,
    STAFF,
    VIEW,
    VOICE,
    Payload,
    labels,
)
from tests.fakes.fast_clock import MovedClock
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT}>"
PIER, FORUM = "25", "26"
SEND, REACT, PIN, POLLS, MANAGE = 1 << 11, 1 << 6, 1 << 51, 1 << 49, 1 << 4
EVENTS = 1 << 44
UNASKED = read_rows("* * * yes")[0]
ON = ActSettings(mode=ActMode.ON)


def call(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


@dataclass
class Talk:
    fake: FakeDiscord
    store: StoreInMemory
    model: ScriptedProvider
    clock: MovedClock
    says: list[str] = field(default_factory=list[str])

    async def ask(self, text: str, *says: str, channel: str = GENERAL, person: str = BO) -> Payload:
        """Ask, and wait until the bot has answered, or waits for consent."""
        turns = len(self.asked) + 1
        self.says[:] = [*says, "Done."]
        asked = await self.fake.say(person, f"{ME} {text}", channel)
        await self.fake.until(lambda: len(self.asked) == turns and self.asked[-1].state in ("done", "waiting"))
        return asked

    @property
    def asked(self) -> list[Any]:
        return [turn for turn in self.store.turns if turn.incoming.kind != "act"]

    async def allow(self, person: str = BO) -> None:
        page = await self._with_button(platforms_texts.DECIDE_BUTTON, frozenset())
        before = frozenset(self.fake.world.messages)
        await self.fake.press(person, page, platforms_texts.DECIDE_BUTTON)
        panel = await self._with_button(tool_texts.ALLOW_ONCE, before)
        await self.fake.press(person, panel, tool_texts.ALLOW_ONCE)
        await self.fake.until(lambda: self.asked[-1].state == "done")

    async def _with_button(self, label: str, before: frozenset[str]) -> Payload:
        def found() -> list[Payload]:
            messages = self.fake.world.messages.items()
            return [one for number, one in messages if number not in before and label in labels(one)]

        await self.fake.until(found)
        return found()[-1]

    @property
    def result(self) -> str:
        found = [one.text for request in self.model.requests for one in request if one.text.startswith("<results>")]
        return json.loads(found[-1].removeprefix("<results>").partition("\n</results>")[0])[0]["content"]

    def posts(self, channel: str) -> list[str]:
        return self.fake.world.shown(channel)

    def link(self, message: Payload) -> str:
        return f"https://discord.com/channels/{GUILD}/{message['channel_id']}/{message['id']}"

    def last(self, channel: str) -> Payload:
        return self.fake.world.said_in(channel)[-1]


@asynccontextmanager
async def talking(settings: ActSettings = ON, rows: Sequence[PolicyRow] = UNASKED) -> AsyncGenerator[Talk]:
    """Ann, who owns the server, and Bo, who manages nothing; the pier, where both may do what members may."""
    clock = MovedClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.open_channel(PIER, "pier")
        fake.world.everyone_may = str(int(EVERYBODY) | REACT | PIN | POLLS | EVENTS)
        says = list[str]()

        def answer(_: Sequence[Message]) -> str:
            return says.pop(0)

        talk = Talk(fake, store_in_memory(), ScriptedProvider(answer), clock, says)
        host = turns_host(talk.store, talk.model, clock, rows=rows, acts=settings)
        async with serving(fake, host), host.turns.serving():
            yield talk


async def test_a_post_is_stored_changed_and_deleted_for_its_asker_alone() -> None:
    async with talking() as talk:
        await talk.ask("announce lunch", call("post_message", where="#pier", text="**Lunch** at 12"))
        post = talk.last(PIER)
        assert talk.posts(PIER) == ["**Lunch** at 12"]
        assert talk.result == act_texts.POSTED.format(link=talk.link(post))
        await talk.ask("at 1", call("edit_post", message=talk.link(post), text="Lunch at 1"))
        assert talk.posts(PIER) == ["Lunch at 1"]
        assert [one.text for _, one in talk.store.messages if "Lunch" in one.text] == ["Lunch at 1"]
        await talk.ask("at 2", call("edit_post", message=talk.link(post), text="Lunch at 2"), person=ANN)
        assert talk.result == act_texts.NOT_ITS_POST
        await talk.ask("delete it", call("delete_post", message=talk.link(post)))
        assert talk.posts(PIER) == ["Lunch at 1"]
        await talk.allow()
        assert talk.posts(PIER) == []
        assert not [one.text for _, one in talk.store.messages if "Lunch" in one.text]


async def test_replies_reactions_and_pins_reach_the_message_that_is_meant() -> None:
    async with talking() as talk:
        root = await talk.fake.say(ANN, "Who brings cake?", PIER)
        await talk.ask("answer her", call("post_message", reply_to=talk.link(root), text="I do."))
        assert talk.last(PIER)["message_reference"]["message_id"] == root["id"]
        await talk.ask("like it", call("add_reaction", message=talk.link(root), emoji="thumbsup"))
        assert talk.fake.rest.reactions[PIER, root["id"]] == ["👍"]
        await talk.ask("pin it", call("pin_message", message=talk.link(root)))
        assert root["pinned"]
        await talk.ask("unpin it", call("pin_message", message=talk.link(root), unpin=True))
        assert not root["pinned"]
        thread = talk.fake.world.start_thread(PIER, root["id"], "cake")
        await talk.fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await talk.ask("say so there", call("post_message", where=root["id"], text="I bring it."))
        assert talk.posts(root["id"]) == ["I bring it."]


async def test_threads_start_alone_below_a_message_and_as_a_post_in_a_forum() -> None:
    async with talking() as talk:
        await talk.fake.dispatch("CHANNEL_CREATE", forum(talk))
        await talk.ask("start one", call("create_thread", where="#pier", title="Cake", text="Who brings it?"))
        thread = next(one for one in talk.fake.world.channels.values() if one["name"] == "Cake")
        assert (thread["parent_id"], talk.posts(thread["id"])) == (PIER, ["Who brings it?"])
        link = f"https://discord.com/channels/{GUILD}/{thread['id']}"
        assert talk.result == act_texts.STARTED.format(link=link)
        assert [one.text for _, one in talk.store.messages if "Cake" in one.text] == ["**Cake**\n\nWho brings it?"]
        await talk.store.forgetting.forget(places_of_thread(int(thread["id"])), talk.clock.now())
        assert not [one for _, one in talk.store.messages if "Cake" in one.text], "it goes with a deleted thread"
        asked = await talk.fake.say(ANN, "Lunch?", PIER)
        below = call("create_thread", message=talk.link(asked), title="Where", text="Inside.")
        await talk.ask("below it", below)
        assert talk.posts(asked["id"]) == ["Inside."]
        asked["flags"] = 1 << 5  # Discord marks a message that has a thread
        await talk.ask("below it", below)
        assert talk.result == platforms_texts.ACT_HAS_THREAD
        post = {"where": FORUM, "title": "How old?", "text": "Is the boat old?"}
        await talk.ask("ask the forum", call("create_thread", **post))
        assert talk.result == platforms_texts.ACT_NEEDS_TAG
        await talk.ask("ask the forum", call("create_thread", **post, tag="Staff"))
        assert talk.result == platforms_texts.ACT_UNKNOWN_TAG, "a moderated tag"
        await talk.ask("ask the forum", call("create_thread", **post, tag="boats"))
        post = next(one for one in talk.fake.world.channels.values() if one["name"] == "How old?")
        assert (post["parent_id"], post["applied_tags"]) == (FORUM, ["61"])
        assert talk.posts(post["id"]) == ["Is the boat old?"]


async def test_a_thread_whose_answer_was_lost_is_not_started_again() -> None:
    async with talking() as talk:
        talk.fake.rest.fail("POST", f"/channels/{PIER}/threads", 502, lost=True)
        await talk.ask("start one", call("create_thread", where="#pier", title="Cake", text="Who brings it?"))
        assert talk.result == platforms_texts.ACT_UNSURE
        assert len([one for one in talk.fake.world.channels.values() if one["name"] == "Cake"]) == 1
        asked = await talk.fake.say(ANN, "Lunch?", PIER)
        talk.fake.rest.fail("POST", f"/messages/{asked['id']}/threads", 502, lost=True)
        await talk.ask("below it", call("create_thread", message=talk.link(asked), title="Where", text="Inside."))
        assert talk.posts(asked["id"]) == ["Inside."]


async def test_a_topic_is_set_for_who_manages_the_channel_when_they_press() -> None:
    topic = call("set_topic", where="#pier", topic="Boats")
    async with talking(rows=()) as talk:
        pier = talk.fake.world.channels[PIER]
        talk.fake.world.bot_may = str(int(talk.fake.world.bot_may) | MANAGE)
        managers = [{"id": who, "type": 1, "allow": str(MANAGE), "deny": "0"} for who in (BO, BOT)]
        pier["permission_overwrites"] = managers
        await talk.fake.dispatch("CHANNEL_UPDATE", pier)
        await talk.ask("set it", topic)
        await talk.allow()
        assert (talk.result, pier["topic"]) == (act_texts.TOPIC_SET, "Boats")
        await talk.ask("set it", call("set_topic", where="#pier", topic="Cake"))
        pier["permission_overwrites"] = managers[1:]
        await talk.fake.dispatch("CHANNEL_UPDATE", pier)
        await talk.allow()
        assert (talk.result, pier["topic"]) == (platforms_texts.ACT_NO_RIGHT, "Boats")


PARTY = {"title": "Party", "start": "2027-05-01T20:00", "zone": "Europe/Berlin", "location": "The pier"}


async def test_an_event_is_scheduled_changed_and_deleted_for_its_asker_alone() -> None:
    async with talking() as talk:
        await talk.ask("plan it", call("create_event", **PARTY, description="Bring [cake](https://example.com/cake)."))
        ((id_, event),) = talk.fake.rest.events.items()
        link = f"https://discord.com/events/{GUILD}/{id_}"
        assert talk.result == act_texts.SCHEDULED.format(link=link)
        assert (event["entity_type"], event["entity_metadata"]) == (3, {"location": "The pier"})
        times = event["scheduled_start_time"], event["scheduled_end_time"]
        assert times == ("2027-05-01T18:00:00+00:00", "2027-05-01T19:00:00+00:00")
        assert event["description"] == "Bring [cake] (https://example.com/cake)."
        await talk.ask("call it a feast", call("edit_event", event=link, title="Feast"))
        assert (event["name"], event["entity_metadata"]) == ("Feast", {"location": "The pier"})
        stored = [one.text for _, one in talk.store.messages if "The pier" in one.text]
        assert stored == ["Feast\nThe pier\nBring [cake] (https://example.com/cake)."]
        await talk.ask("call it mine", call("edit_event", event=link, title="Mine"), person=ANN)
        assert talk.result == act_texts.NOT_ITS_POST
        for wrong in ({"start": "2020-01-01T00:00"}, {"end": "2027-05-01T19:00"}, {"zone": ""}):
            await talk.ask("plan it", call("create_event", **PARTY | wrong))
            assert talk.result == (act_texts.NO_ZONE if "zone" in wrong else act_texts.PAST)
        await talk.ask("call it off", call("delete_post", message=link))
        await talk.allow()
        assert (talk.result, talk.fake.rest.events) == (act_texts.DELETED, {})


async def test_an_event_in_a_voice_channel_takes_the_rights_there_and_is_left_alone_once_it_moved() -> None:
    party = {name: value for name, value in PARTY.items() if name != "location"}
    async with talking() as talk:
        hall = talk.fake.world.channels[VOICE]
        allowed = [{"id": who, "type": 1, "allow": str(CONNECT | EVENTS), "deny": "0"} for who in (BO, BOT)]
        hall["permission_overwrites"] = allowed
        await talk.fake.dispatch("CHANNEL_UPDATE", hall)
        await talk.ask("plan the party here", call("create_event", **party, where="#hall"))
        ((id_, event),) = talk.fake.rest.events.items()
        assert (event["entity_type"], event["channel_id"]) == (2, VOICE)
        event["channel_id"] = PIER
        edit = call("edit_event", event=f"https://discord.com/events/{GUILD}/{id_}", title="here")
        await talk.ask("call it here", edit)
        assert talk.result == platforms_texts.ACT_EVENT_MOVED
        event["channel_id"] = VOICE
        hall["permission_overwrites"] = allowed[1:]
        await talk.fake.dispatch("CHANNEL_UPDATE", hall)
        await talk.ask("call it here", edit)
        assert talk.result == platforms_texts.ACT_NOT_FOUND, "who may not connect does not read there"
        assert event["name"] == "Party"


async def test_who_may_schedule_nothing_when_they_press_gets_no_event() -> None:
    async with talking(rows=()) as talk:
        await talk.ask("plan it", call("create_event", **PARTY))
        timed_out(talk)
        await talk.allow()
        assert talk.result == platforms_texts.ACT_NO_RIGHT
    async with talking() as talk:
        await talk.ask("plan it", call("create_event", **PARTY), channel=DM_OF[BO])
        assert talk.result == platforms_texts.ACT_NOT_FOUND, "a server has to be named"
        talk.fake.rest.fail("POST", "/scheduled-events", 502, lost=True)
        await talk.ask("plan it", call("create_event", **PARTY))
        assert (talk.result, len(talk.fake.rest.events)) == (platforms_texts.ACT_UNSURE, 1)


def forum(talk: Talk) -> Payload:
    """Open a forum whose posts need a tag: one for everyone, and one for moderators."""
    channel = talk.fake.world.open_channel(FORUM, "questions", 15)
    tags = [{"id": "61", "name": "Boats", "moderated": False}, {"id": "62", "name": "Staff", "moderated": True}]
    channel["available_tags"] = [{**tag, "emoji_id": None, "emoji_name": None} for tag in tags]
    channel["flags"] = 1 << 4
    return channel


Change: TypeAlias = Callable[[Talk], Payload | None]


def overwritten(deny: int, who: str = GUILD) -> Change:
    def change(talk: Talk) -> Payload:
        kind = 0 if who == GUILD else 1
        denied = {"id": who, "type": kind, "allow": "0", "deny": str(deny)}
        talk.fake.world.channels[PIER]["permission_overwrites"] = [denied]
        return talk.fake.world.channels[PIER]

    return change


def timed_out(talk: Talk) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 -- discord.py compares it with the real time
    talk.fake.world.facts_of[BO] = {"communication_disabled_until": until.isoformat()}


def pending(talk: Talk) -> None:
    talk.fake.world.facts_of[BO] = {"pending": True}


def left(talk: Talk) -> None:
    talk.fake.world.absent.add(BO)


def slow(talk: Talk) -> Payload:
    talk.fake.world.channels[PIER]["rate_limit_per_user"] = 30
    return talk.fake.world.channels[PIER]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (overwritten(SEND, BO), platforms_texts.ACT_NO_RIGHT),
        (overwritten(VIEW, BO), platforms_texts.ACT_NOT_FOUND),
        (overwritten(SEND, BOT), platforms_texts.ACT_BOT_LACKS.format(missing="Send Messages")),
        (timed_out, platforms_texts.ACT_NO_RIGHT),
        (pending, platforms_texts.ACT_NO_RIGHT),
        (left, platforms_texts.ACT_NOT_FOUND),
        (slow, platforms_texts.ACT_SLOWMODE),
    ],
)
async def test_rights_that_change_between_the_question_and_the_press_count(change: Change, why: str) -> None:
    async with talking(rows=()) as talk:
        await talk.ask("announce lunch", call("post_message", where=PIER, text="Lunch"))
        if (channel := change(talk)) is not None:
            await talk.fake.dispatch("CHANNEL_UPDATE", channel)
        await talk.allow()
        assert talk.result == why
        assert talk.posts(PIER) == []


async def test_what_a_member_may_not_do_themselves_is_not_done_for_them() -> None:
    async with talking() as talk:
        root = await talk.fake.say(ANN, "Who brings cake?", PIER)
        await talk.fake.dispatch("CHANNEL_UPDATE", overwritten(REACT | PIN, BO)(talk) or {})
        for name, args in (("add_reaction", {"emoji": "👍"}), ("pin_message", {})):
            await talk.ask("do it", call(name, message=talk.link(root), **args))
            assert talk.result == platforms_texts.ACT_NO_RIGHT
        await talk.ask("post", call("post_message", where=STAFF, text="hi"))
        assert talk.result == platforms_texts.ACT_NOT_FOUND
        assert not talk.fake.rest.reactions[PIER, root["id"]]
        assert not root["pinned"]
        locked = talk.fake.world.start_thread(PIER, root["id"], "cake")
        locked["thread_metadata"]["locked"] = True
        await talk.fake.dispatch("THREAD_CREATE", {**locked, "newly_created": True})
        await talk.ask("post", call("post_message", where=root["id"], text="hi"))
        assert talk.result == platforms_texts.ACT_ARCHIVED


async def test_where_members_are_verified_only_who_wrote_there_or_has_a_role_posts() -> None:
    async with talking() as talk:
        talk.fake.world.verification_level = 3
        await talk.fake.dispatch("GUILD_UPDATE", talk.fake.world.guild())
        post = call("post_message", where=PIER, text="hi")
        await talk.ask("post this: hi", post, channel=DM_OF[BO])
        assert talk.result == platforms_texts.ACT_NO_RIGHT
        await talk.ask("post", post)
        assert talk.posts(PIER) == ["hi"]


async def test_only_those_are_mentioned_whom_the_question_mentions() -> None:
    async with talking() as talk:
        text = f"@Ann and @Bo, <@{BO}> @everyone look"
        await talk.ask(f"tell <@{ANN}>", call("post_message", where=PIER, text=text))
        await talk.allow()
        sent = next(one.body for one in reversed(talk.fake.calls) if "look" in str(one.body.get("content")))
        assert sent["content"].startswith(f"<@{ANN}> and @Bo")
        assert sent["allowed_mentions"]["users"] == [ANN]
        assert sent["allowed_mentions"]["parse"] == []


async def test_a_post_whose_answer_was_lost_is_not_repeated() -> None:
    async with talking() as talk:
        talk.fake.rest.fail("POST", f"/channels/{PIER}/messages", 502, lost=True)
        await talk.ask("post", call("post_message", where=PIER, text="once"))
        assert talk.posts(PIER) == ["once"]
        assert talk.result == act_texts.POSTED.format(link=talk.link(talk.last(PIER)))


async def test_private_words_stay_and_the_askers_own_go_out() -> None:
    async with talking() as talk:
        post = call("post_message", where=PIER, text="The boat is blue.")
        await talk.ask("tell them what colour my boat has", post, channel=DM_OF[BO])
        assert talk.result == act_texts.OTHER_READERS.format(name="#pier")
        await talk.ask("write: the boat is blue", post, channel=DM_OF[BO])
        assert talk.posts(PIER) == ["The boat is blue."]


async def test_a_poll_is_discords_own_and_closes_for_its_asker() -> None:
    async with talking() as talk:
        asked = {"question": "Lunch?", "options": ["Pizza", "Pasta"], "where": "#pier", "hours": 5}
        await talk.ask("ask them", call("create_poll", **asked))
        poll = talk.last(PIER)
        assert poll["poll"]["question"]["text"] == "Lunch?"
        assert [one["poll_media"]["text"] for one in poll["poll"]["answers"]] == ["Pizza", "Pasta"]
        assert (poll["poll"]["duration"], poll["poll"]["allow_multiselect"]) == (5, False)
        await talk.ask("close it", call("close_poll", message=talk.link(poll)), person=ANN)
        assert talk.result == act_texts.NOT_ITS_POST
        await talk.ask("close it", call("close_poll", message=talk.link(poll)))
        assert poll["poll"]["expired"]


async def test_a_poll_takes_the_right_to_post_polls() -> None:
    async with talking() as talk:
        await talk.fake.dispatch("CHANNEL_UPDATE", overwritten(POLLS, BO)(talk) or {})
        await talk.ask("ask them", call("create_poll", question="Lunch?", options=["Pizza", "Pasta"], where=PIER))
        assert talk.result == platforms_texts.ACT_NO_RIGHT
        assert not talk.fake.world.said_in(PIER)
