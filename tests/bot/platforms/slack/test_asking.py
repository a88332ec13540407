"""Questions by command and window, by words, and under a prefix: what the host receives, and who sees the answer."""

import asyncio
from typing import Any

import pytest

from agent.memory.audience import PersonAudience, TeamAudience
from agent.messages import Depth
from bot.chat.reply.surface import PageContent, PageKey
from bot.platforms.slack.question_views import ANYWHERE_SHORTCUT
from bot.platforms.slack.slash_commands import SLASH_COMMANDS, help_text
from tests.fakes.facts import remember
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import LOST, Fault, limited
from tests.fakes.slack_things import BOT_USER

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"
HERE = {"type": "conversations_select", "selected_conversation": GENERAL}
TICKED = {"type": "checkboxes", "selected_options": [{"value": "private"}]}
DEEP = {"type": "static_select", "selected_option": {"value": "deep"}}


def typed(words: str) -> dict[str, Any]:
    return {"type": "plain_text_input", "value": words}


def said_alone(slack: FakeSlack) -> list[tuple[str, str]]:
    return [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals]


# From anywhere


async def asked_anywhere(slack: FakeSlack, host: RecordingHost, **filled: Any) -> None:
    async with serving(slack, host):
        await slack.shortcut_anywhere(ANN, ANYWHERE_SHORTCUT)
        await slack.until(lambda: slack.state.views)
        await slack.acked(await slack.fill_in(ANN, slack.state.views[0], question=typed("Why?"), **filled))


async def test_a_question_from_anywhere_becomes_a_message_in_the_channel_that_was_chosen(slack: FakeSlack) -> None:
    host = recording_host()
    await asked_anywhere(slack, host, where=HERE, depth=DEEP)
    (root,) = slack.state.answers(GENERAL)
    (taken,) = host.taken
    assert root.text == "**ann** asks:\n> Why?"
    assert (taken.text, taken.depth, taken.conversation) == ("Why?", Depth.DEEP, f"{TEAM}:{GENERAL}:{root.ts}")
    assert taken.place.audience == TeamAudience(TEAM)


async def test_without_a_channel_it_is_asked_in_the_direct_messages(slack: FakeSlack) -> None:
    host = recording_host()
    await asked_anywhere(slack, host, private=TICKED)
    (root,) = slack.state.answers(DM)
    (taken,) = host.taken
    assert (taken.channel, taken.conversation) == (DM, f"{TEAM}:{DM}:{root.ts}")
    assert taken.place.audience == PersonAudience(f"{TEAM}:{ANN}")


async def test_a_private_one_stands_in_no_channel(slack: FakeSlack) -> None:
    host = recording_host()
    await asked_anywhere(slack, host, where=HERE, private=TICKED)
    assert not slack.state.messages
    assert host.taken[0].place.audience == PersonAudience(f"{TEAM}:{ANN}")


# Names


async def test_people_and_public_channels_reach_the_model_by_their_names(slack: FakeSlack) -> None:
    slack.state.channel("random")
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} tell <@{BOB}> about <#C0RANDOM|> and <!subteam^S1|@crew> and <#C0SECRET>")
        await slack.settled()
        await slack.say(ANN, GENERAL, f"{ME} and <#C0RANDOM>?")
        await slack.settled()
    assert [taken.text for taken in host.taken] == ["tell @bob about #random and @crew and #C0SECRET", "and #random?"]
    looked_up = [call.args["channel"] for call in slack.state.called("conversations.info")]
    assert looked_up.count("C0RANDOM") <= 2  # a mention comes as two events at once


async def test_a_message_full_of_channels_costs_few_requests(slack: FakeSlack) -> None:
    host = recording_host()
    many = " ".join(f"<#C0X{number}>" for number in range(200))
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} {many}")
        await slack.settled()
    assert len(slack.state.called("conversations.info")) < 15
    assert host.taken[0].text.endswith("#C0X199")


# In words


@pytest.mark.parametrize("way", ["mention", "direct message", "command"])
async def test_help_tells_what_can_be_said_to_the_asker_alone(slack: FakeSlack, way: str) -> None:
    host = recording_host()
    async with serving(slack, host):
        if way == "mention":
            await slack.say(ANN, GENERAL, f"{ME} help")
        elif way == "direct message":
            await slack.say(ANN, DM, "Help!")
        else:
            await slack.command(ANN, GENERAL, "/ask", "help")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    assert said_alone(slack) == [(ANN, help_text("", "cogency"))]
    assert not host.taken


async def test_a_question_that_is_asked_privately_in_a_thread_is_answered_to_the_asker_alone(slack: FakeSlack) -> None:
    host = recording_host()
    root = slack.state.write(BOB, GENERAL, "lunch?")
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} /ask privately fast: what do I earn?", root.ts)
        await slack.settled()
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("Enough.", final=True))
    (taken,) = host.taken
    assert (taken.text, taken.depth) == ("what do I earn?", Depth.FAST)
    assert taken.place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert [(one.user, one.thread_ts, one.text) for one in slack.state.ephemerals] == [(ANN, root.ts, "Enough.")]
    assert not slack.state.answers(GENERAL)


async def test_it_is_forgotten_with_the_message_that_asked_it(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} ask privately what do I earn?")
        await slack.settled()
        (taken,) = host.taken
        event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "deleted_ts": asked.ts}
        await slack.acked(await slack.deliver(slack.envelope({**event, "previous_message": asked.wire()})))
        assert taken.channel == GENERAL
    assert host.texts == {}


@pytest.mark.parametrize(
    ("edited", "words"),
    [("ask privately fast: what does Bo earn?", "what does Bo earn?"), ("never mind", "never mind")],
)
async def test_it_is_edited_with_the_message_that_asked_it(slack: FakeSlack, edited: str, words: str) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} ask privately what do I earn?")
        await slack.settled()
        (taken,) = host.taken
        now = {**asked.wire(), "text": f"{ME} {edited}"}
        event = {"type": "message", "subtype": "message_changed", "channel": GENERAL, "message": now}
        await slack.acked(await slack.deliver(slack.envelope({**event, "previous_message": asked.wire()})))
        await slack.settled()
    assert host.texts == {(GENERAL, taken.message_id): words}


async def test_a_policy_that_is_asked_for_by_a_mention_shows_to_the_asker_alone_in_the_thread(
    slack: FakeSlack,
) -> None:
    host = recording_host()
    root, boss = slack.state.write(BOB, GENERAL, "lunch?"), slack.state.user("boss", is_admin=True)
    async with serving(slack, host):
        await slack.command(boss, GENERAL, "/policy", "set tea: at five")
        await slack.until(lambda: slack.state.ephemerals)
        slack.state.ephemerals.clear()
        await slack.say(ANN, GENERAL, f"{ME} policy", root.ts)
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    assert [(one.user, one.thread_ts) for one in slack.state.ephemerals] == [(ANN, root.ts)]
    assert slack.state.ephemerals[0].text.startswith("Policies for everyone here:\n\n- **1** tea: at five")


async def test_names_stand_in_the_words_of_a_correction_too(slack: FakeSlack) -> None:
    host = recording_host()
    person = f"{TEAM}:{ANN}"
    await remember(host.store.facts, person, "Bob rows.", f"person:{person}", slack.clock.now())
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.say(ANN, GENERAL, f"{ME} memory correct 1 <@{BOB}> &amp; I row")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
        await slack.settled()
    assert [fact.value for fact in host.store.facts_kept if fact.is_valid] == ["@bob & I row"]


@pytest.mark.parametrize("words", ["usage", "budget", "memory", "policy", "forget everything", "model", "help"])
async def test_where_no_ephemeral_message_is_possible_it_is_a_direct_message(slack: FakeSlack, words: str) -> None:
    host = recording_host()
    async with serving(slack, host):
        slack.state.channels[GENERAL].members.discard(ANN)  # she has just left
        await slack.say(ANN, GENERAL, f"{ME} {words}")
        await slack.until(lambda: slack.state.answers(DM))
        await slack.settled()
    assert not slack.state.ephemerals
    assert not slack.state.answers(GENERAL)


async def test_what_nearly_asks_to_forget_is_asked_back_and_reaches_no_model(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} delete everything")
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, "I have not run anything yet. Did you mean `forget everything`?")]
    assert not host.taken


async def test_a_mistyped_command_gets_one_sentence(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} /usgae")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    ((user, sentence),) = said_alone(slack)
    assert (user, sentence.startswith("There is no command `/usgae`. Did you mean `/usage`?")) == (ANN, True)
    assert not host.taken


# Under a prefix


async def test_every_command_is_called_by_its_prefix_and_named_so(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host, command_prefix="my-"):
        for command in SLASH_COMMANDS:
            await slack.acked(await slack.command(ANN, GENERAL, f"/my-{command.name}"))
        await slack.until(lambda: len(slack.state.ephemerals) == len(SLASH_COMMANDS))
    texts = "\n".join(ephemeral.text for ephemeral in slack.state.ephemerals)
    assert "`/my-policy set budget:" in texts
    assert "`/my-model NAME`" in texts
    assert "`/my-ask privately …`" in texts


async def test_a_forgetting_answer_names_the_command_by_its_prefix(slack: FakeSlack) -> None:
    async with serving(slack, recording_host(), command_prefix="my-"):
        await slack.command(ANN, GENERAL, "/my-forget", "thread")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    ((user, sentence),) = said_alone(slack)
    assert (user, "Write `/my-forget 2 hours`" in sentence) == (ANN, True)


# Where Slack does not take the post


async def test_ten_questions_at_once_are_all_asked_though_slack_limits_the_posts(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        envelopes = [await slack.command(ANN, GENERAL, "/ask", f"{n}?") for n in range(10)]
        for envelope in envelopes:
            await slack.acked(envelope)
        await slack.until(lambda: len(host.taken) == 10)
    assert sorted(taken.text for taken in host.taken) == [f"{n}?" for n in range(10)]
    assert len(slack.state.answers(GENERAL)) == 10
    assert all("Many people are asking questions here" in ephemeral.text for ephemeral in slack.state.ephemerals)


@pytest.mark.parametrize("fault", [limited(3), Fault(500), Fault(503), LOST])
async def test_a_question_whose_post_fails_is_asked_once_all_the_same(slack: FakeSlack, fault: Fault) -> None:
    host = recording_host()
    slack.faults["chat.postMessage"].append(fault)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/ask", "why?")
        await slack.until(lambda: host.taken)
        await slack.settled()
        await slack.until(lambda: not host.store.chosen.get(f"asked:{TEAM}"))
    (root,) = slack.state.answers(GENERAL)
    assert [(taken.text, taken.message_id) for taken in host.taken] == [("why?", root.ts)]


async def test_a_question_that_was_forgotten_while_it_waited_is_neither_stored_again_nor_asked(
    slack: FakeSlack,
) -> None:
    host = recording_host()
    slack.faults["chat.postMessage"].append(limited(3))
    async with serving(slack, host):
        failing = slack.faults["chat.postMessage"]
        await slack.command(ANN, GENERAL, "/ask", "why?")
        await slack.until(lambda: not failing)
        for name in host.store.chosen[f"{TEAM}:{ANN}"]:  # as forgetting everything does
            await host.preferences.set(f"{TEAM}:{ANN}", name, None)
        await slack.until(lambda: not host.store.chosen.get(f"asked:{TEAM}"))
        await slack.settled()
    assert not host.taken
    assert not slack.state.answers(GENERAL)
    assert "why?" not in str(host.store.chosen)


async def test_what_was_posted_before_the_process_died_is_found_and_answered_by_the_next(slack: FakeSlack) -> None:
    dying = recording_host()
    dying.store.ledger.may_store.clear()
    async with serving(slack, dying):
        await slack.command(ANN, GENERAL, "/ask", "why?")
        await slack.until(lambda: slack.state.answers(GENERAL))
    host = recording_host(dying.store)
    host.store.ledger.may_store.set()
    async with serving(slack, host):
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not host.store.chosen.get(f"asked:{TEAM}"))
    (root,) = slack.state.answers(GENERAL)
    assert [(taken.text, taken.message_id) for taken in host.taken] == [("why?", root.ts)]


async def test_a_copy_of_the_posted_question_by_another_app_is_not_taken_for_it(slack: FakeSlack) -> None:
    """The answer to the post is lost, so that the question is looked for in the channel's history."""
    host, slack.stalled["conversations.history"] = recording_host(), asyncio.Event()
    slack.faults["chat.postMessage"].append(LOST)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/ask", "why?")
        await slack.until(lambda: slack.state.answers(GENERAL))
        (root,) = slack.state.answers(GENERAL)
        slack.state.write("", GENERAL, root.text, bot_id="B0MIRROR", metadata=root.metadata)
        slack.stalled["conversations.history"].set()
        await slack.until(lambda: host.taken)
    assert [taken.message_id for taken in host.taken] == [root.ts]


async def test_a_question_that_was_stored_and_not_posted_is_posted_by_the_next_process(slack: FakeSlack) -> None:
    host, slack.stalled["chat.postMessage"] = recording_host(), asyncio.Event()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "why?"))
    slack.stalled.pop("chat.postMessage")
    async with serving(slack, host):
        await slack.until(lambda: host.taken)
    assert [taken.text for taken in host.taken] == ["why?"]


async def test_a_channel_that_its_asker_cannot_read_is_not_asked_in(slack: FakeSlack) -> None:
    host = recording_host()
    slack.state.channels["C0SECRET"].members -= {ANN}
    there = {"type": "conversations_select", "selected_conversation": "C0SECRET"}
    async with serving(slack, host):
        for private in ({}, {"private": TICKED}):
            await slack.shortcut_anywhere(ANN, ANYWHERE_SHORTCUT)
            await slack.until(lambda: slack.state.views)
            view = {**slack.state.views[0], "id": f"V{len(private)}"}
            await slack.acked(await slack.fill_in(ANN, view, question=typed("Why?"), where=there, **private))
        await slack.until(lambda: len(slack.state.ephemerals) == 2 or slack.state.answers(DM))
    assert not host.taken
    assert not slack.state.answers("C0SECRET")
    assert not slack.state.called("chat.postMessage") or slack.state.answers(DM)
