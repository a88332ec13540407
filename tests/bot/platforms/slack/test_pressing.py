"""Buttons and reactions on a reply: what the host receives, and who sees the answer."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from agent.errors import StoreError
from agent.incoming import Incoming, Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.repeats import MAX_REPEATS
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.shown_replies import ReplyVerdict
from bot.chat.access.acl import AccessEntry, AccessKind, AccessRules
from bot.chat.reply.surface import SCHEDULING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.memory import texts as memory_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.reply_buttons import button_rows
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to
from bot.schedules import texts as schedule_texts
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_things import BOT_ID, BOT_USER, FakeEphemeral, FakeMessage, Object

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
TEAM = "slack:T0TEAM"
ROOT = "1700000000.000001"
TURN = 1  # The first in a store
OFFERS = frozenset({ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.REGENERATE, ReplyAction.DELETE})


PRIVATE = f"{TEAM}:{GENERAL}:private:{ANN}"


def blocks_below(
    offers: frozenset[ReplyAction], turn: int, conversation: str, to: ReplyTo, *, plain: bool = False
) -> list[Object]:
    """Return the blocks below a reply, as Slack stores them."""
    return [cast("Object", block) for block in button_rows(offers, turn, conversation, to, plain=plain)]


def question(slack: FakeSlack, channel: str = GENERAL, **more: Any) -> Incoming:
    """Ann's, to which the reply is."""
    asked = Incoming(
        source=TEAM,
        event_id="of the question",
        channel=channel,
        message_id=ROOT,
        conversation=f"{TEAM}:{channel}:{ROOT}",
        person=Person(f"{TEAM}:{ANN}", "ann"),
        place=Place(TeamAudience(TEAM)),
        text="Which colour?",
        time=slack.clock.now(),
    )
    return replace(asked, **more)


def page(
    slack: FakeSlack, offers: frozenset[ReplyAction] = OFFERS, channel: str = GENERAL, turn: int = TURN
) -> FakeMessage:
    shown = slack.state.write(BOT_USER, channel, "It is blue.", ROOT, bot_id=BOT_ID)
    shown.blocks = blocks_below(offers, turn, f"{TEAM}:{channel}:{ROOT}", ReplyTo(channel, ANN, ROOT, after=ROOT))
    return shown


async def replied(
    slack: FakeSlack,
    offers: frozenset[ReplyAction] = OFFERS,
    channel: str = GENERAL,
    pages: tuple[str, ...] = (),
    **asked: Any,
) -> tuple[RecordingHost, FakeMessage]:
    """A host that knows a reply to ann, and its place."""
    host, shown = recording_host(), page(slack, offers, channel)
    assert await host.store_reply(question(slack, channel, **asked), *(pages or (shown.ts,))) == TURN
    return host, shown


async def scheduled(host: RecordingHost) -> None:
    """Have the question of the only reply schedule something."""
    known = await host.feedback.of(TURN)
    assert known is not None
    timing = Timing("Europe/Berlin", at=datetime(2100, 1, 4, 8, tzinfo=UTC))
    schedule = NewSchedule(
        known.person,
        known.source,
        known.channel,
        Place(PersonAudience(known.person)),
        ScheduleKind.REMINDER,
        "tea",
        timing,
        FakeClock().now(),
        message=known.message_id,
    )
    assert isinstance(await host.store.schedules.add(schedule), Schedule)


async def remembered(host: RecordingHost) -> None:
    """Have the question of the only reply teach something."""
    (asked,), audience = host.store.turns, label(TeamAudience(TEAM))
    await remember(host.store.facts, f"{TEAM}:{ANN}", "drinks tea", audience, asked.incoming.time, asked.message)


def said_alone(slack: FakeSlack) -> list[tuple[str, str]]:
    return [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals]


async def test_everybody_may_judge_a_reply_and_is_thanked_alone_or_asked_why(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Good answer"))
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.click(ANN, shown, "Bad answer"))
        await slack.until(lambda: slack.state.views)
    assert host.store.verdicts == {
        (TURN, f"{TEAM}:{BOB}"): ReplyVerdict.GOOD,
        (TURN, f"{TEAM}:{ANN}"): ReplyVerdict.BAD,
    }
    assert said_alone(slack) == [(BOB, platforms_texts.NOTED)]
    assert {ephemeral.thread_ts for ephemeral in slack.state.ephemerals} == {ROOT}


async def test_a_bad_verdict_is_kept_and_thanked_for_also_if_slack_opens_no_window(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    slack.refusing["views.open", ""] = "expired_trigger_id"
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Bad answer"))
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, platforms_texts.NOTED)]
    assert host.store.verdicts == {(TURN, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


async def test_whoever_may_not_use_the_bot_stops_no_answer_and_decides_about_no_call(slack: FakeSlack) -> None:
    host, shown = recording_host(), page(slack, frozenset({ReplyAction.STOP, ReplyAction.DECIDE}))
    await host.messages.submit(question(slack))
    host.restrict(AccessRules(deny=frozenset({AccessEntry(AccessKind.PERSON, BOB)})))
    async with serving(slack, host):
        for button in ("Stop", platforms_texts.DECIDE_BUTTON):
            slack.state.ephemerals.clear()
            await slack.click(BOB, shown, button)
            await slack.until(lambda: slack.state.ephemerals)
            assert said_alone(slack) == [(BOB, reply_texts.NOT_ALLOWED["person"])]
        await slack.acked(await slack.click(ANN, shown, "Stop"))
        await slack.until(lambda: host.stopped)
    assert host.stopped == [f"{TEAM}:{GENERAL}:{ROOT}"]


async def test_the_last_verdict_of_a_person_counts(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.click(ANN, shown, "Good answer")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.click(ANN, shown, "Bad answer")
        await slack.until(lambda: slack.state.views)
    assert host.store.verdicts == {(TURN, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


@pytest.mark.parametrize("label", ["Good answer", "Regenerate", "Undo"])
async def test_what_is_not_known_any_more_is_said_to_be_so(slack: FakeSlack, label: str) -> None:
    shown = page(slack, OFFERS | {ReplyAction.UNDO})
    async with serving(slack, recording_host()):
        await slack.click(ANN, shown, label)
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, platforms_texts.NO_SUCH_REPLY)]


@pytest.mark.parametrize("of_another", [False, True], ids=["forgotten", "of another reply now"])
async def test_a_page_whose_reply_is_not_known_any_more_is_deleted_for_its_asker(
    slack: FakeSlack, *, of_another: bool
) -> None:
    host, shown = recording_host(), page(slack)
    if of_another:
        await host.store_reply(question(slack, DM, text="My secret?"), shown.ts)
    async with serving(slack, host):
        await slack.click(ANN, shown, "Delete this reply")
        await slack.until(lambda: shown not in slack.state.messages)
    assert (host.is_kept(TURN), said_alone(slack)) == (of_another, [])


async def test_the_asker_has_a_reply_deleted_after_saying_that_they_are_sure(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        assert await slack.click(ANN, shown, "Delete this reply", sure=False) == ""
        await slack.click(ANN, shown, "Delete this reply")
        await slack.until(lambda: not host.is_kept(TURN))
        await slack.settled()
    assert shown not in slack.state.messages
    assert not slack.state.ephemerals


@pytest.mark.parametrize("form", ["rich_text", "markdown"])
async def test_the_line_and_the_button_of_what_was_taken_back_go_from_the_reply(slack: FakeSlack, form: str) -> None:
    host, shown = await replied(slack, OFFERS | {ReplyAction.UNDO})
    await remembered(host)
    text = {"type": "text", "text": "It is blue.\n\n"}
    line = {"type": "text", "text": "Remembered: drinks tea from ", "style": {"italic": True}}
    link = {"type": "link", "url": "https://tea.example", "style": {"italic": True}}
    section = {"type": "rich_text_section", "elements": [text, line, link]}
    words: dict[str, Object] = {
        "rich_text": {"type": "rich_text", "elements": [section]},
        "markdown": {"type": "markdown", "text": "It is blue.\n\n*Remembered: drinks tea*"},
    }
    after: dict[str, Object] = {
        "rich_text": {
            "type": "rich_text",
            "elements": [
                {**section, "elements": [text, {**line, "text": platforms_texts.UNDONE.strip("*")}]},
            ],
        },
        "markdown": {"type": "markdown", "text": f"It is blue.\n\n{platforms_texts.UNDONE}"},
    }
    before = labels(shown.blocks, ANN)
    shown.blocks = [words[form], *shown.blocks]
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Undo"))
        await slack.until(lambda: slack.state.ephemerals)
        assert shown.edits == 0
        await slack.click(ANN, shown, "Undo")
        await slack.until(lambda: shown.edits)
    assert shown.blocks[0] == after[form]
    assert labels(shown.blocks[1:], ANN) == [label for label in before if label != "Undo"]


@pytest.mark.parametrize("form", ["rich_text", "markdown"])
async def test_the_line_and_the_buttons_of_what_was_cancelled_go_and_what_was_remembered_stays(
    slack: FakeSlack, form: str
) -> None:
    host, shown = await replied(slack, OFFERS | {ReplyAction.UNDO} | SCHEDULING)
    await scheduled(host)
    await remembered(host)
    lines = ("Remembered: drinks tea", "Scheduled: Monday, November 24, 09:00 Europe/Berlin")
    blocks, told = dict[str, Object](), platforms_texts.UNSCHEDULED.strip("*")
    for name, second in (("before", lines[1]), ("after", told)):
        italic = [{"type": "text", "text": line, "style": {"italic": True}} for line in (lines[0], second)]
        elements = [{"type": "text", "text": "It is blue.\n\n"}, italic[0], {"type": "text", "text": "\n\n"}, italic[1]]
        rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
        plain = {"type": "markdown", "text": f"It is blue.\n\n*{lines[0]}*\n\n*{second}*"}
        blocks[name] = rich if form == "rich_text" else plain
    before = labels(shown.blocks, ANN)
    shown.blocks = [blocks["before"], *shown.blocks]
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Cancel"))
        await slack.until(lambda: slack.state.ephemerals)
        assert shown.edits == 0
        assert await host.store.schedules.of_person(f"{TEAM}:{ANN}")
        await slack.click(ANN, shown, "Cancel")
        await slack.until(lambda: shown.edits)
    assert [ephemeral.text for ephemeral in slack.state.ephemerals] == [
        reply_texts.NOT_YOURS,
        schedule_texts.CANCELLED.format(words=schedule_texts.quoted("tea")),
    ]
    assert await host.store.schedules.of_person(f"{TEAM}:{ANN}") == []
    assert [fact.value for fact in host.store.facts_kept] == ["drinks tea"]
    assert shown.blocks[0] == blocks["after"]
    assert labels(shown.blocks[1:], ANN) == [label for label in before if label not in {"Change", "Cancel"}]


async def test_the_window_below_a_reply_changes_its_schedule_and_answers_below_it(slack: FakeSlack) -> None:
    host, shown = await replied(slack, OFFERS | SCHEDULING)
    await scheduled(host)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Change"))
        await slack.until(lambda: slack.state.ephemerals)
        assert not slack.state.views
        await slack.click(ANN, shown, "Change")
        await slack.until(lambda: slack.state.views)
        (view,) = slack.state.views
        await slack.fill_in(ANN, view, when={"value": "tomorrow at 10:00"}, what={"value": "call Eve"})
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    (schedule,) = await host.store.schedules.of_person(f"{TEAM}:{ANN}")
    assert schedule.definition.words == "call Eve"
    assert "10:00" in slack.state.ephemerals[1].text
    assert slack.state.ephemerals[1].thread_ts == ROOT
    assert (shown.edits, shown.text) == (0, "It is blue.")


async def test_a_reply_whose_words_slack_does_not_tell_stays_as_it_is(slack: FakeSlack) -> None:
    host, shown = await replied(slack, OFFERS | {ReplyAction.UNDO})
    await remembered(host)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Undo"))
        await slack.until(lambda: slack.state.ephemerals)
        await slack.settled()
    assert (shown.edits, shown.text) == (0, "It is blue.")


async def test_what_was_remembered_is_taken_back_for_the_asker_and_nobody_else(slack: FakeSlack) -> None:
    host, shown = await replied(slack, OFFERS | {ReplyAction.UNDO})
    await remembered(host)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Undo"))
        await slack.until(lambda: slack.state.ephemerals)
        assert [fact.value for fact in host.store.facts_kept] == ["drinks tea"]
        await slack.acked(await slack.click(ANN, shown, "Undo"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert host.store.facts_kept == []
    assert said_alone(slack) == [
        (BOB, reply_texts.NOT_YOURS),
        (ANN, memory_texts.TAKEN_BACK.format(facts="drinks tea")),
    ]


def test_nobody_else_sees_the_sign_that_deletes(slack: FakeSlack) -> None:
    shown = page(slack)
    assert "Delete this reply" in labels(shown.blocks, ANN)
    assert "Delete this reply" not in labels(shown.blocks, BOB)


async def test_somebody_elses_plain_button_that_deletes_is_refused_in_private(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    shown.blocks = blocks_below(OFFERS, TURN, f"{TEAM}:{GENERAL}:{ROOT}", ReplyTo(GENERAL, ANN, ROOT), plain=True)
    async with serving(slack, host):
        await slack.click(BOB, shown, "Delete this reply")
        await slack.until(lambda: slack.state.ephemerals)
    assert [user for user, _ in said_alone(slack)] == [BOB]
    assert host.is_kept(TURN)


async def test_a_private_reply_that_is_deleted_goes_by_the_way_on_which_the_press_came(slack: FakeSlack) -> None:
    host, _ = await replied(slack, conversation=PRIVATE)
    blocks = blocks_below(OFFERS, TURN, PRIVATE, ReplyTo(GENERAL, ANN, ROOT, private=True))
    alone = FakeEphemeral(GENERAL, ANN, "It is blue.", blocks)
    slack.state.ephemerals.append(alone)
    async with serving(slack, host):
        await slack.click(ANN, alone, "Delete this reply")
        await slack.until(lambda: not slack.state.ephemerals)
    assert not host.is_kept(TURN)


async def test_of_a_private_reply_of_several_pages_it_is_said_which_stay(slack: FakeSlack) -> None:
    host, _ = await replied(slack, conversation=PRIVATE, pages=("@/1:0", "@/1:1"))
    blocks = blocks_below(OFFERS, TURN, PRIVATE, ReplyTo(GENERAL, ANN, ROOT, private=True))
    first, last = FakeEphemeral(GENERAL, ANN, "It is", []), FakeEphemeral(GENERAL, ANN, "blue.", blocks)
    slack.state.ephemerals += [first, last]
    async with serving(slack, host):
        await slack.click(ANN, last, "Delete this reply")
        await slack.until(lambda: last not in slack.state.ephemerals and len(slack.state.ephemerals) == 2)
    assert slack.state.ephemerals[1].text == platforms_texts.ONLY_THIS_PAGE
    assert not host.is_kept(TURN)


async def test_the_asker_has_the_question_answered_again_in_the_same_conversation(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    (taken,) = host.taken
    assert (taken.text, taken.conversation) == ("Which colour?", f"{TEAM}:{GENERAL}:{ROOT}")
    assert taken.place.audience == TeamAudience(TEAM)
    assert decode_reply_to(taken.reply_to) == ReplyTo(GENERAL, ANN, ROOT, after=shown.ts)


async def test_what_was_attached_to_the_question_comes_along(slack: FakeSlack) -> None:
    asked = slack.state.write(ANN, GENERAL, "Which colour?", files=[slack.upload("boat.txt", b"blue")])
    host, shown = await replied(slack, message_id=asked.ts)
    shown.thread_ts = asked.ts
    shown.blocks = blocks_below(OFFERS, TURN, f"{TEAM}:{GENERAL}:{ROOT}", ReplyTo(GENERAL, ANN, asked.ts))
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert [(file.name, file.author) for file in host.taken[0].files] == [("boat.txt", "ann")]


async def test_pressing_once_more_asks_nothing_and_says_so(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert len(host.taken) == 1
    assert said_alone(slack) == [(ANN, platforms_texts.ASKED_ALREADY)]


async def test_nobody_else_has_it_answered_again(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Regenerate"))
    assert not host.taken
    assert said_alone(slack) == [(BOB, reply_texts.NOT_YOURS)]


async def test_in_a_direct_message_the_place_is_the_person(slack: FakeSlack) -> None:
    host, shown = await replied(slack, channel=DM)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert host.taken[0].place.audience == PersonAudience(f"{TEAM}:{ANN}")


async def test_a_question_from_before_a_channel_was_public_is_not_asked_again_in_public(slack: FakeSlack) -> None:
    host, shown = await replied(slack, place=Place(GroupAudience(f"{TEAM}:{GENERAL}")))
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert not host.taken
    assert said_alone(slack) == [(ANN, reply_texts.MORE_PUBLIC)]


async def test_anybody_lets_a_cut_answer_go_on_in_their_own_name(slack: FakeSlack) -> None:
    host, shown = await replied(slack, frozenset({ReplyAction.CONTINUE}))
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Continue"))
    (taken,) = host.taken
    assert (taken.text, taken.person.id, taken.conversation) == (
        platforms_texts.GO_ON,
        f"{TEAM}:{BOB}",
        f"{TEAM}:{GENERAL}:{ROOT}",
    )
    assert decode_reply_to(taken.reply_to).user == BOB


@pytest.mark.parametrize("label", ["Continue", "Regenerate"])
async def test_a_button_that_was_used_is_removed_and_the_others_stay(slack: FakeSlack, label: str) -> None:
    offers = frozenset({ReplyAction.CONTINUE, ReplyAction.REGENERATE, ReplyAction.GOOD, ReplyAction.BAD})
    host, shown = await replied(slack, offers)
    shown.blocks = [{"type": "markdown", "text": "It is blue."}, *shown.blocks]
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, label))
    assert len(host.taken) == 1
    (other,) = {"Continue", "Regenerate"} - {label}
    assert label not in str(shown.blocks)
    assert other in str(shown.blocks)
    assert shown.blocks[0] == {"type": "markdown", "text": "It is blue."}
    assert shown.text == "It is blue."


async def test_a_growing_answer_is_stopped_by_its_button(slack: FakeSlack) -> None:
    host, shown = recording_host(), page(slack, frozenset({ReplyAction.STOP}))
    await host.messages.submit(question(slack))
    async with serving(slack, host):
        await slack.click(BOB, shown, "Stop")
        await slack.until(lambda: host.stopped)
    assert host.stopped == [f"{TEAM}:{GENERAL}:{ROOT}"]


async def test_what_could_not_be_stored_is_said(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    host.store.ledger.failures.append(StoreError("The disk is full."))
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert said_alone(slack) == [(ANN, "The disk is full.")]


# Reactions


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("+1", ReplyVerdict.GOOD),
        ("thumbsup::skin-tone-4", ReplyVerdict.GOOD),
        ("white_check_mark", ReplyVerdict.GOOD),
        ("-1", ReplyVerdict.BAD),
        ("thumbsdown", ReplyVerdict.BAD),
    ],
)
async def test_a_reaction_judges_and_taking_it_back_takes_that_back(
    slack: FakeSlack, name: str, verdict: ReplyVerdict
) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(BOB, shown, name))
        assert host.store.verdicts == {(TURN, f"{TEAM}:{BOB}"): verdict}
        await slack.acked(await slack.react(BOB, shown, name, added=False))
    assert host.store.verdicts == {}
    assert not slack.state.ephemerals


async def test_of_several_reactions_the_last_one_added_counts(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, "+1"))
        await slack.acked(await slack.react(ANN, shown, "-1"))
        await slack.acked(await slack.react(ANN, shown, "+1", added=False))
    assert host.store.verdicts == {(TURN, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


async def test_a_reaction_that_is_taken_back_leaves_what_was_said_after_it(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, "+1"))
        await slack.click(ANN, shown, "Bad answer")
        await slack.until(lambda: slack.state.views)
        await slack.acked(await slack.react(ANN, shown, "+1", added=False))
    assert host.store.verdicts == {(TURN, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


async def test_a_wastebasket_of_the_asker_deletes_and_one_of_somebody_else_does_nothing(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(BOB, shown, "wastebasket"))
        assert host.is_kept(TURN)
        await slack.acked(await slack.react(ANN, shown, "wastebasket"))
    assert not host.is_kept(TURN)
    assert not slack.state.ephemerals


@pytest.mark.parametrize("name", ["eyes", "heart", "clap"])
async def test_other_reactions_say_nothing(slack: FakeSlack, name: str) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, name))
    assert not host.store.verdicts


async def test_reactions_to_what_people_write_and_of_the_bot_itself_say_nothing(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    asked = slack.state.write(ANN, GENERAL, "Which colour?")
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, asked, "+1"))
        await slack.acked(await slack.react(BOT_USER, shown, "+1"))
    assert not host.store.verdicts


# What is kept of a question that was asked again


async def test_an_answer_to_a_repeated_question_can_be_repeated_too_but_not_for_ever(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    async with serving(slack, host):
        for number in range(1, MAX_REPEATS + 1):
            await slack.acked(await slack.click(ANN, shown, "Regenerate"))
            assert host.taken[-1].message_id == f"again:{ROOT}:{number}"
            shown = page(slack, turn=number + 1)
            assert await host.answer(shown.ts) == number + 1
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert len(host.taken) == MAX_REPEATS
    assert said_alone(slack) == [(ANN, reply_texts.OFTEN_ENOUGH)]


async def test_a_repeated_question_is_edited_and_forgotten_with_the_message(slack: FakeSlack) -> None:
    root = slack.state.write(ANN, GENERAL, "Which colour?")
    host, shown = await replied(slack, message_id=root.ts)
    event = {"type": "message", "channel": GENERAL, "previous_message": root.wire()}
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
        (again,) = host.taken
        edited = {**event, "subtype": "message_changed", "message": {**root.wire(), "text": "Which shade?"}}
        await slack.acked(await slack.deliver(slack.envelope(edited)))
        assert host.texts == {(GENERAL, root.ts): "Which shade?", (GENERAL, again.message_id): "Which shade?"}
        gone = {**event, "subtype": "message_deleted", "deleted_ts": root.ts}
        await slack.acked(await slack.deliver(slack.envelope(gone)))
    assert host.texts == {}


async def test_a_reply_of_which_somebody_deleted_a_page_is_forgotten(slack: FakeSlack) -> None:
    host, shown = await replied(slack)
    event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "previous_message": shown.wire()}
    async with serving(slack, host):
        await slack.acked(await slack.deliver(slack.envelope({**event, "deleted_ts": shown.ts})))
        await slack.acked(await slack.deliver(slack.envelope({**event, "deleted_ts": ROOT})))
    assert not host.is_kept(TURN)


@pytest.mark.parametrize("label", ["Good answer", "Regenerate"])
async def test_a_button_from_before_the_database_was_replaced_says_nothing_of_its_numbers_new_reply(
    slack: FakeSlack, label: str
) -> None:
    host, shown = recording_host(), page(slack)
    await host.store_reply(question(slack, DM, text="My secret?"), shown.ts)
    async with serving(slack, host):
        await slack.click(ANN, shown, label)
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, platforms_texts.NO_SUCH_REPLY)]
    assert (host.taken, host.is_kept(TURN), host.store.verdicts) == ([], True, {})


async def test_what_was_said_is_listened_to_again(slack: FakeSlack) -> None:
    clip = {**slack.upload("clip.webm", b"sound", "audio/webm"), "subtype": "slack_audio"}
    asked = slack.state.write(ANN, GENERAL, "", files=[clip])
    host, shown = await replied(slack, message_id=asked.ts)
    shown.blocks = blocks_below(OFFERS, TURN, f"{TEAM}:{GENERAL}:{ROOT}", ReplyTo(GENERAL, ANN, asked.ts))
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert [file.spoken for file in host.taken[0].files] == [True]


@pytest.mark.parametrize(
    ("conversation", "to"),
    [
        (f"{TEAM}:{SECRET}:{ROOT}", ReplyTo(SECRET, BOB, ROOT)),
        (f"{TEAM}:{SECRET}:{ROOT}", ReplyTo(GENERAL, BOB, ROOT)),
        (f"{TEAM}:D0ANN:{ROOT}", ReplyTo("D0ANN", BOB, ROOT)),
        (f"{TEAM}:{GENERAL}:private:{ANN}", ReplyTo(GENERAL, BOB, ROOT, private=True)),
        (f"{TEAM}:{GENERAL}:private:{ANN}", ReplyTo(GENERAL, BOB, ROOT)),
    ],
)
@pytest.mark.parametrize("label", ["Continue", "Regenerate"])
async def test_what_a_button_carries_of_a_place_that_its_presser_cannot_read_is_refused(
    slack: FakeSlack, conversation: str, to: ReplyTo, label: str
) -> None:
    host, shown = await replied(slack, conversation=conversation, person=Person(f"{TEAM}:{BOB}", "bob"))
    slack.state.channels[SECRET].members -= {BOB}
    shown.blocks = blocks_below(frozenset({ReplyAction(label.lower())}), TURN, conversation, to)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, label))
        await slack.until(lambda: slack.state.ephemerals)
    assert not host.taken


async def test_a_button_works_for_members_of_a_private_channel_and_not_after_they_left(slack: FakeSlack) -> None:
    host, shown = await replied(slack, frozenset({ReplyAction.CONTINUE}), SECRET)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Continue"))
        slack.state.channels[SECRET].members -= {BOB}
        await slack.acked(await slack.click(BOB, shown, "Continue"))
        await slack.until(lambda: slack.state.ephemerals)
    assert [taken.person.id for taken in host.taken] == [f"{TEAM}:{ANN}"]
    assert said_alone(slack) == [(BOB, platforms_texts.NOT_ASKED_THERE)]
