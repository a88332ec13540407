"""Buttons and reactions on a reply: what the host receives, and who sees the answer."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from agent.errors import StoreError
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.repeats import MAX_REPEATS
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.shown_replies import Answered, ReplyVerdict
from bot.chat.access.acl import AccessEntry, AccessKind, AccessRules
from bot.chat.reply.surface import SCHEDULING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.inbound import ReplyTo, decode_reply_to
from bot.platforms.slack.reply_buttons import button_rows
from bot.schedules import texts as schedule_texts
from tests.fakes.clock import FakeClock
from tests.fakes.host import FakeHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_things import BOT_ID, BOT_USER, FakeEphemeral, FakeMessage, Object

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
TEAM = "slack:T0TEAM"
ROOT = "1700000000.000001"
OFFERS = frozenset({ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.REGENERATE, ReplyAction.DELETE})


PRIVATE = f"{TEAM}:{GENERAL}:private:{ANN}"


def blocks_below(
    offers: frozenset[ReplyAction], turn: int, conversation: str, to: ReplyTo, *, plain: bool = False
) -> list[Object]:
    """Return the blocks below a reply, as Slack stores them."""
    return [cast("Object", block) for block in button_rows(offers, turn, conversation, to, plain=plain)]


def reply(
    slack: FakeSlack,
    offers: frozenset[ReplyAction] = OFFERS,
    channel: str = GENERAL,
    audience: str = label(TeamAudience(TEAM)),
) -> tuple[FakeHost, FakeMessage]:
    """A host that knows a reply to ann, and its place."""
    conversation = f"{TEAM}:{channel}:{ROOT}"
    shown = slack.state.write(BOT_USER, channel, "It is blue.", ROOT, bot_id=BOT_ID)
    shown.blocks = blocks_below(offers, 7, conversation, ReplyTo(channel, ANN, ROOT, after=ROOT))
    known = Answered(7, TEAM, conversation, channel, ROOT, f"{TEAM}:{ANN}", "Which colour?", audience, (shown.ts,))
    return FakeHost(replies=[known]), shown


async def scheduled(host: FakeHost) -> None:
    """Have the question of the only reply schedule something."""
    (known,) = host.replies
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


def said_alone(slack: FakeSlack) -> list[tuple[str, str]]:
    return [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals]


async def test_everybody_may_judge_a_reply_and_is_thanked_alone_in_its_thread(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Good answer"))
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.click(ANN, shown, "Bad answer"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert host.verdicts == {(7, f"{TEAM}:{BOB}"): ReplyVerdict.GOOD, (7, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}
    assert said_alone(slack) == [
        (BOB, platforms_texts.NOTED),
        (ANN, platforms_texts.NOTED),
    ]
    assert {ephemeral.thread_ts for ephemeral in slack.state.ephemerals} == {ROOT}


async def test_whoever_may_not_use_the_bot_stops_no_answer_and_decides_about_no_call(slack: FakeSlack) -> None:
    host, shown = reply(slack, frozenset({ReplyAction.STOP, ReplyAction.DECIDE}))
    host.restrict(AccessRules(deny=frozenset({AccessEntry(AccessKind.PERSON, BOB)})))
    async with serving(slack, host):
        for button in ("Stop", platforms_texts.DECIDE_BUTTON):
            slack.state.ephemerals.clear()
            await slack.click(BOB, shown, button)
            await slack.until(lambda: slack.state.ephemerals)
            assert said_alone(slack) == [(BOB, reply_texts.NOT_ALLOWED["person"])]
        await slack.acked(await slack.click(ANN, shown, "Stop"))
        await slack.until(lambda: host.stopped)
    assert (len(host.stopped), host.asked_for_tools) == (1, [])


async def test_the_last_verdict_of_a_person_counts(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.click(ANN, shown, "Good answer")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.click(ANN, shown, "Bad answer")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert host.verdicts == {(7, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


@pytest.mark.parametrize("label", ["Good answer", "Regenerate", "Undo"])
async def test_what_is_not_known_any_more_is_said_to_be_so(slack: FakeSlack, label: str) -> None:
    host, shown = reply(slack, OFFERS | {ReplyAction.UNDO})
    host.replies.clear()
    async with serving(slack, host):
        await slack.click(ANN, shown, label)
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, platforms_texts.NO_SUCH_REPLY)]


@pytest.mark.parametrize("of_another", [False, True], ids=["forgotten", "of another reply now"])
async def test_a_page_whose_reply_is_not_known_any_more_is_deleted_for_its_asker(
    slack: FakeSlack, *, of_another: bool
) -> None:
    host, shown = reply(slack)
    other = replace(host.replies[0], channel=DM, conversation=f"{TEAM}:{DM}:{ROOT}", question="My secret?")
    host.replies = [other] if of_another else []
    async with serving(slack, host):
        await slack.click(ANN, shown, "Delete this reply")
        await slack.until(lambda: shown not in slack.state.messages)
    assert (host.deleted_replies, said_alone(slack)) == ([], [])


async def test_the_asker_has_a_reply_deleted_after_saying_that_they_are_sure(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        assert await slack.click(ANN, shown, "Delete this reply", sure=False) == ""
        await slack.click(ANN, shown, "Delete this reply")
        await slack.until(lambda: host.deleted_replies)
        await slack.settled()
    assert host.deleted_replies == [7]
    assert not slack.state.ephemerals


@pytest.mark.parametrize("form", ["rich_text", "markdown"])
async def test_the_line_and_the_button_of_what_was_taken_back_go_from_the_reply(slack: FakeSlack, form: str) -> None:
    host, shown = reply(slack, OFFERS | {ReplyAction.UNDO})
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
                {**section, "elements": [text, {**line, "text": "Undone: I no longer remember this."}]},
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
    host, shown = reply(slack, OFFERS | {ReplyAction.UNDO} | SCHEDULING)
    await scheduled(host)
    lines = ("Remembered: drinks tea", "Scheduled: Monday 24 November, 09:00 Europe/Berlin")
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
    assert (await host.store.schedules.of_person(f"{TEAM}:{ANN}"), host.taken_back) == ([], [])
    assert shown.blocks[0] == blocks["after"]
    assert labels(shown.blocks[1:], ANN) == [label for label in before if label not in {"Change", "Cancel"}]


async def test_the_window_below_a_reply_changes_its_schedule_and_answers_below_it(slack: FakeSlack) -> None:
    host, shown = reply(slack, OFFERS | SCHEDULING)
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
    host, shown = reply(slack, OFFERS | {ReplyAction.UNDO})
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Undo"))
        await slack.settled()
    assert (shown.edits, shown.text) == (0, "It is blue.")


async def test_what_was_remembered_is_taken_back_for_the_asker_and_nobody_else(slack: FakeSlack) -> None:
    host, shown = reply(slack, OFFERS | {ReplyAction.UNDO})
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Undo"))
        await slack.until(lambda: slack.state.ephemerals)
        assert host.taken_back == []
        await slack.acked(await slack.click(ANN, shown, "Undo"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert host.taken_back == [7]
    assert said_alone(slack)[1] == (ANN, "Undone: tea.")


def test_nobody_else_sees_the_sign_that_deletes(slack: FakeSlack) -> None:
    _, shown = reply(slack)
    assert "Delete this reply" in labels(shown.blocks, ANN)
    assert "Delete this reply" not in labels(shown.blocks, BOB)


async def test_somebody_elses_plain_button_that_deletes_is_refused_in_private(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    shown.blocks = blocks_below(OFFERS, 7, f"{TEAM}:{GENERAL}:{ROOT}", ReplyTo(GENERAL, ANN, ROOT), plain=True)
    async with serving(slack, host):
        await slack.click(BOB, shown, "Delete this reply")
        await slack.until(lambda: slack.state.ephemerals)
    assert [user for user, _ in said_alone(slack)] == [BOB]
    assert not host.deleted_replies


async def test_a_private_reply_that_is_deleted_goes_by_the_way_on_which_the_press_came(slack: FakeSlack) -> None:
    host, _ = reply(slack)
    host.replies = [replace(host.replies[0], conversation=PRIVATE)]
    blocks = blocks_below(OFFERS, 7, PRIVATE, ReplyTo(GENERAL, ANN, ROOT, private=True))
    alone = FakeEphemeral(GENERAL, ANN, "It is blue.", blocks)
    slack.state.ephemerals.append(alone)
    async with serving(slack, host):
        await slack.click(ANN, alone, "Delete this reply")
        await slack.until(lambda: not slack.state.ephemerals)
    assert host.deleted_replies == [7]


async def test_of_a_private_reply_of_several_pages_it_is_said_which_stay(slack: FakeSlack) -> None:
    host, _ = reply(slack)
    host.replies = [replace(host.replies[0], conversation=PRIVATE, pages=("@/7:0", "@/7:1"))]
    blocks = blocks_below(OFFERS, 7, PRIVATE, ReplyTo(GENERAL, ANN, ROOT, private=True))
    first, last = FakeEphemeral(GENERAL, ANN, "It is", []), FakeEphemeral(GENERAL, ANN, "blue.", blocks)
    slack.state.ephemerals += [first, last]
    async with serving(slack, host):
        await slack.click(ANN, last, "Delete this reply")
        await slack.until(lambda: last not in slack.state.ephemerals and len(slack.state.ephemerals) == 2)
    assert slack.state.ephemerals[1].text == platforms_texts.ONLY_THIS_PAGE
    assert host.deleted_replies == [7]


async def test_the_asker_has_the_question_answered_again_in_the_same_conversation(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    (taken,) = host.taken
    assert (taken.text, taken.conversation) == ("Which colour?", f"{TEAM}:{GENERAL}:{ROOT}")
    assert taken.place.audience == TeamAudience(TEAM)
    assert decode_reply_to(taken.reply_to) == ReplyTo(GENERAL, ANN, ROOT, after=shown.ts)


async def test_what_was_attached_to_the_question_comes_along(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    question = slack.state.write(ANN, GENERAL, "Which colour?", files=[slack.upload("boat.txt", b"blue")])
    shown.thread_ts = question.ts
    shown.blocks = blocks_below(OFFERS, 7, f"{TEAM}:{GENERAL}:{ROOT}", ReplyTo(GENERAL, ANN, question.ts))
    host.replies = [replace(host.replies[0], message_id=question.ts)]
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert [(file.name, file.author) for file in host.taken[0].files] == [("boat.txt", "ann")]


async def test_pressing_once_more_asks_nothing_and_says_so(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert len(host.taken) == 1
    assert said_alone(slack) == [(ANN, platforms_texts.ASKED_ALREADY)]


async def test_nobody_else_has_it_answered_again(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Regenerate"))
    assert not host.taken
    assert said_alone(slack) == [(BOB, reply_texts.NOT_YOURS)]


async def test_in_a_direct_message_the_place_is_the_person(slack: FakeSlack) -> None:
    host, shown = reply(slack, channel=DM)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert host.taken[0].place.audience == PersonAudience(f"{TEAM}:{ANN}")


async def test_a_question_from_before_a_channel_was_public_is_not_asked_again_in_public(slack: FakeSlack) -> None:
    host, shown = reply(slack, audience=label(GroupAudience(f"{TEAM}:{GENERAL}")))
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert not host.taken
    assert said_alone(slack) == [(ANN, reply_texts.MORE_PUBLIC)]


async def test_anybody_lets_a_cut_answer_go_on_in_their_own_name(slack: FakeSlack) -> None:
    host, shown = reply(slack, frozenset({ReplyAction.CONTINUE}))
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, "Continue"))
    (taken,) = host.taken
    assert (taken.text, taken.person.id, taken.conversation) == (
        platforms_texts.GO_ON,
        f"{TEAM}:{BOB}",
        f"{TEAM}:{GENERAL}:{ROOT}",
    )
    assert decode_reply_to(taken.reply_to).user == BOB


async def test_a_growing_answer_is_stopped_by_its_button(slack: FakeSlack) -> None:
    host, shown = reply(slack, frozenset({ReplyAction.STOP}))
    async with serving(slack, host):
        await slack.click(BOB, shown, "Stop")
        await slack.until(lambda: host.stopped)
    assert host.stopped == [f"{TEAM}:{GENERAL}:{ROOT}"]


async def test_what_could_not_be_stored_is_said(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    host.fail_next = StoreError("The disk is full.")
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
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(BOB, shown, name))
        assert host.verdicts == {(7, f"{TEAM}:{BOB}"): verdict}
        await slack.acked(await slack.react(BOB, shown, name, added=False))
    assert host.verdicts == {}
    assert not slack.state.ephemerals


async def test_of_several_reactions_the_last_one_added_counts(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, "+1"))
        await slack.acked(await slack.react(ANN, shown, "-1"))
        await slack.acked(await slack.react(ANN, shown, "+1", added=False))
    assert host.verdicts == {(7, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


async def test_a_reaction_that_is_taken_back_leaves_what_was_said_after_it(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, "+1"))
        await slack.click(ANN, shown, "Bad answer")
        await slack.until(lambda: slack.state.ephemerals)
        await slack.acked(await slack.react(ANN, shown, "+1", added=False))
    assert host.verdicts == {(7, f"{TEAM}:{ANN}"): ReplyVerdict.BAD}


async def test_a_wastebasket_of_the_asker_deletes_and_one_of_somebody_else_does_nothing(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(BOB, shown, "wastebasket"))
        assert not host.deleted_replies
        await slack.acked(await slack.react(ANN, shown, "wastebasket"))
    assert host.deleted_replies == [7]
    assert not slack.state.ephemerals


@pytest.mark.parametrize("name", ["eyes", "heart", "clap"])
async def test_other_reactions_say_nothing(slack: FakeSlack, name: str) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, shown, name))
    assert not host.verdicts


async def test_reactions_to_what_people_write_and_of_the_bot_itself_say_nothing(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    question = slack.state.write(ANN, GENERAL, "Which colour?")
    async with serving(slack, host):
        await slack.acked(await slack.react(ANN, question, "+1"))
        await slack.acked(await slack.react(BOT_USER, shown, "+1"))
    assert not host.verdicts


# What is kept of a question that was asked again


async def test_an_answer_to_a_repeated_question_can_be_repeated_too_but_not_for_ever(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    async with serving(slack, host):
        for number in range(1, MAX_REPEATS + 1):
            await slack.acked(await slack.click(ANN, shown, "Regenerate"))
            assert host.taken[-1].message_id == f"again:{ROOT}:{number}"
            host.replies = [replace(host.replies[0], message_id=host.taken[-1].message_id)]
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
    assert len(host.taken) == MAX_REPEATS
    assert said_alone(slack) == [(ANN, reply_texts.OFTEN_ENOUGH)]


async def test_a_repeated_question_is_edited_and_forgotten_with_the_message(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    root = slack.state.write(ANN, GENERAL, "Which colour?")
    host.replies = [replace(host.replies[0], message_id=root.ts)]
    event = {"type": "message", "channel": GENERAL, "previous_message": root.wire()}
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Regenerate"))
        (again,) = host.taken
        edited = {**event, "subtype": "message_changed", "message": {**root.wire(), "text": "Which shade?"}}
        await slack.acked(await slack.deliver(slack.envelope(edited)))
        gone = {**event, "subtype": "message_deleted", "deleted_ts": root.ts}
        await slack.acked(await slack.deliver(slack.envelope(gone)))
    assert host.amended == [(GENERAL, root.ts, "Which shade?"), (GENERAL, again.message_id, "Which shade?")]
    assert host.withdrawn == [(GENERAL, root.ts), (GENERAL, again.message_id)]


async def test_a_reply_of_which_somebody_deleted_a_page_is_forgotten(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "previous_message": shown.wire()}
    async with serving(slack, host):
        await slack.acked(await slack.deliver(slack.envelope({**event, "deleted_ts": shown.ts})))
        await slack.acked(await slack.deliver(slack.envelope({**event, "deleted_ts": ROOT})))
    assert host.deleted_replies == [7]


@pytest.mark.parametrize("label", ["Good answer", "Regenerate"])
async def test_a_button_from_before_the_database_was_replaced_says_nothing_of_its_numbers_new_reply(
    slack: FakeSlack, label: str
) -> None:
    host, shown = reply(slack)
    host.replies = [replace(host.replies[0], channel=DM, conversation=f"{TEAM}:{DM}:{ROOT}", question="My secret?")]
    async with serving(slack, host):
        await slack.click(ANN, shown, label)
        await slack.until(lambda: slack.state.ephemerals)
    assert said_alone(slack) == [(ANN, platforms_texts.NO_SUCH_REPLY)]
    assert (host.taken, host.deleted_replies, host.verdicts) == ([], [], {})


async def test_what_was_said_is_listened_to_again(slack: FakeSlack) -> None:
    host, shown = reply(slack)
    clip = {**slack.upload("clip.webm", b"sound", "audio/webm"), "subtype": "slack_audio"}
    question = slack.state.write(ANN, GENERAL, "", files=[clip])
    host.replies = [replace(host.replies[0], message_id=question.ts)]
    shown.blocks = blocks_below(OFFERS, 7, host.replies[0].conversation, ReplyTo(GENERAL, ANN, question.ts))
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
    host, shown = reply(slack)
    slack.state.channels[SECRET].members -= {BOB}
    host.replies = [replace(host.replies[0], conversation=conversation, person=f"{TEAM}:{BOB}")]
    shown.blocks = blocks_below(frozenset({ReplyAction(label.lower())}), 7, conversation, to)
    async with serving(slack, host):
        await slack.acked(await slack.click(BOB, shown, label))
        await slack.until(lambda: slack.state.ephemerals)
    assert not host.taken


async def test_a_button_works_for_members_of_a_private_channel_and_not_after_they_left(slack: FakeSlack) -> None:
    host, shown = reply(slack, frozenset({ReplyAction.CONTINUE}), SECRET)
    async with serving(slack, host):
        await slack.acked(await slack.click(ANN, shown, "Continue"))
        slack.state.channels[SECRET].members -= {BOB}
        await slack.acked(await slack.click(BOB, shown, "Continue"))
        await slack.until(lambda: slack.state.ephemerals)
    assert [taken.person.id for taken in host.taken] == [f"{TEAM}:{ANN}"]
    assert said_alone(slack) == [(BOB, platforms_texts.NOT_ASKED_THERE)]
