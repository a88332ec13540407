"""Commands, shortcuts and buttons: what the host receives, and who sees the answer."""

from dataclasses import replace

import pytest

from agent.errors import StoreError
from agent.memory.audience import PersonAudience, TeamAudience
from agent.messages import ModelCall, Usage
from agent.spending import SpendingAccount, Spent
from bot.chat.reply.surface import PageContent, PageKey
from bot.forgetting import texts as forgetting_texts
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.platforms.slack.api import SlackRefused
from bot.platforms.slack.question_views import ASK_SHORTCUT
from store.preferences import SqlPreferences
from tests.fakes.host import FakeHost
from tests.fakes.incoming import said
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ME = f"<@{BOT_USER}>"
TEAM = "slack:T0TEAM"
PERSON = f"{TEAM}:{ANN}"
BOAT = ShownEntry("f:1", 1, "The boat is blue.", "2026-01-02")
REMEMBERED = MemoryAnswer("This is what I remember:", (BOAT,))


async def test_a_question_of_a_command_becomes_a_message_that_everybody_sees(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "why is the sky blue?"))
    (root,) = slack.state.answers(GENERAL)
    (taken,) = host.taken
    assert taken.text == "why is the sky blue?"
    assert taken.conversation == f"{TEAM}:{GENERAL}:{root.ts}"
    assert taken.place.audience == TeamAudience(TEAM)
    assert not slack.state.ephemerals


async def test_a_private_question_is_a_conversation_of_its_own_and_shows_only_to_the_person(slack: FakeSlack) -> None:
    host = FakeHost()
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
    host = FakeHost()
    elsewhere = slack.state.channel("elsewhere", bot=False)
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, elsewhere, "/ask", "privately when?"))
        slack.expire_all()
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("At noon.", final=True))
    assert not slack.state.ephemerals
    assert [answer.text for answer in slack.state.answers(DM)] == ["At noon."]


async def test_where_the_bot_is_no_member_the_answer_is_private(slack: FakeSlack) -> None:
    host = FakeHost()
    elsewhere = slack.state.channel("elsewhere", bot=False)
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, elsewhere, "/ask", "where am I?"))
        (told,) = slack.state.ephemerals
        await host.platforms.surface_for(host.taken[0]).post(PageKey(1, 0), PageContent("Elsewhere.", final=True))
    assert host.taken[0].place.audience == PersonAudience(f"{TEAM}:{ANN}")
    assert "so only you see the answer" in told.text
    assert "/invite @" in told.text
    assert [ephemeral.text for ephemeral in slack.state.ephemerals] == [told.text, "Elsewhere."]


@pytest.mark.parametrize("code", ["is_archived", "restricted_action_thread_only_channel"])
async def test_why_an_answer_is_private_is_what_slack_said_and_not_always_an_invitation(
    slack: FakeSlack, code: str
) -> None:
    host = FakeHost()
    slack.faults["chat.postMessage"].append(Fault(error=code))
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "where am I?"))
    (told,) = slack.state.ephemerals
    assert "so only you see the answer" in told.text
    assert told.text.endswith(SlackRefused("chat.postMessage", code).remedy)
    assert "/invite" not in told.text
    assert len(host.taken) == 1


async def test_a_command_without_a_question_says_how_it_is_used(slack: FakeSlack) -> None:
    host = FakeHost()
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

    host = FakeHost()
    host.preferences = Full(host.store.database)
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))
    assert slack.state.ephemerals[0].text == "The disk is full."
    assert not slack.state.answers(GENERAL)


async def test_a_command_that_comes_again_is_taken_once(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/ask", "hello?"))
        await slack.repeat()
        await slack.repeat()
        await slack.settled()
    assert len(host.taken) == 1
    assert len(slack.state.answers(GENERAL)) == 1


@pytest.mark.parametrize("way", ["command", "mention", "direct message"])
async def test_usage_shows_only_to_the_person_whose_questions_it_counts(slack: FakeSlack, way: str) -> None:
    spent = Spent.on([ModelCall("openai:gpt-6-luna", Usage(input_uncached=10_000))])
    host = FakeHost(account=SpendingAccount(spent, spent))
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
    assert host.asked_for_usage == [f"{TEAM}:{ANN}"]
    assert not host.taken


@pytest.mark.parametrize("way", ["command", "mention", "direct message", "shortcut"])
async def test_memory_shows_only_to_the_person_with_its_dates(slack: FakeSlack, way: str) -> None:
    host = FakeHost(remembered=REMEMBERED)
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
    assert ephemeral.text == "This is what I remember:\n**1** The boat is blue. (2026-01-02)"
    ((viewer, words),) = host.asked_for_memory
    assert (viewer.person.id, viewer.place.audience, words) == (f"{TEAM}:{ANN}", PersonAudience(f"{TEAM}:{ANN}"), "")
    assert not host.taken


async def test_forgetting_this_thread_asks_first_and_then_shows_the_receipt(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        root = slack.state.write(BOB, GENERAL, "an old question")
        await slack.say(ANN, GENERAL, f"{ME} forget this thread", root.ts)
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
        (ephemeral,) = slack.state.ephemerals
        question = "I will forget this thread."
        assert (ephemeral.user, ephemeral.thread_ts, ephemeral.text) == (ANN, root.ts, question)
        assert not host.forgotten
        await slack.click(ANN, ephemeral, "Forget")
        await slack.until(lambda: ephemeral.text != question)
    assert host.forgotten == [(f"{TEAM}:{ANN}", "this thread", frozenset({f"{TEAM}:{GENERAL}:{root.ts}"}))]
    assert host.replies_too == [True]
    assert ephemeral.text == forgetting_texts.receipt_text(host.receipt)


@pytest.mark.parametrize(
    ("label", "forgotten"),
    [
        ("Forget", [(PERSON, "everything", frozenset[str]())]),
        ("Keep everything", list[tuple[str, str, frozenset[str]]]()),
    ],
)
async def test_forgetting_everything_can_be_thought_over(
    slack: FakeSlack, label: str, forgotten: list[tuple[str, str, frozenset[str]]]
) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget")
        await slack.until(lambda: slack.state.ephemerals)
        (ephemeral,) = slack.state.ephemerals
        assert "forget this thread” in it" in ephemeral.text
        await slack.click(ANN, ephemeral, "Everything…")
        await slack.until(lambda: ephemeral.text == "I will forget everything.")
        await slack.click(ANN, ephemeral, label)
        await slack.until(lambda: not ephemeral.blocks[1:])
    assert host.forgotten == forgotten
    assert ephemeral.text in (forgetting_texts.FORGET_DECLINED, forgetting_texts.receipt_text(host.receipt))


async def test_something_else_is_said_in_a_window_and_shown_before_it_is_erased(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.command(ANN, DM, "/forget")
        await slack.until(lambda: slack.state.ephemerals)
        (ephemeral,) = slack.state.ephemerals
        await slack.click(ANN, ephemeral, "Something else…")
        await slack.until(lambda: slack.state.views)
        await slack.submit(ANN, slack.state.views[0], "about Apollo")
        await slack.until(lambda: ephemeral.text == "I will forget about Apollo.")
        await slack.click(ANN, ephemeral, "Forget", ticked=True)
        await slack.until(lambda: host.forgotten)
    assert host.forgotten == [(PERSON, "about Apollo", frozenset())]
    assert host.replies_too == [False]


async def forgot_thread(slack: FakeSlack, host: FakeHost) -> frozenset[str]:
    """Return what ann forgets when she confirms "this thread"."""
    await slack.until(lambda: slack.state.ephemerals)
    await slack.click(ANN, slack.state.ephemerals[-1], "Forget")
    await slack.until(lambda: host.forgotten)
    ((person, token, thread),) = host.forgotten
    assert (person, token.removeprefix("this ")) == (PERSON, "thread")
    return thread


async def test_in_a_thread_of_a_direct_message_the_words_mean_that_thread(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        root = await slack.say(ANN, DM, "which colour has the boat?")
        await slack.say(ANN, DM, "forget this thread", root.ts)
        assert await forgot_thread(slack, host) == {f"{TEAM}:{DM}:{root.ts}"}


@pytest.mark.parametrize("way", ["command", "message", "shortcut"])
async def test_what_was_said_before_threads_were_conversations_is_the_thread_beside_them(
    slack: FakeSlack, way: str
) -> None:
    host = FakeHost()
    old = slack.state.write(ANN, DM, "which colour has the boat?")
    stored = said(old.text, person=PERSON, conversation=f"{TEAM}:{DM}")
    await host.submit(replace(stored, source=TEAM, channel=DM, message_id=old.ts, time=slack.clock.now()))
    async with serving(slack, host):
        if way == "command":
            await slack.command(ANN, DM, "/forget", "thread")
        elif way == "message":
            await slack.say(ANN, DM, "forget this thread")
        else:
            await slack.shortcut(ANN, "cogency_forget_thread", old)
        assert await forgot_thread(slack, host) == {f"{TEAM}:{DM}"}


async def test_a_private_question_in_a_direct_message_is_a_thread_like_any_other(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, DM, "/ask", "privately what do I earn?"))
    (root,) = slack.state.answers(DM)
    (taken,) = host.taken
    assert taken.conversation == f"{TEAM}:{DM}:{root.ts}"
    assert taken.place.audience == PersonAudience(PERSON)


async def test_words_that_name_nothing_to_forget_get_one_sentence(slack: FakeSlack) -> None:
    async with serving(slack, FakeHost()):
        await slack.command(ANN, DM, "/forget", "nonsense")
        await slack.until(lambda: slack.state.ephemerals)
    (ephemeral,) = slack.state.ephemerals
    assert ephemeral.text == "I did not understand “nonsense”."
    assert not ephemeral.blocks[1:]


async def test_the_shortcut_offers_to_forget_the_thread_of_its_message(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        message = slack.state.write(BOB, GENERAL, "hello")
        await slack.shortcut(ANN, "cogency_forget_thread", message)
        await slack.until(lambda: slack.state.ephemerals)
        await slack.click(ANN, slack.state.ephemerals[0], "Forget")
        await slack.until(lambda: host.forgotten)
    assert host.forgotten == [(PERSON, "thread", frozenset({f"{TEAM}:{GENERAL}:{message.ts}"}))]


async def test_a_button_works_for_nobody_else(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget", "everything")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.click(BOB, slack.state.ephemerals[0], "Forget"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert not host.forgotten


async def test_what_went_wrong_while_forgetting_is_said_to_the_person(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/forget", "everything")
        await slack.until(lambda: slack.state.ephemerals)
        host.fail_next = StoreError("The disk is full.")
        await slack.click(ANN, slack.state.ephemerals[0], "Forget")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert slack.state.ephemerals[1].text == "The disk is full."


async def test_asking_about_a_message_opens_a_window_and_answers_privately(slack: FakeSlack) -> None:
    host = FakeHost()
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
    host = FakeHost()
    async with serving(slack, host):
        await slack.shortcut(ANN, ASK_SHORTCUT, slack.state.write(BOB, GENERAL, '"\n' * 5_000))
        await slack.until(lambda: slack.state.views)
    assert len(slack.state.views[0]["private_metadata"]) <= 3_000


async def test_a_mention_that_only_speaks_of_forgetting_is_a_question(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} forget this thread, what about memory?")
        await slack.settled()
    assert len(host.taken) == 1
    assert not slack.state.ephemerals


async def test_words_that_could_not_be_answered_are_answered_when_slack_delivers_them_again(slack: FakeSlack) -> None:
    host = FakeHost(remembered=REMEMBERED)
    slack.faults["chat.postEphemeral"].append(Fault(503))
    async with serving(slack, host):
        message = slack.state.write(ANN, DM, "memory")
        envelope = slack.envelope(slack.events_of(message)[0])
        await slack.deliver(envelope)
        await slack.until(lambda: not slack.faults["chat.postEphemeral"])
        await slack.acked(await slack.deliver(envelope, attempt=1))
    assert len(slack.state.ephemerals) == 1
