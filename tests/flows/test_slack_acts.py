"""Acting in Slack for the person who asks: the real client, real turns, consent, and rights that change meanwhile."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.memory.forgetting_plans import Everything
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import DELETE_REPLY
from agent.tool_policy import PolicyRow, read_rows
from bot.acts import texts as act_texts
from bot.acts.feature import service_on
from bot.acts.service import CLOSE_POLL
from bot.acts.settings import ActMode, ActSettings
from bot.channels.commands import COMMAND as CHANNEL
from bot.chat.host import Host
from bot.chat.jobs import JobWorker
from bot.forgetting.retention import ReplyDeletion
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_faults import LOST, Fault
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"
ANN, BOB = "U0ANN", "U0BOB"
GENERAL, TEAM, SECRET, DM = "C0GENERAL", "C0TEAM", "C0SECRET", "D0ANN"
UNASKED = read_rows("* * * yes")[0]
ON = ActSettings(mode=ActMode.ON)


def call(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


@dataclass
class Talk:
    slack: FakeSlack
    store: StoreInMemory
    model: ScriptedProvider
    clock: MovedClock
    host: Host
    says: list[str] = field(default_factory=list[str])

    async def ask(self, text: str, *says: str, channel: str = GENERAL, user: str = ANN) -> FakeMessage:
        """Ask, and wait until the bot has answered, or waits for consent."""
        turns = len(self.asked) + 1
        self.says[:] = [*says, "Done."]
        asked = await self.slack.say(user, channel, f"{ME} {text}")
        await self.slack.until(lambda: len(self.asked) == turns and self.asked[-1].state in ("done", "waiting"))
        return asked

    @property
    def asked(self) -> list[Any]:
        return [turn for turn in self.store.turns if turn.incoming.kind != "act"]

    async def decide(self, label: str) -> None:
        """Press a button of what the asker is shown about the call, and wait for the answer."""
        await self.slack.until(lambda: label in labels(self.slack.state.ephemerals[-1].blocks, ANN))
        await self.slack.click(ANN, self.slack.state.ephemerals[-1], label)
        await self.slack.until(lambda: self.asked[-1].state == "done")

    @property
    def result(self) -> str:
        found = [one.text for request in self.model.requests for one in request if one.text.startswith("<results>")]
        return json.loads(found[-1].removeprefix("<results>").partition("\n</results>")[0])[0]["content"]

    def posts(self, channel: str) -> list[FakeMessage]:
        """The bot's messages there that are no answers."""
        return [one for one in self.slack.state.answers(channel) if one.metadata.get("event_type") == "cogency_act"]

    def stored(self, channel: str) -> list[str]:
        """What is stored of acts there."""
        acts = {
            turn.id for turn in self.store.turns if turn.incoming.channel == channel and turn.incoming.kind == "act"
        }
        return [message.text for turn, message in self.store.messages if turn in acts]

    def link(self, message: FakeMessage) -> str:
        return f"https://fake.slack.com/archives/{message.channel}/p{message.ts.replace('.', '')}"


@asynccontextmanager
async def talking(settings: ActSettings = ON, rows: Sequence[PolicyRow] = UNASKED) -> AsyncGenerator[Talk]:
    """Ann and Bob, both in three channels; Ann with direct messages. By default, the operator allows acts unasked."""
    clock = MovedClock()
    async with FakeSlack(clock) as slack:
        says = list[str]()

        def answer(_: Sequence[Message]) -> str:
            return says.pop(0)

        store, model = store_in_memory(), ScriptedProvider(answer)
        host = turns_host(store, model, clock, rows=rows, acts=settings)
        talk = Talk(slack, store, model, clock, host, says)
        for name in ("ann", "bob"):
            slack.state.user(name)
        slack.state.channel("ann", "im")
        for name in ("general", "team"):
            slack.state.channel(name)
        slack.state.channel("secret", "private")
        async with serving(slack, host), host.turns.serving():
            yield talk


async def test_what_the_asker_allows_is_posted_stored_and_can_be_changed_deleted_and_forgotten() -> None:
    async with talking(rows=()) as talk:
        await talk.ask("announce lunch", call("post_message", where="#team", text="**Lunch** at 12"))
        assert not talk.posts(TEAM)
        await talk.decide(tool_texts.ALLOW_ONCE)
        (post,) = talk.posts(TEAM)
        assert post.text == "**Lunch** at 12"
        assert talk.result == act_texts.POSTED.format(link=talk.link(post))
        assert talk.stored(TEAM) == [
            act_texts.REQUEST,
            "**Lunch** at 12",
        ]
        await talk.ask("at 1", call("edit_post", message=talk.link(post), text="Lunch at 1"))
        await talk.decide(tool_texts.ALLOW_ONCE)
        assert post.text == "Lunch at 1"
        assert talk.stored(TEAM) == [act_texts.REQUEST, "Lunch at 1"]
        receipt = await talk.store.forgetting.forget(Everything(f"slack:T0TEAM:{ANN}"), talk.clock.now(), replies=True)
        assert receipt
        assert [one for one in talk.store.waiting_jobs if TEAM in one[1]], "the post is deleted with its asker's words"


async def test_a_post_can_be_deleted_by_its_asker_alone() -> None:
    async with talking() as talk:
        await talk.ask("say hi", call("post_message", where="#team", text="hi"))
        (post,) = talk.posts(TEAM)
        await talk.ask("delete it", call("delete_post", message=talk.link(post)), user=BOB)
        assert talk.asked[-1].state == "waiting", "it cannot be undone, so that no row of the policy allows it"
        await talk.slack.until(lambda: bool(talk.slack.state.ephemerals))
        await talk.slack.click(BOB, talk.slack.state.ephemerals[-1], tool_texts.ALLOW_ONCE)
        await talk.slack.until(lambda: talk.asked[-1].state == "done")
        assert talk.result == act_texts.NOT_ITS_POST
        await talk.ask("delete it", call("delete_post", message=talk.link(post)))
        await talk.decide(tool_texts.ALLOW_ONCE)
        assert not talk.posts(TEAM)
        assert not talk.stored(TEAM)


async def test_replies_reactions_and_pins_reach_the_message_that_is_meant() -> None:
    async with talking() as talk:
        root = talk.slack.state.write(BOB, TEAM, "Who brings cake?")
        await talk.ask("answer him", call("post_message", reply_to=talk.link(root), text="I do."))
        (post,) = talk.posts(TEAM)
        assert (post.text, post.thread_ts) == ("I do.", root.ts)
        await talk.ask("like it", call("add_reaction", message=talk.link(root), emoji="👍"))
        assert talk.slack.state.reactions[TEAM, root.ts] == ["+1"]
        await talk.ask("pin it", call("pin_message", message=talk.link(root)))
        assert talk.slack.state.pins[TEAM] == [root.ts]
        await talk.ask("pin it again", call("pin_message", message=talk.link(root)))
        assert talk.result == act_texts.PINNED
        await talk.ask("unpin it", call("pin_message", message=talk.link(root), unpin=True))
        assert talk.slack.state.pins[TEAM] == []


async def test_a_thread_starts_alone_or_below_a_message_and_can_be_deleted() -> None:
    async with talking() as talk:
        await talk.ask("start one", call("create_thread", where="#team", title="Cake", text="Who brings it?"))
        root, first = talk.posts(TEAM)
        assert (root.text, root.thread_ts, first.text, first.thread_ts) == ("**Cake**", "", "Who brings it?", root.ts)
        assert talk.result == act_texts.STARTED.format(link=talk.link(root))
        assert talk.stored(TEAM)[1:] == ["**Cake**\n\nWho brings it?"]
        asked = talk.slack.state.write(BOB, TEAM, "Lunch?")
        await talk.ask("below it", call("create_thread", message=talk.link(asked), title="Where", text="Inside."))
        assert (talk.posts(TEAM)[-1].text, talk.posts(TEAM)[-1].thread_ts) == ("**Where**\n\nInside.", asked.ts)
        await talk.ask("delete it", call("delete_post", message=talk.link(root)))
        await talk.decide(tool_texts.ALLOW_ONCE)
        assert [one.thread_ts for one in talk.posts(TEAM)] == [asked.ts]


async def test_no_link_hides_where_it_leads_in_the_title_of_a_thread_in_a_poll_or_as_a_bookmark() -> None:
    hidden, shown = "[agenda](https://evil.example/?q=x)", "[agenda] (https://evil.example/?q=x)"
    async with talking() as talk:
        await talk.ask("start one", call("create_thread", where="#team", title=hidden, text="Read it."))
        assert talk.posts(TEAM)[0].text == f"**{shown}**"
        await talk.ask("ask them", call("create_poll", where="#team", question=hidden, options=[hidden, "no"]))
        assert talk.posts(TEAM)[-1].text.startswith(f"**{shown}**\n\n1. {shown}: ")
        bookmark = {"where": "#team", "title": "bank.com", "link": "https://k.com/x"}
        await talk.ask("bookmark it", call("add_bookmark", **bookmark))
        assert talk.slack.state.headers.bookmarks[TEAM][0]["title"] == "bank.com (k.com)"


async def test_topics_and_bookmarks_are_set_for_members_and_mention_nobody() -> None:
    async with talking() as talk:
        facts, bookmarks = talk.slack.state.channels[TEAM].facts, talk.slack.state.headers.bookmarks
        await talk.ask("set it", call("set_topic", where="#team", topic="Lunch & cake\n<!channel>"))
        assert facts["topic"]["value"] == "Lunch &amp; cake ‹!channel&gt;"
        await talk.ask("set it", call("set_topic", where="#team", topic="About food", description=True))
        assert facts["purpose"]["value"] == "About food"
        await talk.ask("set it", call("set_topic", where="#team", topic="x" * 251))
        assert talk.result == platforms_texts.ACT_TOPIC_LONG.format(most=250)
        plan = {"where": "#team", "title": "Plan", "link": "https://docs.example.com/plan"}
        for _ in range(2):
            await talk.ask("bookmark it", call("add_bookmark", **plan))
        (bookmark,) = bookmarks[TEAM]
        assert (bookmark["title"], bookmark["link"]) == ("Plan (docs.example.com)", plan["link"])
        await talk.ask("bookmark it", call("add_bookmark", **{**plan, "link": "javascript:alert(1)"}))
        assert talk.result == act_texts.NO_ADDRESS
        await talk.ask("remove it", call("remove_bookmark", where="#team", bookmark="Plan"))
        assert talk.result == platforms_texts.ACT_NO_BOOKMARK.format(count=0)
        await talk.ask("remove it", call("remove_bookmark", where="#team", bookmark=plan["link"]))
        assert bookmarks[TEAM] == []


async def test_a_canvas_is_created_changed_and_deleted_for_its_asker_alone() -> None:
    async with talking() as talk:
        canvases = talk.slack.state.headers.canvases
        text = "## Who\n\nAnn and <@U0BOB>.\n\n![](@U0BOB)"
        await talk.ask("write it down", call("create_canvas", where="#team", title="Cake", text=text))
        ((id_, canvas),) = canvases.items()
        link = f"https://fake.slack.com/docs/T0TEAM/{id_}"
        assert talk.result == act_texts.CREATED.format(link=link)
        assert (canvas.channel, canvas.title) == (TEAM, "Cake")
        assert canvas.text == "## Who\n\nAnn and ‹@U0BOB>.\n\n!\\[](@U0BOB)"
        assert talk.stored(TEAM)[1:] == [f"# Cake\n\n{text}"]
        edit = call("edit_canvas", canvas=link, text="## When\n\nAt noon.")
        await talk.ask("add that", edit)
        assert talk.result == act_texts.CANVAS_EDITED
        await talk.ask("no, at one", call("edit_canvas", canvas=link, text="At one.", replaces="At noon"))
        assert [*canvas.sections.values()][3:] == ["## When", "At one."]
        await talk.ask("no", call("edit_canvas", canvas=link, text="x", replaces="o"))
        assert talk.result == platforms_texts.ACT_NO_SECTION.format(count=2)
        await talk.ask("add that", edit, user=BOB)
        assert talk.result == act_texts.NOT_ITS_POST
        talk.slack.faults["canvases.edit"] += [LOST]
        await talk.ask("add that", call("edit_canvas", canvas=link, text="Once."))
        assert (talk.result, canvas.text.count("Once.")) == (platforms_texts.ACT_UNSURE, 1)
        await talk.ask("delete it", call("delete_post", message=link))
        await talk.decide(tool_texts.ALLOW_ONCE)
        assert (talk.result, canvases) == (act_texts.DELETED, {})
        assert not talk.stored(TEAM)
        await talk.ask("add that", edit)
        assert talk.result == act_texts.NOT_ITS_POST


async def test_a_private_channels_canvas_may_have_been_shared_so_that_later_only_the_askers_words_go_in() -> None:
    async with talking() as talk:
        await talk.ask("plan", call("create_canvas", title="Boat", text="It is blue."), channel=SECRET)
        ((id_, canvas),) = talk.slack.state.headers.canvases.items()
        assert (canvas.channel, canvas.text) == (SECRET, "It is blue.")
        edit = call("edit_canvas", canvas=f"https://fake.slack.com/docs/T0TEAM/{id_}", text="The berth is 7.")
        await talk.ask("add the berth", edit, channel=SECRET)
        assert talk.result == act_texts.OTHER_READERS.format(name=platforms_texts.ACT_THAT_CHANNEL)
        await talk.ask("add: the berth is 7", edit, channel=SECRET)
        assert canvas.text.endswith("The berth is 7.")


async def test_a_canvas_is_deleted_with_what_its_asker_forgets() -> None:
    async with talking() as talk:
        await talk.ask("write it down", call("create_canvas", where="#team", title="Cake", text="Ann brings it."))
        await talk.store.forgetting.forget(Everything(f"slack:T0TEAM:{ANN}"), talk.clock.now(), replies=True)
        deleting = ReplyDeletion(talk.clock, talk.host.platforms.deletions).delete
        worker = JobWorker(talk.store.jobs, {DELETE_REPLY: deleting}, talk.clock, "owner")
        while await worker.work():
            pass
        assert talk.slack.state.headers.canvases == {}


async def test_who_may_do_less_between_the_question_and_the_press_changes_no_topic_bookmark_or_thread() -> None:
    acts = (
        call("set_topic", where=TEAM, topic="Lunch"),
        call("add_bookmark", where=TEAM, title="Plan", link="https://example.com"),
        call("create_thread", where=TEAM, title="Cake", text="Who?"),
        call("create_canvas", where=TEAM, title="Cake", text="Who?"),
    )
    changes = (guest, restricted, threads_restricted, guest)
    async with talking(rows=()) as talk:
        for act, change in zip(acts, changes, strict=True):
            await talk.ask("do it", act)
            change(talk)
            await talk.decide(tool_texts.ALLOW_ONCE)
            assert talk.result == platforms_texts.ACT_NO_RIGHT
            talk.slack.state.users[ANN].facts.clear()
            talk.slack.state.channels[TEAM].facts["properties"] = {}
            talk.slack.state.ephemerals.clear()
        assert "topic" not in talk.slack.state.channels[TEAM].facts
        assert not talk.slack.state.headers.bookmarks
        assert not talk.slack.state.headers.canvases
        assert not talk.posts(TEAM)


async def test_private_words_reach_no_topic_bookmark_or_thread_elsewhere() -> None:
    async with talking() as talk:
        for act in (
            call("set_topic", where="#team", topic="The boat is blue."),
            call("add_bookmark", where="#team", title="Boat", link="https://example.com/?colour=blue"),
            call("create_thread", where="#team", title="Boat", text="It is blue."),
            call("create_canvas", where="#team", title="Boat", text="It is blue."),
        ):
            await talk.ask("tell them what colour my boat has", act, channel=DM)
            assert talk.result == act_texts.OTHER_READERS.format(name="#team")
        assert not talk.posts(TEAM)


def guest(talk: Talk) -> None:
    talk.slack.state.users[ANN].facts["is_restricted"] = True


def threads_restricted(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].facts["properties"] = {"threads_restricted_to": {"type": ["admin"], "user": []}}


def left(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].members.discard(ANN)


def archived(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].facts["is_archived"] = True


def restricted(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].facts["properties"] = {"posting_restricted_to": {"type": ["admin"], "user": []}}


def odd(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].facts["properties"] = {"posting_restricted_to": "somebody"}


def thread_only(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].facts["is_thread_only"] = True


def deactivated(talk: Talk) -> None:
    talk.slack.state.users[ANN].facts["deleted"] = True


def bot_left(talk: Talk) -> None:
    talk.slack.state.channels[TEAM].members.discard(BOT_USER)


def unknown(talk: Talk) -> None:
    talk.slack.refusing["users.conversations", ANN] = "fatal_error"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (left, platforms_texts.ACT_NOT_FOUND),
        (archived, platforms_texts.ACT_ARCHIVED),
        (restricted, platforms_texts.ACT_NO_RIGHT),
        (odd, platforms_texts.ACT_NO_RIGHT),
        (thread_only, platforms_texts.ACT_NO_RIGHT),
        (deactivated, platforms_texts.ACT_NO_RIGHT),
        (bot_left, platforms_texts.ACT_INVITE.format(bot="cogency")),
        (unknown, platforms_texts.ACT_UNKNOWN),
    ],
)
async def test_rights_that_change_between_the_question_and_the_press_count(change: Any, why: str) -> None:
    async with talking(rows=()) as talk:
        await talk.ask("announce lunch", call("post_message", where=TEAM, text="Lunch"))
        change(talk)
        await talk.decide(tool_texts.ALLOW_ONCE)
        assert talk.result == why
        assert not talk.posts(TEAM)


async def test_in_general_the_workspace_decides_who_may_post() -> None:
    async with talking() as talk:
        talk.slack.state.channels[GENERAL].facts["is_general"] = True
        await talk.ask("post", call("post_message", where="#general", text="one"))
        assert len(talk.posts(GENERAL)) == 1
        talk.slack.state.preferences["who_can_post_general"] = "admin"
        await talk.ask("post", call("post_message", where="#general", text="two"))
        assert talk.result == platforms_texts.ACT_NO_RIGHT
        talk.slack.faults["team.preferences.list"] += [Fault(error="missing_scope")]
        await talk.ask("post", call("post_message", where="#general", text="three"))
        assert talk.result == platforms_texts.ACT_SCOPE
        assert len(talk.posts(GENERAL)) == 1


async def test_what_other_readers_may_not_see_is_posted_only_in_the_askers_own_words() -> None:
    async with talking() as talk:
        post = call("post_message", where="#team", text="The boat is blue.")
        await talk.ask("tell them what colour my boat has", post, channel=DM)
        assert talk.result == act_texts.OTHER_READERS.format(name="#team")
        await talk.ask("tell them", post, channel=SECRET)
        assert talk.result == act_texts.OTHER_READERS.format(name="#team")
        await talk.ask("> The boat is blue.\npost that", post, channel=DM)
        assert talk.result == act_texts.OTHER_READERS.format(name="#team"), "a quote may be of others"
        assert not talk.posts(TEAM)
        await talk.ask("post this in the team channel: the boat is blue", post, channel=DM)
        assert [one.text for one in talk.posts(TEAM)] == ["The boat is blue."]
        berth = call("post_message", where=SECRET, text="The berth is 7.")
        await talk.ask("tell the private channel", berth)
        assert talk.result == act_texts.OTHER_READERS.format(name=platforms_texts.ACT_THAT_CHANNEL), (
            "guests may read it"
        )
        await talk.ask("tell the private channel: the berth is 7", berth)
        assert [one.text for one in talk.posts(SECRET)] == ["The berth is 7."]


async def test_only_those_are_mentioned_whom_the_question_mentions() -> None:
    async with talking() as talk:
        text = "@bob and @ann, <@U0ANN> <!channel> @here look"
        await talk.ask(f"tell <@{BOB}>", call("post_message", where="#team", text=text))
        await talk.decide(tool_texts.ALLOW_ONCE)  # a name in the question is not the asker's own
        (post,) = talk.posts(TEAM)
        assert post.blocks[0]["text"]["text"] == f"<@{BOB}>"
        assert not any(sign in json.dumps(post.blocks[1:]) for sign in ("<@U", "<!channel>", "@here"))
        await talk.ask("tell them all", call("post_message", where="#team", text=text))
        assert "<@" not in json.dumps([talk.posts(TEAM)[-1].blocks, talk.posts(TEAM)[-1].text])


async def test_a_post_whose_answer_was_lost_is_found_and_not_repeated() -> None:
    async with talking() as talk:
        talk.slack.faults["chat.postMessage"] += [LOST]
        await talk.ask("post", call("post_message", where="#team", text="once"))
        assert [one.text for one in talk.posts(TEAM)] == ["once"]
        assert talk.result == act_texts.POSTED.format(link=talk.link(talk.posts(TEAM)[0]))


async def test_the_acts_of_a_person_and_in_a_channel_are_limited_for_a_day() -> None:
    async with talking(ActSettings(mode=ActMode.ON, per_person=2, per_channel=2)) as talk:
        for number in range(3):
            await talk.ask("post", call("post_message", where="#team", text=f"number {number}"))
        assert talk.result == act_texts.PERSON_LIMIT.format(most=2)
        await talk.ask("post", call("post_message", where="#team", text="by bob"), user=BOB)
        assert talk.result == act_texts.PLACE_LIMIT.format(name="#team", most=2)
        assert len(talk.posts(TEAM)) == 2


async def test_a_long_text_is_posted_in_several_messages_and_a_too_long_one_not_at_all() -> None:
    async with talking() as talk:
        await talk.ask("post", call("post_message", where="#team", text="word " * 1_500))
        assert len(talk.posts(TEAM)) == 2
        first = talk.link(talk.posts(TEAM)[0])
        await talk.ask("edit", call("edit_post", message=first, text="short"))
        assert talk.result == act_texts.SEVERAL


async def test_managers_open_their_channel_and_close_it() -> None:
    async with talking(ActSettings(mode=ActMode.CHANNELS)) as talk:
        post = call("post_message", where="#team", text="hi")
        await talk.ask("post", post)
        assert talk.result == act_texts.CLOSED.format(name="#team")
        talk.slack.state.users[BOB].facts["is_admin"] = True
        talk.clock.ahead_s += 61
        await talk.slack.command(BOB, TEAM, f"/{CHANNEL.name}", "act on")
        await talk.slack.settled()
        await talk.ask("post", post)
        assert len(talk.posts(TEAM)) == 1
        await talk.slack.command(BOB, TEAM, f"/{CHANNEL.name}", "act off")
        await talk.slack.settled()
        await talk.ask("post", post)
        assert talk.result == act_texts.TURNED_OFF.format(name="#team")
        assert len(talk.posts(TEAM)) == 1


async def test_a_post_makes_its_thread_no_conversation_with_the_bot() -> None:
    async with talking() as talk:
        root = talk.slack.state.write(BOB, TEAM, "Who brings cake?")
        await talk.ask("answer him", call("post_message", reply_to=talk.link(root), text="I do."))
        turns = len(talk.store.turns)
        await talk.slack.say(ANN, TEAM, "great", root.ts)
        await talk.slack.settled()
        assert len(talk.store.turns) == turns


async def test_what_somebody_deletes_in_slack_is_forgotten() -> None:
    async with talking() as talk:
        await talk.ask("say hi", call("post_message", where="#team", text="hi"))
        (post,) = talk.posts(TEAM)
        gone = {"type": "message", "subtype": "message_deleted", "channel": TEAM, "deleted_ts": post.ts, "ts": "2.1"}
        await talk.slack.deliver(talk.slack.envelope({**gone, "previous_message": post.wire()}))
        await talk.slack.until(lambda: "hi" not in talk.stored(TEAM))


def poll_call(**more: Any) -> str:
    return call("create_poll", question="Lunch?", options=["Pizza", "Pasta"], where="#team", **more)


async def test_a_poll_counts_one_vote_for_each_person_and_closes_for_its_asker() -> None:
    async with talking() as talk:
        await talk.ask("ask them", poll_call())
        (poll,) = talk.posts(TEAM)
        assert labels(poll.blocks, ANN) == ["Pizza", "Pasta"]
        for user, label in ((ANN, "Pizza"), (BOB, "Pizza"), (ANN, "Pasta"), (ANN, "Pasta")):
            await talk.slack.click(user, poll, label)
        await talk.slack.until(lambda: "1. Pizza: **1**" in poll.text and "2. Pasta: **1**" in poll.text)
        assert poll.text.endswith("2 votes")
        await talk.ask("another word", call("edit_post", message=talk.link(poll), text="Dinner?"))
        assert talk.result == act_texts.POLL_STAYS
        await talk.ask("close it", call("close_poll", message=talk.link(poll)), user=BOB)
        assert talk.result == act_texts.NOT_ITS_POST
        await talk.ask("close it", call("close_poll", message=talk.link(poll)))
        assert poll.text.endswith(platforms_texts.POLL_CLOSED.format(total="2 votes"))
        assert labels(poll.blocks, ANN) == []


async def test_a_vote_after_the_end_is_not_counted_and_its_person_told() -> None:
    async with talking() as talk:
        await talk.ask("ask them", poll_call(hours=2))
        (poll,) = talk.posts(TEAM)
        shown = [*poll.blocks]
        service = service_on(talk.store, talk.host.platforms.hands, talk.clock, ON)
        worker = JobWorker(talk.store.jobs, {CLOSE_POLL: service.close_due}, talk.clock, "owner")
        assert not await worker.work(), "it is open for two hours"
        talk.clock.ahead_s += 2 * 3_600 + 60
        assert await worker.work()
        assert poll.text.endswith(platforms_texts.POLL_CLOSED.format(total="0 votes"))
        poll.blocks = shown  # a client that still shows the buttons
        await talk.slack.click(BOB, poll, "Pizza")
        await talk.slack.until(lambda: bool(talk.slack.state.ephemerals))
        assert talk.slack.state.ephemerals[-1].text == platforms_texts.POLL_OVER
        assert poll.text.endswith(platforms_texts.POLL_CLOSED.format(total="0 votes"))


async def test_a_vote_in_a_poll_that_was_forgotten_counts_nowhere() -> None:
    async with talking() as talk:
        await talk.ask("ask them", poll_call())
        (poll,) = talk.posts(TEAM)
        await talk.slack.click(BOB, poll, "Pizza")
        await talk.slack.until(lambda: "1 vote" in poll.text)
        await talk.store.forgetting.forget(Everything(f"slack:T0TEAM:{ANN}"), talk.clock.now())
        await talk.slack.click(BOB, poll, "Pizza")
        await talk.slack.until(lambda: bool(talk.slack.state.ephemerals))
        assert talk.slack.state.ephemerals[-1].text == platforms_texts.POLL_GONE


async def test_what_is_asked_in_private_in_a_channel_is_not_posted_there_either() -> None:
    async with talking() as talk:
        talk.says[:] = [call("post_message", text="The boat is blue."), "Done."]
        await talk.slack.command(ANN, GENERAL, "/ask", "privately tell them what colour my boat has")
        await talk.slack.until(lambda: bool(talk.asked) and talk.asked[-1].state == "done")
        assert talk.result == act_texts.OTHER_READERS.format(name="#general")
        assert not talk.posts(GENERAL)


async def test_a_post_that_has_begun_is_stored_also_if_the_turn_is_stopped() -> None:
    async with talking() as talk:
        talk.says[:] = [call("post_message", where="#team", text="begun")]
        talk.slack.stalled["chat.postMessage"] = asyncio.Event()
        asked = await talk.slack.say(ANN, GENERAL, f"{ME} post it")
        await talk.slack.until(lambda: "chat.postMessage" in talk.slack.state.stalling)
        await talk.slack.say(ANN, GENERAL, "stop", asked.ts)
        await talk.slack.until(lambda: talk.asked[-1].stopping)
        talk.slack.stalled.pop("chat.postMessage").set()
        await talk.slack.until(lambda: "begun" in talk.stored(TEAM))
        assert [one.text for one in talk.posts(TEAM)] == ["begun"]
