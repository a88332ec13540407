"""Commands, shortcuts and buttons: what the host receives, and who sees the answer."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.errors import StoreError
from agent.memory.audience import PersonAudience, TeamAudience
from agent.memory.forgetting_plans import Receipt
from agent.messages import ModelCall, Usage
from agent.shown_replies import DELETE_REPLY
from bot.chat.reply.surface import PageContent, PageKey
from bot.forgetting import texts as forgetting_texts
from bot.platforms.slack.api import SlackRefused
from bot.platforms.slack.ephemeral import ATTEMPTS
from bot.platforms.slack.question_views import ASK_SHORTCUT
from store.erased_ids import ErasedIds
from store.forgetting.sql_forgetting import SqlForgetting
from store.preferences import SqlPreferences
from tests.fakes.facts import remember
from tests.fakes.incoming import said
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import KEY, store_in_memory

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"
PERSON = f"{TEAM}:{ANN}"
EVERYTHING = "I will forget everything that you told me: all threads, and everything I remember about you."


async def knowing(*facts: str) -> RecordingHost:
    """A host that knows this about ann, from conversations with her alone."""
    host = recording_host()
    for words in facts:
        await remember(host.store.facts, PERSON, words, f"person:{PERSON}", datetime(2026, 1, 2, tzinfo=UTC))
    return host


def sources(host: RecordingHost) -> list[str]:
    """The conversations of what is stored."""
    return [message.conversation for _, message in host.store.messages]


async def test_a_question_of_a_command_becomes_a_message_that_everybody_sees(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "why is the sky blue?"))
    (root,) = slack.state.answers(GENERAL)
    (taken,) = host.taken
    assert taken.text == "why is the sky blue?"
    assert taken.conversation == f"{TEAM}:{GENERAL}:{root.ts}"
    assert taken.place.audience == TeamAudience(TEAM)
    assert not slack.state.ephemerals


async def test_a_private_question_is_a_conversation_of_its_own_and_shows_only_to_the_person(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "privately what do I earn?"))
        (taken,) = host.taken
        surface = host.platforms.surface_for(taken)
        page = await surface.post(PageKey(1, 0), PageContent("You"))
        assert not slack.state.ephemerals
        await surface.edit(page, PageContent("You earn enough.", final=True))
    assert taken.text == "what do I earn?"
    assert taken.place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert taken.conversation == f"{TEAM}:{GENERAL}:private:{ANN}"
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [(ANN, "You earn enough.")]
    assert not slack.state.answers(GENERAL)


async def test_a_private_answer_that_comes_too_late_goes_to_the_direct_messages(slack: FakeSlack) -> None:
    host = recording_host()
    elsewhere = slack.state.channel("elsewhere", bot=False)
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, elsewhere, "/ask", "privately when?"))
        slack.expire_all()
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("At noon.", final=True))
    assert not slack.state.ephemerals
    assert [answer.text for answer in slack.state.answers(DM)] == ["At noon."]


async def test_where_the_bot_is_no_member_the_answer_is_private(slack: FakeSlack) -> None:
    host = recording_host()
    elsewhere = slack.state.channel("elsewhere", bot=False)
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, elsewhere, "/ask", "where am I?"))
        (told,) = slack.state.ephemerals
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("Elsewhere.", final=True))
    assert host.taken[0].place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert "so only you will see the answer" in told.text
    assert "/invite @" in told.text
    assert [ephemeral.text for ephemeral in slack.state.ephemerals] == [told.text, "Elsewhere."]


@pytest.mark.parametrize("code", ["is_archived", "restricted_action_thread_only_channel"])
async def test_why_an_answer_is_private_is_what_slack_said_and_not_always_an_invitation(
    slack: FakeSlack, code: str
) -> None:
    host = recording_host()
    slack.faults["chat.postMessage"].append(Fault(error=code))
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "where am I?"))
    (told,) = slack.state.ephemerals
    assert "so only you will see the answer" in told.text
    assert told.text.endswith(SlackRefused("chat.postMessage", code).remedy)
    assert "/invite" not in told.text
    assert len(host.taken) == 1


async def test_a_command_without_a_question_says_how_it_is_used(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask"))
    assert not host.taken
    assert "/ask privately" in slack.state.ephemerals[0].text


async def test_a_question_that_could_not_be_stored_is_said_to_the_person(slack: FakeSlack) -> None:
    class Full(SqlPreferences):
        async def set(self, owner: str, name: str, value: str | None) -> None:
            if owner == f"{TEAM}:{ANN}":
                raise StoreError("The disk is full.")
            await SqlPreferences.set(self, owner, name, value)

    store = store_in_memory()
    host = recording_host(replace(store, preferences=Full(store.database)))
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))
    assert slack.state.ephemerals[0].text == "The disk is full."
    assert not slack.state.answers(GENERAL)


async def test_a_command_that_comes_again_is_taken_once(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))
        await slack.repeat()
        await slack.repeat()
        await slack.settled()
    assert len(host.taken) == 1
    assert len(slack.state.answers(GENERAL)) == 1


@pytest.mark.parametrize("way", ["command", "mention", "direct message"])
async def test_usage_shows_only_to_the_person_whose_questions_it_counts(slack: FakeSlack, way: str) -> None:
    host = recording_host()
    for person in (ANN, BOB):
        asked = said("hello?", person=f"{TEAM}:{person}", conversation=person)
        calls = [ModelCall("openai:gpt-6-luna", Usage(input_uncached=10_000))] * (1 if person == ANN else 7)
        await host.store_reply(asked, "1.1", calls=tuple(calls))
    async with serving(slack, host):
        if way == "command":
            await slack.command(ANN, GENERAL, "/usage")
        elif way == "mention":
            await slack.say(ANN, GENERAL, f"{ME} usage")
        else:
            await slack.say(ANN, DM, "Usage")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    (ephemeral,) = slack.state.ephemerals
    assert ephemeral.user == ANN
    assert "**Today**: $0.0010, 1 model call" in ephemeral.text
    assert not host.taken


@pytest.mark.parametrize("way", ["command", "mention", "direct message", "shortcut"])
async def test_memory_shows_only_to_the_person_with_its_dates(slack: FakeSlack, way: str) -> None:
    host = await knowing("The boat is blue.")
    async with serving(slack, host):
        if way == "command":
            await slack.command(ANN, GENERAL, "/memory")
        elif way == "mention":
            await slack.say(ANN, GENERAL, f"{ME} memory")
        elif way == "direct message":
            await slack.say(ANN, DM, "Memory!")
        else:
            await slack.shortcut(ANN, "cogency_memory", slack.state.write(BOB, GENERAL, "hello"))
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    (ephemeral,) = slack.state.ephemerals
    assert ephemeral.user == ANN
    assert ephemeral.text == "What I remember about you:\n**1** The boat is blue. (2026-01-02, in a direct message)"
    assert not host.taken


async def test_forgetting_this_thread_asks_first_and_then_shows_the_receipt(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} which colour has the boat?")
        await slack.say(ANN, GENERAL, f"{ME} another question")
        await slack.settled()
        await slack.say(ANN, GENERAL, f"{ME} forget this thread", root.ts)
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
        (ephemeral,) = slack.state.ephemerals
        question = ephemeral.text
        assert (ephemeral.user, ephemeral.thread_ts) == (ANN, root.ts)
        assert question.startswith("I will forget this thread: what you said in it")
        assert len(host.texts) == 2
        await slack.click(ANN, ephemeral, "Forget")
        await slack.until(lambda: ephemeral.text != question)
    assert [*host.texts.values()] == ["another question"]
    assert ephemeral.text.startswith("Forgotten: 1 message")


@pytest.mark.parametrize(("label", "left"), [("Forget", []), ("Keep everything", ["The boat is blue."])])
async def test_forgetting_everything_can_be_thought_over(slack: FakeSlack, label: str, left: list[str]) -> None:
    host = await knowing("The boat is blue.")
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget")
        await slack.until(lambda: slack.state.ephemerals)
        (ephemeral,) = slack.state.ephemerals
        assert (
            "Write `everything`, `2 hours`, `since Monday`, or `about` and a word. To forget a thread, "
            in ephemeral.text
        )
        await slack.click(ANN, ephemeral, "Everything…")
        await slack.until(lambda: ephemeral.text.startswith(EVERYTHING))
        await slack.click(ANN, ephemeral, label)
        await slack.until(lambda: not ephemeral.blocks[1:])
    assert [fact.value for fact in host.store.facts_kept] == left
    assert (ephemeral.text == forgetting_texts.FORGET_DECLINED) is bool(left)


@pytest.mark.parametrize("ticked", [True, False])
async def test_something_else_is_said_in_a_window_and_shown_before_it_is_erased(
    slack: FakeSlack, *, ticked: bool
) -> None:
    """Replies to it are deleted, too, unless the person ticks that they stay."""
    host, about = await knowing("The boat is blue."), "What do you know about Apollo?"
    shown = slack.state.write(BOT_USER, DM, "It landed.")
    asked = replace(said(about, person=PERSON), source=TEAM, channel=DM)
    reply = await host.store_reply(asked, shown.ts, reply="It landed.")
    async with serving(slack, host):
        await slack.command(ANN, DM, "/forget")
        await slack.until(lambda: slack.state.ephemerals)
        (ephemeral,) = slack.state.ephemerals
        await slack.click(ANN, ephemeral, "Something else…")
        await slack.until(lambda: slack.state.views)
        await slack.submit(ANN, slack.state.views[0], "about Apollo")
        await slack.until(lambda: about in ephemeral.text)
        await slack.click(ANN, ephemeral, "Forget", ticked=ticked)
        await slack.until(lambda: not host.texts)
    assert [fact.value for fact in host.store.facts_kept] == ["The boat is blue."]
    pages = [job for (kind, _), job in host.store.waiting_jobs.items() if kind == DELETE_REPLY]
    assert any(shown.ts in job.payload for job in pages) is not ticked
    assert not host.is_kept(reply)


async def forgot_thread(slack: FakeSlack, host: RecordingHost, conversation: str) -> None:
    """Have ann confirm that "this thread" is forgotten: it is this conversation, and nothing else is."""
    other = said("Something else.", person=PERSON, conversation="another")
    await host.store.hear(other)
    await slack.until(lambda: conversation in sources(host))
    await slack.until(lambda: slack.state.ephemerals)
    await slack.click(ANN, slack.state.ephemerals[-1], "Forget")
    await slack.until(lambda: sources(host) == ["another"])


async def test_in_a_thread_of_a_direct_message_the_words_mean_that_thread(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        root = await slack.say(ANN, DM, "which colour has the boat?")
        await slack.settled()
        await slack.say(ANN, DM, "forget this thread", root.ts)
        await forgot_thread(slack, host, f"{TEAM}:{DM}:{root.ts}")


@pytest.mark.parametrize("way", ["command", "message", "shortcut"])
async def test_what_was_said_before_threads_were_conversations_is_the_thread_beside_them(
    slack: FakeSlack, way: str
) -> None:
    host = recording_host()
    old = slack.state.write(ANN, DM, "which colour has the boat?")
    stored = said(old.text, person=PERSON, conversation=f"{TEAM}:{DM}")
    await host.messages.submit(replace(stored, source=TEAM, channel=DM, message_id=old.ts, time=slack.clock.now()))
    async with serving(slack, host):
        if way == "command":
            await slack.command(ANN, DM, "/forget", "thread")
        elif way == "message":
            await slack.say(ANN, DM, "forget this thread")
        else:
            await slack.shortcut(ANN, "cogency_forget_thread", old)
        await forgot_thread(slack, host, f"{TEAM}:{DM}")


async def test_a_private_question_in_a_direct_message_is_a_thread_like_any_other(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, DM, "/ask", "privately what do I earn?"))
    (root,) = slack.state.answers(DM)
    (taken,) = host.taken
    assert taken.conversation == f"{TEAM}:{DM}:{root.ts}"
    assert taken.place.audience == PersonAudience(PERSON)


async def test_words_that_name_nothing_to_forget_get_one_sentence(slack: FakeSlack) -> None:
    async with serving(slack, recording_host()):
        await slack.command(ANN, DM, "/forget", "nonsense")
        await slack.until(lambda: slack.state.ephemerals)
    (ephemeral,) = slack.state.ephemerals
    assert ephemeral.text.startswith("I did not understand “nonsense”.")
    assert not ephemeral.blocks[1:]


async def test_the_shortcut_offers_to_forget_the_thread_of_its_message(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        message = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        await slack.shortcut(ANN, "cogency_forget_thread", message)
        await forgot_thread(slack, host, f"{TEAM}:{GENERAL}:{message.ts}")


async def test_a_button_works_for_nobody_else(slack: FakeSlack) -> None:
    host = await knowing("The boat is blue.")
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget", "everything")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.click(BOB, slack.state.ephemerals[0], "Forget"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert len(host.store.facts_kept) == 1


async def test_what_went_wrong_while_forgetting_is_said_to_the_person(slack: FakeSlack) -> None:
    class Full(SqlForgetting):
        async def forget(self, *plan: Any, **more: Any) -> Receipt:  # noqa: ARG002 -- it forgets nothing
            raise StoreError("The disk is full.")

    store = store_in_memory()
    host = recording_host(replace(store, forgetting=Full(store.database, ErasedIds(KEY))))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget", "everything")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.click(ANN, slack.state.ephemerals[0], "Forget")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert slack.state.ephemerals[1].text == "The disk is full."


async def test_asking_about_a_message_opens_a_window_and_answers_privately(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        message = slack.state.write(BOB, GENERAL, f"meet <@{ANN}> at 9")
        await slack.shortcut(ANN, ASK_SHORTCUT, message)
        await slack.until(lambda: slack.state.views)
        await slack.acked(await slack.submit(ANN, slack.state.views[0], "when is that in Tokyo?"))
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("At 17:00.", final=True))
    (taken,) = host.taken
    assert taken.text == "when is that in Tokyo?"
    assert [(quoted.author, quoted.text) for quoted in taken.quoted] == [("bob", "meet @ann at 9")]
    assert taken.place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [(ANN, "At 17:00.")]


async def test_a_very_long_message_can_be_asked_about_by_its_beginning(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.shortcut(ANN, ASK_SHORTCUT, slack.state.write(BOB, GENERAL, '"\n' * 5_000))
        await slack.until(lambda: slack.state.views)
    assert len(slack.state.views[0]["private_metadata"]) <= 3_000


async def test_a_mention_that_only_speaks_of_forgetting_is_a_question(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} forget this thread, what about memory?")
        await slack.settled()
    assert len(host.taken) == 1
    assert not slack.state.ephemerals


async def test_words_that_could_not_be_answered_are_answered_when_slack_delivers_them_again(slack: FakeSlack) -> None:
    host = await knowing("The boat is blue.")
    slack.faults["chat.postEphemeral"] += [Fault(503)] * ATTEMPTS
    async with serving(slack, host):
        message = slack.state.write(ANN, DM, "memory")
        envelope = slack.envelope(slack.events_of(message)[0])
        await slack.deliver(envelope)
        await slack.until(lambda: not slack.faults["chat.postEphemeral"])
        await slack.acked(await slack.deliver(envelope, attempt=1))
        await slack.until(lambda: slack.state.ephemerals)
    assert len(slack.state.ephemerals) == 1
