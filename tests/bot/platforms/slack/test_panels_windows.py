"""Windows below a command's answer: who is offered which, and that their answer replaces the command's."""

from typing import Any

import pytest

from agent.memory.audience import GroupAudience, TeamAudience, label
from bot.budgets.commands import CHANGE
from bot.chat.access.place_rules import rules_at
from bot.chat.texts import replies as reply_texts
from bot.feedback import texts as feedback_texts
from bot.memory.policy_commands import REMOVE_POLICY, SET_POLICY
from bot.platforms import texts as platforms_texts
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_home import fill_in
from tests.fakes.slack_things import FakeEphemeral

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
TEAM = "slack:T0TEAM"


def labels(ephemeral: FakeEphemeral) -> list[str]:
    buttons: list[Any] = [one for block in ephemeral.blocks if block["type"] == "actions" for one in block["elements"]]
    return [button["text"]["text"] for button in buttons]


async def said(slack: FakeSlack, user: str, channel: str, command: str, words: str = "") -> FakeEphemeral:
    before = len(slack.state.ephemerals)
    await slack.command(user, channel, command, words)
    await slack.until(lambda: len(slack.state.ephemerals) > before)
    return slack.state.ephemerals[-1]


async def test_an_operator_is_offered_the_window_for_budgets_where_nothing_was_said(slack: FakeSlack) -> None:
    host = recording_host(operators={f"{TEAM}:{ANN}"})
    async with serving(slack, host):
        assert labels(await said(slack, ANN, GENERAL, "/budget")) == [CHANGE.label]
        assert labels(await said(slack, ANN, GENERAL, "/budget", "everyone $20")) == []
        assert labels(await said(slack, BOB, GENERAL, "/budget")) == []


async def test_admins_are_offered_the_windows_for_policies_where_nothing_was_said(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    async with serving(slack, recording_host()):
        await said(slack, boss, GENERAL, "/policy", "set tea: at five")
        assert labels(await said(slack, boss, GENERAL, "/policy")) == [SET_POLICY.label, REMOVE_POLICY.label]
        assert labels(await said(slack, boss, GENERAL, "/policy", "list")) == []
        assert labels(await said(slack, ANN, GENERAL, "/policy")) == []


async def test_where_nothing_is_set_there_is_no_button_to_remove_it(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    async with serving(slack, recording_host()):
        assert labels(await said(slack, boss, GENERAL, "/policy")) == [SET_POLICY.label]


@pytest.mark.parametrize(
    ("channel", "audience"),
    [(GENERAL, TeamAudience(TEAM)), (SECRET, GroupAudience(f"{TEAM}:{SECRET}"))],
)
async def test_a_window_below_a_command_counts_where_the_command_was_written(
    slack: FakeSlack, channel: str, audience: TeamAudience | GroupAudience
) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[channel].members.add(boss)
    host = recording_host()
    async with serving(slack, host):
        ephemeral = await said(slack, boss, channel, "/policy")
        await slack.click(boss, ephemeral, SET_POLICY.label)
        await slack.until(lambda: slack.state.views)
        (view,) = slack.state.views
        assert [block["block_id"] for block in view["blocks"]] == ["name", "text"]
        await fill_in(slack, boss, view, name="budget", text="at most 50 EUR")
        await slack.until(lambda: ephemeral.text.startswith("Policy set."))
        await slack.until(lambda: labels(ephemeral) == [])
    (policy,) = host.store.facts_kept
    assert (policy.key, policy.value, policy.audience) == ("budget", "at most 50 EUR", label(audience))
    assert len(slack.state.ephemerals) == 1


async def test_a_window_counts_no_more_for_who_has_left_the_private_channel_meanwhile(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.add(boss)
    host = recording_host()
    async with serving(slack, host):
        ephemeral = await said(slack, boss, SECRET, "/policy")
        await slack.click(boss, ephemeral, SET_POLICY.label)
        await slack.until(lambda: slack.state.views)
        slack.state.channels[SECRET].members.remove(boss)
        await fill_in(slack, boss, slack.state.views[0], name="budget", text="at most 50 EUR")
        await slack.until(lambda: platforms_texts.NOT_CHANGED_THERE in slack.state.ephemerals[-1].text)
    assert host.store.facts_kept == []


async def test_a_button_shows_nothing_of_a_private_channel_to_who_has_left_it(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.add(boss)
    host = recording_host()
    async with serving(slack, host):
        ephemeral = await said(slack, boss, SECRET, "/feedback")
        slack.state.channels[SECRET].members.remove(boss)
        await slack.click(boss, ephemeral, feedback_texts.LIST_BUTTON)
        await slack.until(lambda: platforms_texts.NOT_ASKED_THERE in slack.state.ephemerals[-1].text)
        assert not any(feedback_texts.LIST_HERE in one.text for one in slack.state.ephemerals)


async def test_a_window_of_a_channels_settings_sets_nothing_for_who_has_left_it(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.add(boss)
    host = recording_host()
    async with serving(slack, host):
        ephemeral = await said(slack, boss, SECRET, "/channel")
        await slack.click(boss, ephemeral, "Instructions…")
        await slack.until(lambda: slack.state.views)
        slack.state.channels[SECRET].members.remove(boss)
        await fill_in(slack, boss, slack.state.views[0], instructions="Say yes to everything.")
        await slack.until(lambda: platforms_texts.NOT_CHANGED_THERE in slack.state.ephemerals[-1].text)
    assert "Say yes" not in str((await rules_at(host.store.preferences, TEAM, SECRET)).chosen)


async def test_the_windows_open_for_nobody_else(slack: FakeSlack) -> None:
    host = recording_host(operators={f"{TEAM}:{ANN}"})
    async with serving(slack, host):
        ephemeral = await said(slack, ANN, GENERAL, "/budget")
        await slack.click(BOB, ephemeral, CHANGE.label)
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert (slack.state.ephemerals[-1].user, slack.state.ephemerals[-1].text) == (BOB, reply_texts.NOT_YOURS)
    assert not slack.state.views
