"""Forgetting as only Slack has it; what is the same on each platform is in `test_forgetting`."""

from datetime import timedelta
from pathlib import Path

from bot.chat.access.place_rules import place_owner
from bot.forgetting import texts as forgetting_texts
from bot.platforms import texts as platforms_texts
from tests.fakes.slack_clicks import labels
from tests.fakes.slack_home import HomeTab
from tests.fakes.slack_things import BOT_USER, FakeEphemeral
from tests.flows.forgetting_bot import found_by, holds
from tests.flows.test_forgetting import AYE, FOUND, Talk, held_talk, talk_in, talking
from tests.flows.worlds import SLACK_ASKER, SLACK_DM, SLACK_GENERAL, Page, SlackPage, SlackWorld, in_slack

ANN, GENERAL, DM = SLACK_ASKER, SLACK_GENERAL, SLACK_DM


def ephemeral(page: Page) -> FakeEphemeral:
    assert isinstance(page, SlackPage)
    assert isinstance(page.message, FakeEphemeral)
    return page.message


async def tell(talk: Talk[SlackWorld], **event: object) -> None:
    await talk.world.slack.deliver(talk.world.slack.envelope(event))
    await talk.world.slack.settled()


async def test_where_slack_lets_nothing_be_replaced_the_command_says_once_how_far_it_is(tmp_path: Path) -> None:
    async with held_talk(in_slack, tmp_path) as (talk, held):
        shown = talk.world.slack.state.ephemerals
        waiting = ephemeral(await talk.forget("about canoe"))
        assert labels(waiting.blocks, ANN) == ["Stop"]
        held.go_on.set()
        await talk.world.until(lambda: len(shown) == 2)
        assert shown[-1].text.startswith(FOUND)
        await talk.world.slack.click(ANN, waiting, "Stop")
        await talk.world.until(lambda: waiting.text == forgetting_texts.NOTHING_SOUGHT)


async def test_a_command_whose_search_was_stopped_ends_by_saying_so(tmp_path: Path) -> None:
    async with held_talk(in_slack, tmp_path) as (talk, held):
        waiting = await talk.forget("about canoe")
        assert (await talk.press(waiting, "Stop")).startswith(forgetting_texts.FORGET_STOPPED)
        held.go_on.set()
        shown = talk.world.slack.state.ephemerals
        await talk.world.until(lambda: [one.text for one in shown] == [forgetting_texts.FORGET_STOPPED] * 2)


async def test_what_a_button_began_is_shown_in_its_place(tmp_path: Path) -> None:
    async with held_talk(in_slack, tmp_path) as (talk, held):
        panel = ephemeral(await talk.forget(""))
        await talk.world.slack.click(ANN, panel, "Today…")
        await talk.world.until(lambda: "7,000 messages found so far" in panel.text)
        held.go_on.set()
        await talk.world.until(lambda: panel.text.startswith(FOUND))
        assert talk.world.slack.state.ephemerals == [panel]


async def test_a_message_that_began_a_thread_leaves_a_stone_in_slack_and_nothing_with_the_bot(tmp_path: Path) -> None:
    async with talking(in_slack, tmp_path) as talk:
        asked = await talk.ask("my canoe is vermilion")
        stone = {"subtype": "tombstone", "ts": asked.id, "user": "USLACKBOT", "text": "This message was deleted."}
        changed = {"type": "message", "subtype": "message_changed", "channel": GENERAL}
        before = {"type": "message", "user": ANN, "text": asked.text, "ts": asked.id}
        await tell(talk, **changed, message=stone, previous_message=before)
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion")


async def test_a_private_answer_in_direct_messages_goes(tmp_path: Path) -> None:
    """It is there where Slack shows no ephemeral message any more."""
    async with talking(in_slack, tmp_path) as talk:
        slack = talk.world.slack
        slack.refusing["chat.postEphemeral", GENERAL] = "user_not_in_channel"
        slack.expiring = True
        await talk.world.ask_privately("my canoe is vermilion")
        await talk.world.until(lambda: [page.text for page in talk.world.direct()] == [AYE])
        await talk.idle()
        slack.refusing.clear()
        slack.expiring = False
        receipt = await talk.press(await talk.forget("about canoe"), "Forget")
        assert "stays until you dismiss it" not in receipt
        assert "I am also deleting 1 message of mine" in receipt
        await talk.world.until(lambda: not talk.world.direct())


async def test_a_reply_that_was_left_when_its_words_were_forgotten_can_still_be_deleted_by_its_asker(
    tmp_path: Path,
) -> None:
    async with talking(in_slack, tmp_path) as talk:
        first = await talk.ask("my canoe is vermilion")
        (left,) = talk.world.answers(first)
        await talk.press(await talk.forget("about canoe"), "Forget", keep_replies=True)
        await talk.world.press(left, platforms_texts.DELETE_BUTTON)
        await talk.world.until(lambda: not talk.world.answers(first))


# Places that go


async def test_with_a_deleted_private_channel_goes_what_was_said_in_it(tmp_path: Path) -> None:
    async with talking(in_slack, tmp_path) as talk:
        slack = talk.world.slack
        there = slack.state.channel("harbour", "private")
        await slack.say(ANN, there, f"<@{BOT_USER}> note The canoe is vermilion")
        await talk.world.until(lambda: slack.state.answers(there))
        await talk.idle()
        await talk.ask("my canoe is turquoise")
        assert await talk.finds("vermilion", direct=True)
        del slack.state.channels[there]
        await tell(talk, type="group_deleted", channel=there)
        await talk.gone("vermilion")
        assert not await talk.finds("vermilion", direct=True)
        assert await talk.finds("turquoise")


async def test_where_a_private_channel_gets_another_id_its_settings_hold_and_nothing_from_before_is_found(
    tmp_path: Path,
) -> None:
    """Slack does so once another company is invited: what was said before is not for these people."""
    async with talking(in_slack, tmp_path) as talk:
        slack, preferences = talk.world.slack, talk.host.preferences
        there, new = slack.state.channel("harbour", "private"), "C0RENUMBERED"
        asked = await slack.say(ANN, there, f"<@{BOT_USER}> note The canoe is vermilion")
        await talk.world.until(lambda: slack.state.answers(there))
        await talk.idle()
        await preferences.set(place_owner(there), "pause learning", "now")
        slack.state.invite_company(there, new)
        await tell(talk, type="channel_id_changed", old_channel_id=there, new_channel_id=new)
        assert await preferences.all_of(place_owner(new)) == {"pause learning": "now"}
        before = len(talk.model.requests)
        await slack.say(ANN, new, f"<@{BOT_USER}> find canoe")
        await talk.world.until(lambda: slack.state.answers(new)[1:])
        await talk.idle()
        assert "vermilion" not in found_by(talk.model, before)
        assert not await talk.finds("vermilion", direct=True)
        assert holds(tmp_path, "The canoe is vermilion")
        gone = {"type": "message", "user": ANN, "text": asked.text, "ts": asked.ts}
        await tell(
            talk,
            type="message",
            subtype="message_deleted",
            channel=new,
            channel_type="group",
            deleted_ts=asked.ts,
            previous_message=gone,
        )
        await talk.gone("The canoe is vermilion")


async def test_what_was_said_in_a_workspace_goes_a_while_after_the_bot(tmp_path: Path) -> None:
    async with talking(in_slack, tmp_path) as talk:
        await talk.ask("my canoe is vermilion")
        await talk.write("my kayak is turquoise")
        await tell(talk, type="app_uninstalled")
        talk.world.clock.leap(talk.host.forgetting.grace - timedelta(days=1))
        assert all(holds(tmp_path, words) for words in ("vermilion", "turquoise"))
        talk.world.clock.leap(timedelta(days=2))
        await talk.gone("vermilion")
        await talk.gone("turquoise")
        assert not talk.world.slack.sockets, "it is not served any more"


async def test_a_bot_that_is_back_in_its_workspace_keeps_what_was_said_there(tmp_path: Path) -> None:
    async with talk_in(in_slack, tmp_path) as talk:
        async with talk.world.serving(talk.host):
            await talk.ask("my canoe is vermilion")
            await tell(talk, type="app_uninstalled")
            assert holds(tmp_path, "forget_gone")
        async with talk.world.serving(talk.host):
            assert not holds(tmp_path, "forget_gone")
            talk.world.clock.leap(talk.host.forgetting.grace + timedelta(days=1))
            assert await talk.finds("vermilion")


# What Slack shows of it beside the messages


async def test_the_home_tab_follows_at_once(tmp_path: Path) -> None:
    async with talking(in_slack, tmp_path) as talk:
        home = HomeTab(talk.world.slack, ANN)
        await talk.ask("note The canoe is called Ondine")
        await home.opened()
        assert "Ondine" in home.text
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: "Ondine" not in home.text)


async def test_a_title_that_a_person_gave_stays(tmp_path: Path) -> None:
    async with talking(in_slack, tmp_path) as talk:
        asked = await talk.ask("my canoe is vermilion")
        talk.world.titled(asked)
        other = talk.world.titled(await talk.ask("my kayak is turquoise"))
        named = talk.world.slack.state.agents.sessions[GENERAL, asked.id]
        named.title = "Boats"
        about = {"channel": GENERAL, "thread_ts": asked.id, "title": "Boats", "user": ANN}
        await tell(talk, type="agent_session_title_changed", **about)
        await talk.press(await talk.forget("everything"), "Forget")
        await talk.world.until(lambda: other() == "Forgotten")
        assert named.title == "Boats"
