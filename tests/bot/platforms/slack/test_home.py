"""The Home tab: what a person sees, what the host receives from its buttons, and that Slack accepts the view."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.errors import StoreError, StoreUnavailable
from agent.memory.audience import GroupAudience, TeamAudience, label
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import PAUSE, PAUSED, Preview
from agent.shown_replies import DELETE_REPLY
from agent.spending import NANO, Money
from bot.budgets.budgets import Budget, Budgets
from bot.budgets.commands import CHANGE
from bot.chat.access.acl import AccessRules
from bot.chat.texts import replies as reply_texts
from bot.forgetting import texts as forgetting_texts
from bot.memory import texts as memory_texts
from bot.memory.commands import FILE_NAME
from bot.memory.listing import PAGE
from bot.memory.policy_commands import NO_COLON, NUMBER, REMOVE_POLICY, SET_POLICY
from bot.models.service import MODEL
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import home
from bot.platforms.slack.home import pages_of
from store.erased_ids import ErasedIds
from store.forgetting.sql_forgetting import SqlForgetting
from store.memory.fact_store import SqlFacts
from tests.fakes.clock import NOON
from tests.fakes.fast_clock import MovedClock
from tests.fakes.incoming import said
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault, limited
from tests.fakes.slack_home import HomeTab, fill_in
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import KEY, store_in_memory

FORMS = [CHANGE, SET_POLICY, REMOVE_POLICY]  # Of those who decide for others

ANN, BOB, SECRET, DM = "U0ANN", "U0BOB", "C0SECRET", "D0ANN"
PERSON = f"slack:T0TEAM:{ANN}"
DAY = datetime(2026, 1, 2, tzinfo=UTC)
HEADING = "What I remember about you:"
BOAT, TEA = "The boat is blue.", "I drink tea."


async def knowing(*, pages: int = 1) -> RecordingHost:
    """A host that knows two things about ann, of which it may use the second everywhere; they begin the last page."""
    host = recording_host()
    for number in range(PAGE * (pages - 1)):
        await host.know(PERSON, f"Oar {number} is red.", DAY)
    await host.know(PERSON, BOAT, DAY)
    await host.know(PERSON, TEA, DAY, everywhere=True)
    return host


@pytest.fixture
def ann(slack: FakeSlack) -> HomeTab:
    return HomeTab(slack, ANN)


# What is seen


async def test_a_new_person_reads_what_it_is_how_to_begin_and_how_to_stop_it(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, recording_host()):
        await ann.opened()
    beginning = ann.text.splitlines()[:3]
    assert beginning[0].startswith("I am *@cogency*")
    assert beginning[1].startswith("To start")
    assert "turn learning off" in beginning[2]


async def test_somebody_who_is_known_is_not_welcomed_again(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, await knowing()):
        await ann.opened()
    assert "To start" not in ann.text


async def test_each_entry_stands_with_its_source_and_its_buttons(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, await knowing(pages=2)):
        await ann.opened()
        assert ann.labels[PAGE * 3 : PAGE * 3 + 3] == ["Next page", "Stop learning", "Export as a file"]
        await ann.click("Next page")
        await ann.changed("Page 2 of 2")
    assert "*7* The boat is blue. (<https://chat.example/6|2026-01-02>, in a direct message)" in ann.text
    assert ann.labels[:9] == [
        *("Delete", "Correct", "Use everywhere"),
        *("Delete", "Correct", "Stop using everywhere"),
        "Earlier page",
        *("Stop learning", "Export as a file"),
    ]


async def test_usage_budget_model_and_what_holds_for_everybody_stand_there(slack: FakeSlack, ann: HomeTab) -> None:
    host, boss = await knowing(), slack.state.user("boss", is_admin=True)
    async with serving(slack, host):
        await slack.command(boss, "C0GENERAL", "/policy", "set tea: at five")
        await slack.until(lambda: slack.state.ephemerals)
        await ann.opened()
    assert BOAT in ann.text  # which she said to the bot alone
    assert "You have not asked anything this month." in ann.text
    assert "Your usage today (UTC): 0 tokens (no limit), $0 (no limit)." in ann.text
    assert "`ollama:usual` answers you here" in ann.text
    assert "*3* tea: at five" in ann.text
    assert "For operators" not in ann.text
    assert not {kind.label for kind in FORMS} & {*ann.labels}


async def test_operators_see_how_the_bot_does_and_change_budgets_and_policies(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, recording_host(operators={PERSON})):
        await slack.command(ANN, "C0GENERAL", "/policy", "set tea: at five")
        await slack.until(lambda: slack.state.ephemerals)
        await ann.opened()
    assert "For operators\n*Now*: 0 answers in progress, 0 waiting." in ann.text
    assert {kind.label for kind in FORMS} <= {*ann.labels}


async def test_admins_set_policies_and_guests_do_not_see_them(slack: FakeSlack) -> None:
    boss, guest = slack.state.user("boss", is_admin=True), slack.state.user("guest", is_restricted=True)
    bosss, guests = HomeTab(slack, boss), HomeTab(slack, guest)
    async with serving(slack, recording_host()):
        await bosss.opened()
        await guests.opened()
    assert "Set a policy…" in bosss.labels
    assert "Change a budget…" not in bosss.labels
    assert "Policies for everyone" not in guests.text


async def test_a_burst_of_openings_shows_it_once_and_a_later_one_anew(slack: FakeSlack, ann: HomeTab) -> None:
    clock = MovedClock(speed=1.0)
    async with serving(slack, recording_host(), clock):
        for _ in range(5):
            await ann.open()
        await slack.until(lambda: ann.published)
        await slack.settled()
        assert ann.published == 1
        clock.ahead_s = home.BURST_S
        await ann.opened()
    assert ann.published == 2


async def test_the_messages_tab_shows_no_home(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, recording_host()):
        event = {"type": "app_home_opened", "user": ANN, "tab": "messages", "channel": DM}
        await slack.acked(await slack.deliver(slack.envelope(event)))
        await ann.opened()
    assert ann.published == 1


# Memory


@pytest.mark.parametrize(
    ("label", "number", "outcome"),
    [
        ("Delete", 0, f"Deleted entry 7, “{BOAT}”."),
        ("Use everywhere", 0, "From now on, I use this entry in all my replies to you"),
        ("Stop using everywhere", 0, memory_texts.USED_HERE),
    ],
)
async def test_what_a_button_did_stands_above_the_page_that_is_shown_anew(
    slack: FakeSlack, ann: HomeTab, label: str, number: int, outcome: str
) -> None:
    host = await knowing(pages=2)
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Next page")
        await ann.changed(BOAT)
        await ann.click(label, number)
        await ann.changed(outcome)
    assert ann.text.count(HEADING) == 1
    assert ann.text.index(outcome) < ann.text.index(TEA)
    assert pages_of(ann.view["private_metadata"])["memory"] == 2
    assert (BOAT in host.known(PERSON)) is (label != "Delete")
    assert not slack.state.ephemerals


async def test_another_page_of_the_list_stays_when_the_tab_is_opened_again(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, await knowing(pages=3)):
        await ann.opened()
        for page in (2, 3):
            await ann.click("Next page")
            await ann.changed(f"Page {page} of 3")
        await slack.clock.sleep(home.BURST_S)
        await ann.opened()
    assert BOAT in ann.text


async def test_a_correction_is_typed_into_a_window_and_its_outcome_shown_in_the_tab(
    slack: FakeSlack, ann: HomeTab
) -> None:
    host = await knowing()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Correct", 1)
        await slack.until(lambda: slack.state.views)
        assert await fill_in(slack, ANN, slack.state.views[0], words="I drink green tea.") == {}
        await ann.changed("Corrected")
    assert sorted(host.known(PERSON)) == ["I drink green tea.", BOAT]
    assert not slack.state.ephemerals


async def test_learning_is_stopped_below_the_page_that_is_shown(slack: FakeSlack, ann: HomeTab) -> None:
    host = await knowing(pages=2)
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Next page")
        await ann.changed(BOAT)
        await ann.click("Stop learning")
        await ann.changed(memory_texts.LEARNING_OFF)
    assert (ann.text.count(HEADING), BOAT in ann.text) == (1, True)
    assert host.store.chosen[PERSON][PAUSE] == PAUSED


async def test_learning_is_paused_and_taken_up_again_by_the_same_place(slack: FakeSlack, ann: HomeTab) -> None:
    host = await knowing()
    await host.preferences.set(PERSON, PAUSE, PAUSED)
    async with serving(slack, host):
        await ann.opened()
        assert memory_texts.LEARNING_OFF in ann.text
        await ann.click("Resume learning")
        await ann.changed(memory_texts.LEARNING_ON)
    assert host.store.chosen[PERSON][PAUSE] != PAUSED


async def test_whom_the_bot_does_not_answer_reads_why_and_is_invited_to_nothing(slack: FakeSlack) -> None:
    guest = HomeTab(slack, slack.state.user("guest", is_restricted=True))
    async with serving(slack, recording_host(access=AccessRules())):
        await guest.opened()
    assert guest.text.startswith("Guests cannot use me here")
    assert len(guest.view["blocks"]) == 1


async def test_an_export_goes_to_the_direct_messages(slack: FakeSlack, ann: HomeTab) -> None:
    host = await knowing()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Export as a file")
        await ann.changed(platforms_texts.EXPORT_SENT)
    ((channel, name, content),) = slack.state.files
    assert (channel, name) == (DM, FILE_NAME)
    assert [fact["text"] for fact in json.loads(content)["facts"]] == [BOAT, TEA]


# Forgetting


@pytest.mark.parametrize(
    ("label", "question"),
    [
        ("The last 2 hours…", "I will forget what you said everywhere from"),
        ("Today…", "I will forget what you said everywhere from"),
        ("Everything…", "I will forget everything that you told me"),
    ],
)
@pytest.mark.parametrize("ticked", [False, True])
async def test_nothing_is_erased_before_it_was_shown_and_agreed_to(
    slack: FakeSlack, ann: HomeTab, label: str, question: str, ticked: bool
) -> None:
    """Replies go, too, unless the person ticks that they stay."""
    host, shown = recording_host(), slack.state.write(BOT_USER, DM, "It is blue.")
    asked = replace(said("Which colour?", person=PERSON), source="slack:T0TEAM", channel=DM, time=NOON)
    await host.store_reply(asked, shown.ts)
    async with serving(slack, host):
        await ann.opened()
        await ann.click(label)
        await ann.changed(question)
        assert len(host.texts) == 1
        await ann.click("Forget", ticked=ticked)
        await ann.changed("1 message of mine stays" if ticked else "I am also deleting 1 message of mine")
    assert not host.texts
    pages = [job for (kind, _), job in host.store.waiting_jobs.items() if kind == DELETE_REPLY]
    assert any(shown.ts in job.payload for job in pages) is not ticked
    assert "I will forget" not in ann.text


async def test_whoever_keeps_everything_forgets_nothing(slack: FakeSlack, ann: HomeTab) -> None:
    host = await knowing()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Everything…")
        await ann.changed("I will forget everything that you told me")
        await ann.click("Keep everything")
        await ann.changed(forgetting_texts.FORGET_DECLINED)
    assert sorted(host.known(PERSON)) == [TEA, BOAT]


@pytest.mark.parametrize(
    ("filled", "ticked"),
    [
        ({"words": "boat"}, False),
        ({"words": "about boat", "scope": "about"}, False),
        ({"words": "since 1 January", "scope": "time", "keep_replies": "yes"}, True),
    ],
)
async def test_what_to_forget_is_said_in_a_window(
    slack: FakeSlack, ann: HomeTab, filled: dict[str, str], ticked: bool
) -> None:
    host = await knowing()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Something else…")
        await slack.until(lambda: slack.state.views)
        await fill_in(slack, ANN, slack.state.views[0], **filled)
        await ann.changed("This cannot be undone.")
        boxes = [one for block in ann.view["blocks"] for one in block.get("elements", []) if "options" in one]
        assert [("initial_options" in box) for box in boxes if box["type"] == "checkboxes"] == [ticked]
    assert ("mentions “boat”" in ann.text) is not ticked
    assert sorted(host.known(PERSON)) == [TEA, BOAT]


# The model


async def test_another_model_is_chosen_in_the_menu_and_the_usual_one_again(slack: FakeSlack, ann: HomeTab) -> None:
    host = recording_host()
    async with serving(slack, host):
        await ann.opened()
        await ann.choose("ollama:other")
        await ann.changed("`ollama:other` answers you")
        await ann.choose(reply_texts.USUAL)
        await ann.changed("`ollama:usual` answers you")
    assert MODEL not in host.store.chosen.get(PERSON, {})


async def test_without_a_choice_there_is_no_menu(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, recording_host(models=())):
        await ann.opened()
    assert "static_select" not in str(ann.view)
    assert "There is no other model to choose." in ann.text


# Windows


async def test_an_operator_changes_somebodys_budget_in_a_window(slack: FakeSlack, ann: HomeTab) -> None:
    limit = Budget(money=Money(5 * NANO))
    host = recording_host(operators={PERSON}, budgets=Budgets(person=limit, everyone=limit))
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Change a budget…")
        await slack.until(lambda: slack.state.views)
        window, before = slack.state.views[0], ann.published
        for filled, field in (
            ({"amount": "$20"}, "person"),
            ({"amount": "a lot", "whose": "everyone"}, "amount"),
            ({"amount": "$20", "whose": "channel"}, "channel"),
        ):
            answer = await fill_in(slack, ANN, window, **filled)
            assert answer["response_action"] == "errors"
            assert [*answer["errors"]] == [field]
        assert await fill_in(slack, ANN, window, whose="person", person=BOB, amount="$20") == {}
        await slack.until(lambda: ann.published > before)
        await fill_in(slack, ANN, window, whose="everyone", amount="reset")
        await slack.until(lambda: ann.published > before + 1)
    assert host.store.chosen[f"slack:T0TEAM:{BOB}"] == {"budget.money": str(20 * NANO)}


async def test_a_policy_is_set_for_all_public_channels_or_for_a_private_one_of_the_person(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.add(boss)
    bosss, host = HomeTab(slack, boss), recording_host()
    async with serving(slack, host):
        await bosss.opened()
        await bosss.click("Set a policy…")
        await slack.until(lambda: slack.state.views)
        window = slack.state.views[0]
        assert (await fill_in(slack, boss, window, name="a: b", text="x"))["errors"] == {"name": NO_COLON}
        await fill_in(slack, boss, window, name="budget", text="at most 50 EUR")
        await slack.until(lambda: len(host.store.facts_kept) == 1)
        await fill_in(slack, boss, window, text="speak French", place=SECRET)
        await slack.until(lambda: len(host.store.facts_kept) == 2)
    assert [(policy.audience, policy.text, policy.authority) for policy in host.store.facts_kept] == [
        (label(TeamAudience("slack:T0TEAM")), "budget: at most 50 EUR", Authority.ADMIN),
        (label(GroupAudience(f"slack:T0TEAM:{SECRET}")), "speak French", Authority.ADMIN),
    ]


async def test_a_channel_that_the_person_cannot_read_gets_no_policy(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.discard(boss)
    bosss, host = HomeTab(slack, boss), recording_host()
    async with serving(slack, host):
        await bosss.opened()
        await bosss.click("Set a policy…")
        await slack.until(lambda: slack.state.views)
        await fill_in(slack, boss, slack.state.views[0], text="x", place=SECRET)
        await bosss.changed(platforms_texts.NOT_CHANGED_THERE)
    assert not host.store.facts_kept


async def test_a_policy_is_removed_by_its_number(slack: FakeSlack, ann: HomeTab) -> None:
    host = recording_host(operators={PERSON})
    async with serving(slack, host):
        for words in ("set tea: at five", "set speak French"):
            await slack.command(ANN, "C0GENERAL", "/policy", words)
            await slack.settled()
        await ann.opened()
        await ann.click("Remove a policy…")
        await slack.until(lambda: slack.state.views)
        window = slack.state.views[0]
        assert (await fill_in(slack, ANN, window, number="three"))["errors"] == {"number": NUMBER}
        await fill_in(slack, ANN, window, number="1")
        await slack.until(lambda: host.known("") == ["speak French"])


# What goes wrong


async def test_what_goes_wrong_is_one_sentence_where_it_was_asked(slack: FakeSlack, ann: HomeTab) -> None:
    class Unreadable(SqlForgetting):
        async def preview(self, *wished: Any) -> Preview:  # noqa: ARG002 -- it fails for everything
            raise StoreError("The disk is full.")

    store = store_in_memory()
    async with serving(slack, recording_host(replace(store, forgetting=Unreadable(store.database, ErasedIds(KEY))))):
        await ann.opened()
        await ann.click("Everything…")
        await ann.changed("The disk is full.")
    lines = ann.text.splitlines()
    assert (
        lines.index("Forget what you told me") < lines.index("The disk is full.") < lines.index("Your usage and budget")
    )
    assert not slack.state.ephemerals


async def test_while_nothing_can_be_looked_up_the_tab_says_so_and_offers_to_try_again(
    slack: FakeSlack, ann: HomeTab
) -> None:
    class Away(SqlFacts):
        failures = 1

        async def readable(self, *whose: Any) -> list[Fact]:
            if self.failures:
                self.failures -= 1
                raise StoreUnavailable("The database is away.")
            return await SqlFacts.readable(self, *whose)

    store = store_in_memory()
    async with serving(slack, recording_host(replace(store, facts=Away(store.database)))):
        await ann.opened()
        assert ann.text == platforms_texts.UNAVAILABLE
        await ann.click("Try again")
        await ann.changed("What I remember about you")


async def test_a_tab_that_slack_refuses_harms_nothing_else(slack: FakeSlack, ann: HomeTab) -> None:
    host = recording_host()
    async with serving(slack, host):
        slack.faults["views.publish"].append(Fault(error="not_enabled"))
        await ann.open()
        await slack.say(ANN, DM, "hello")
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not slack.faults["views.publish"])
    assert ANN not in slack.state.homes


async def test_a_tab_that_slack_puts_off_is_shown_later(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, recording_host()):
        slack.faults["views.publish"].append(limited(2))
        await ann.opened()
    assert "What I remember about you" in ann.text


async def test_of_many_clicks_at_once_the_last_view_shows_what_all_of_them_did(slack: FakeSlack, ann: HomeTab) -> None:
    host = recording_host(models=("ollama:usual", *(f"ollama:{number}" for number in range(9))))
    async with serving(slack, host):
        await ann.opened()
        async with asyncio.TaskGroup() as clicking:
            for number in range(9):
                clicking.create_task(ann.choose(f"ollama:{number}"))
        await slack.until(lambda: ann.published == 10)
    assert f"`{host.store.chosen[PERSON][MODEL]}` answers you" in ann.text
