"""Stop, continue and the choice of a model in Slack: what the host receives, and who sees the answer."""

from dataclasses import replace

import pytest

from agent.errors import StoreError
from agent.memory.audience import PersonAudience, TeamAudience
from agent.messages import Depth
from bot.chat.reply.surface import PageContent, PageKey, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.models.service import MODEL
from bot.platforms import texts as platforms_texts
from tests.fakes.incoming import said
from tests.fakes.recording_host import OTHER, RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER, FakeEphemeral, FakeMessage, Object

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"
CONTINUE = frozenset({ReplyAction.CONTINUE})


def said_alone(slack: FakeSlack) -> list[tuple[str, str]]:
    return [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals]


# Stopping


@pytest.mark.parametrize("words", ["stop", "Stop!", "STOP.", "/stop"])
async def test_the_word_stop_stops_the_thread_once_and_is_no_question(slack: FakeSlack, words: str) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        await slack.say(BOB, GENERAL, f"{ME} {words}", root.ts)
        await slack.settled()
    assert host.stopped == [f"{TEAM}:{GENERAL}:{root.ts}"]
    assert [incoming.text for incoming in host.taken + host.overheard] == ["hello"]
    assert not slack.state.ephemerals


async def test_stop_where_nothing_runs_is_answered_in_private_once(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} stop")
        await slack.settled()
        await slack.say(ANN, DM, "stop")
        await slack.settled()
    assert said_alone(slack) == [(ANN, reply_texts.NOTHING_RUNNING)] * 2
    assert host.taken == []


async def test_stop_among_people_stops_without_a_mention_or_is_talk(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.say(BOB, GENERAL, f"{ME} and me", root.ts)
        await slack.settled()
        await slack.say(BOB, GENERAL, "stop", root.ts)
        await slack.settled()
        assert host.stopped == [f"{TEAM}:{GENERAL}:{root.ts}"] * 2
        assert host.overheard == []
        await host.end_turns()
        await slack.say(BOB, GENERAL, "stop", root.ts)
        await slack.settled()
    assert [incoming.text for incoming in host.overheard] == ["stop"]
    assert not slack.state.ephemerals


async def test_stop_in_a_thread_without_the_bot_is_nothing_to_it(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, "stop")
        await slack.settled()
    assert host.stopped == host.overheard == []


async def test_a_stop_that_failed_is_not_acknowledged_and_works_when_it_comes_again(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, DM, "hello")
        await slack.settled()
        host.store.ledger.failures.append(StoreError("The disk is full."))
        envelope = slack.envelope(slack.events_of(slack.state.write(ANN, DM, "stop", root.ts))[0])
        await slack.deliver(envelope)
        await slack.until(lambda: not host.store.ledger.failures)
        assert envelope["envelope_id"] not in slack.acks
        await slack.acked(await slack.deliver(envelope, attempt=1))
        await slack.until(lambda: host.stopped)
    assert host.stopped == [f"{TEAM}:{DM}:{root.ts}"]


@pytest.mark.parametrize("question", ["why?", "privately why?"])
async def test_the_command_stop_stops_what_was_asked_by_command_there_whichever_process_took_it(
    slack: FakeSlack, question: str
) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", question))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/stop")
        await slack.until(lambda: slack.state.ephemerals)
    assert host.taken[0].conversation in host.stopped
    assert said_alone(slack) == [(ANN, reply_texts.STOPPING)]


async def test_the_command_stop_leaves_what_others_take_part_in(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} one")
        await slack.say(BOB, GENERAL, f"{ME} two", root.ts)
        await slack.say(BOB, GENERAL, f"{ME} three")
        await slack.settled()
        await slack.command(ANN, GENERAL, "/stop")
        await slack.until(lambda: slack.state.ephemerals)
    assert host.stopped == []


async def test_the_command_stop_in_a_direct_message_stops_what_runs_there(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        await slack.command(ANN, DM, "/stop")
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, reply_texts.STOPPING)]


async def test_the_word_stop_beside_the_threads_of_a_direct_message_stops_all_that_runs_there(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        for words in ("one", "two"):
            await slack.say(ANN, DM, words)
        await slack.say(BOB, GENERAL, f"{ME} three")
        await slack.settled()
        await slack.say(ANN, DM, "stop")
        await slack.settled()
    assert set(host.stopped) == {incoming.conversation for incoming in host.taken if incoming.channel == DM}
    assert len(host.taken) == 3
    assert not slack.state.ephemerals


async def test_the_word_stop_in_a_thread_of_a_direct_message_stops_that_thread_only(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        first = await slack.say(ANN, DM, "one")
        await slack.say(ANN, DM, "two")
        await slack.settled()
        await slack.say(ANN, DM, "stop", first.ts)
        await slack.settled()
    assert host.stopped == [f"{TEAM}:{DM}:{first.ts}"]


async def test_the_command_stop_says_when_nothing_runs_and_how_to_stop_a_thread(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        await slack.command(ANN, GENERAL, "/stop")
        await slack.until(lambda: slack.state.ephemerals)
    ((_, text),) = said_alone(slack)
    assert text == f"{reply_texts.NOTHING_RUNNING} To stop an answer in a thread, write “@cogency stop” there."


async def test_slacks_own_stop_button_stops_the_session(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, DM, "hello")
        await slack.settled()
        event = {"type": "agent_session_stopped", "channel": DM, "user": ANN, "thread_ts": asked.ts, "event_ts": "8.0"}
        await slack.acked(await slack.deliver(slack.envelope(event)))
    assert host.stopped == [f"{TEAM}:{DM}:{asked.ts}"]


# Going on


async def cut(slack: FakeSlack, host: RecordingHost) -> FakeMessage | FakeEphemeral:
    """Cut the last question's answer, and return where its button is."""
    asked = host.taken[-1]
    await host.platforms.surface_for(asked).post(
        PageKey(1, 0), PageContent("Half an", final=True, offers=CONTINUE, turn=1)
    )
    return [*slack.state.answers(asked.channel), *slack.state.ephemerals][-1]


async def test_an_answer_that_was_cut_goes_on_at_a_click_on_the_button_below_it(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        offered = await cut(slack, host)
        await slack.acked(await slack.click(ANN, offered, "Continue"))
        first, second = host.taken
        surface = host.platforms.surface_for(second)
        await slack.clock.sleep(1.5)  # a post a second in one channel
        await surface.post(PageKey(2, 0), PageContent("answer.", final=True))
    assert (second.text, second.conversation, second.person) == (
        platforms_texts.GO_ON,
        first.conversation,
        first.person,
    )
    assert second.place.audience == TeamAudience(TEAM)
    assert slack.state.answers(GENERAL)[-1].thread_ts == root.ts


async def test_two_clicks_are_one_question(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        offered = await cut(slack, host)
        before = offered.blocks
        for _ in range(2):
            offered.blocks = before  # as somebody's screen still shows them
            await slack.acked(await slack.click(ANN, offered, "Continue"))
    assert [incoming.text for incoming in host.taken] == ["hello", platforms_texts.GO_ON]
    assert host.taken[1].conversation == host.taken[0].conversation


async def test_a_private_answer_goes_on_in_private(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "privately why?"))
        offered = await cut(slack, host)
        await slack.acked(await slack.click(ANN, offered, "Continue"))
        await host.platforms.surface_for(host.taken[1]).post(PageKey(2, 0), PageContent("More.", final=True))
    first, second = host.taken
    assert second.place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert second.conversation == first.conversation
    assert (ANN, "More.") in said_alone(slack)
    assert not slack.state.answers(GENERAL)


async def test_a_click_that_could_not_be_stored_is_answered_with_the_reason_and_can_be_repeated(
    slack: FakeSlack,
) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        offered = await cut(slack, host)
        host.store.ledger.failures.append(StoreError("The disk is full."))
        await slack.acked(await slack.click(ANN, offered, "Continue"))
        assert (ANN, "The disk is full.") in said_alone(slack)
        await slack.acked(await slack.click(ANN, offered, "Continue"))
    assert len(host.taken) == 2


async def test_an_answer_that_is_whole_offers_nothing(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("Whole.", final=True))
    assert not slack.state.ephemerals
    assert not slack.state.called("chat.postEphemeral")


# Choosing


async def test_model_says_what_answers_and_what_may_be_chosen(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        await slack.command(ANN, GENERAL, "/model")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.say(ANN, GENERAL, f"{ME} Model?")
        await slack.settled()
    (user, command), mention = said_alone(slack)
    assert (user, command) == mention
    assert command.startswith("`ollama:usual` answers you here: it is the default.")
    assert "`ollama:other`" in command


async def test_model_with_a_name_changes_the_callers_model_and_back(slack: FakeSlack) -> None:
    host, person = recording_host(), f"{TEAM}:{ANN}"
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/model", "ollama:other")
        await slack.until(lambda: slack.state.ephemerals)
        assert host.store.chosen[person] == {MODEL: OTHER}
        await slack.say(ANN, DM, "model usual")
        await slack.settled()
    assert person not in host.store.chosen
    assert host.taken == []


async def test_a_model_that_may_not_be_chosen_gets_one_sentence(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/model", "wrong")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.say(ANN, GENERAL, f"{ME} model wrong")
        await slack.settled()
    sentence = "You cannot choose that model. Choose one of ollama:usual, ollama:other."
    assert said_alone(slack) == [(ANN, sentence)] * 2
    assert f"{TEAM}:{ANN}" not in host.store.chosen


async def test_a_question_that_begins_with_the_word_model_is_a_question(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "model the tides for me")
        await slack.settled()
    assert len(host.taken) == 1


@pytest.mark.parametrize(
    ("written", "question", "depth"),
    [
        ("deep: why is that?", "why is that?", Depth.DEEP),
        ("Fast:when?", "when?", Depth.FAST),
        ("deep thoughts: why?", "deep thoughts: why?", Depth.ADAPT),
    ],
)
async def test_a_question_may_say_how_deep_its_answer_should_go(
    slack: FakeSlack, written: str, question: str, depth: Depth
) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", written))
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", f"privately {written}"))
        await slack.say(ANN, GENERAL, f"{ME} {written}")
        await slack.settled()
    assert [(incoming.text, incoming.depth) for incoming in host.taken] == [(question, depth)] * 3


async def test_an_offer_that_fails_harms_no_answer(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, DM, "hello")
        await slack.settled()
        slack.faults["chat.postEphemeral"].append(Fault(503))
        await host.platforms.surface_for(host.taken[0]).post(
            PageKey(1, 0), PageContent("Half an", final=True, offers=CONTINUE)
        )
        (answer,) = slack.state.answers(DM)
    assert answer.text == "Half an"


# Edited and deleted questions


def changed(message: FakeMessage, text: str, before: str) -> Object:
    told = {"user": message.user, "ts": message.ts, "text": text}
    event = {"type": "message", "subtype": "message_changed", "channel": message.channel, "ts": "9.0", "hidden": True}
    return {**event, "message": told, "previous_message": {**told, "text": before}}


async def test_an_edited_question_is_stored_as_it_reads_now(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} wy?")
        await slack.until(lambda: host.texts)
        await slack.deliver(slack.envelope(changed(asked, f"{ME} deep: why, <@{BOB}>?", f"{ME} wy?")))
        await slack.settled()
    assert host.texts == {(GENERAL, asked.ts): "why, @bob?"}
    assert len(host.taken) == 1


async def test_a_deleted_question_is_forgotten(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} why?")
        await slack.until(lambda: host.texts)
        gone = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "deleted_ts": asked.ts}
        await slack.deliver(slack.envelope({**gone, "previous_message": asked.wire()}))
        await slack.settled()
    assert (len(host.taken), host.texts) == (1, {})


async def test_a_deleted_question_below_which_a_thread_stays_is_forgotten(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} why?")
        await slack.until(lambda: host.texts)
        event = changed(asked, "This message was deleted.", asked.text)
        event["message"] |= {"subtype": "tombstone", "user": "USLACKBOT"}
        await slack.deliver(slack.envelope(event))
        await slack.settled()
    assert (len(host.taken), host.texts) == (1, {})


async def test_a_link_that_unfolds_and_the_bots_own_edits_are_no_edits(slack: FakeSlack) -> None:
    host, unfolded = recording_host(), "https://example.com (Example)"
    async with serving(slack, host):
        asked = await slack.say(ANN, GENERAL, f"{ME} https://example.com")
        own = slack.state.write(BOT_USER, GENERAL, "Hel")
        await host.store.hear(replace(said("Hel"), source=TEAM, channel=GENERAL, message_id=own.ts))
        await slack.until(lambda: len(host.texts) == 2)
        stored = host.texts
        event = changed(asked, f"{ME} {unfolded}", f"{ME} {unfolded}")
        await slack.deliver(slack.envelope(event))
        await slack.deliver(slack.envelope(changed(own, "Hello.", "Hel")))
        await slack.settled()
    assert host.texts == stored
