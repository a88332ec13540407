"""The Home tab: what a person sees, what the host receives from its buttons, and that Slack accepts the view."""

import asyncio

import pytest

from agent.admission_terms import Authority
from agent.errors import StoreError, StoreUnavailable
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience
from agent.memory.forgetting_plans import PAUSE, PAUSED
from bot.budgets.commands import CHANGE
from bot.chat.access.acl import AccessRules
from bot.chat.texts import replies as reply_texts
from bot.forgetting import texts as forgetting_texts
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.commands import FILE_NAME
from bot.memory.policy_commands import NO_COLON, NUMBER, REMOVE_POLICY, SET_POLICY
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import home
from bot.platforms.slack.home import pages_of
from tests.fakes.fast_clock import MovedClock
from tests.fakes.host import FakeHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault, limited
from tests.fakes.slack_home import HomeTab, fill_in

FORMS = [CHANGE, SET_POLICY, REMOVE_POLICY]  # Of those who decide for others

ANN, BOB, SECRET, DM = "U0ANN", "U0BOB", "C0SECRET", "D0ANN"
PERSON = f"slack:T0TEAM:{ANN}"
BOAT = ShownEntry("f:7", 1, "The boat is blue.", "[2026-01-02](https://slack.example/p1)", may_go_everywhere=True)
TEA = ShownEntry("p:3", 4, "Preference: tea", "2026-01-02", everywhere=True, plain="tea")
HEADING = "What I remember about you:"
LIST = MemoryAnswer(HEADING, (BOAT, TEA), page=2, pages=3)


@pytest.fixture
def ann(slack: FakeSlack) -> HomeTab:
    return HomeTab(slack, ANN)


# What is seen


async def test_a_new_person_reads_what_it_is_how_to_begin_and_how_to_stop_it(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost()):
        await ann.opened()
    beginning = ann.text.splitlines()[:3]
    assert beginning[0].startswith("I am *@cogency*")
    assert beginning[1].startswith("To begin")
    assert "stop the learning" in beginning[2]


async def test_somebody_who_is_known_is_not_welcomed_again(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost(remembered=LIST)):
        await ann.opened()
    assert "To begin" not in ann.text


async def test_each_entry_stands_with_its_source_and_its_buttons(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost(remembered=LIST)):
        await ann.opened()
    assert "*1* The boat is blue. (<https://slack.example/p1|2026-01-02>)" in ann.text
    assert ann.labels[:10] == [
        *("Delete", "Correct", "Use everywhere"),
        *("Delete", "Correct", "Only where it was said"),
        *("Earlier page", "Next page"),
        *("Stop learning", "Export as a file"),
    ]


async def test_usage_budget_model_and_what_holds_for_everybody_stand_there(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
    assert "You have not asked anything this month." in ann.text
    assert "You have used nothing today." in ann.text
    assert "`usual:model` answers you here" in ann.text
    assert "There are no policies here." in ann.text
    assert "For operators" not in ann.text
    assert not {kind.label for kind in FORMS} & {*ann.labels}
    assert host.asked_for_memory[0][0].place.audience == PersonAudience(PERSON)
    assert host.asked_for_policy[0][0].place.audience == TeamAudience("slack:T0TEAM")


async def test_operators_see_how_the_bot_does_and_change_budgets_and_policies(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost(operators={PERSON})):
        await ann.opened()
    assert "For operators\nAll is well." in ann.text
    assert {kind.label for kind in FORMS} <= {*ann.labels}


async def test_admins_set_policies_and_guests_do_not_see_them(slack: FakeSlack) -> None:
    boss, guest = slack.state.user("boss", is_admin=True), slack.state.user("guest", is_restricted=True)
    bosss, guests = HomeTab(slack, boss), HomeTab(slack, guest)
    async with serving(slack, FakeHost()):
        await bosss.opened()
        await guests.opened()
    assert "Set a policy…" in bosss.labels
    assert "Change a budget…" not in bosss.labels
    assert "Policies for everyone" not in guests.text


async def test_a_burst_of_openings_shows_it_once_and_a_later_one_anew(slack: FakeSlack, ann: HomeTab) -> None:
    clock = MovedClock(speed=1.0)
    async with serving(slack, FakeHost(), clock):
        for _ in range(5):
            await ann.open()
        await slack.until(lambda: ann.published)
        await slack.settled()
        assert ann.published == 1
        clock.ahead_s = home.BURST_S
        await ann.opened()
    assert ann.published == 2


async def test_the_messages_tab_shows_no_home(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost()):
        event = {"type": "app_home_opened", "user": ANN, "tab": "messages", "channel": DM}
        await slack.acked(await slack.deliver(slack.envelope(event)))
        await ann.opened()
    assert ann.published == 1


# Memory


@pytest.mark.parametrize(
    ("label", "number", "words"),
    [
        ("Delete", 0, "delete f:7"),
        ("Use everywhere", 0, "everywhere f:7"),
        ("Only where it was said", 0, "here p:3"),
        ("Stop learning", 0, "pause"),
    ],
)
async def test_what_a_button_did_stands_above_the_page_that_is_shown_anew(
    slack: FakeSlack, ann: HomeTab, label: str, number: int, words: str
) -> None:
    host = FakeHost(LIST, {words: MemoryAnswer(f"Done.\n\n{HEADING}", (TEA,))})
    async with serving(slack, host):
        await ann.opened()
        await ann.click(label, number)
        await ann.changed("Done.")
    assert [asked for _, asked in host.asked_for_memory] == ["page 1", words, "page 2"]
    assert ann.text.count(HEADING) == 1
    assert pages_of(ann.view["private_metadata"])["memory"] == 2
    assert not slack.state.ephemerals


async def test_another_page_of_the_list_stays_when_the_tab_is_opened_again(slack: FakeSlack, ann: HomeTab) -> None:
    third = MemoryAnswer(HEADING, (ShownEntry("f:9", 9, "The oar is red.", "2026-01-02"),), page=3, pages=3)
    host = FakeHost(LIST, {"page 3": third})
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Next page")
        await ann.changed("The oar is red.")
        await slack.clock.sleep(home.BURST_S)
        await ann.opened()
    assert host.asked_for_memory[-1][1] == "page 3"
    assert "The oar is red." in ann.text


async def test_a_correction_is_typed_into_a_window_and_its_outcome_shown_in_the_tab(
    slack: FakeSlack, ann: HomeTab
) -> None:
    host = FakeHost(LIST, {"correct p:3 green tea": MemoryAnswer("Corrected.")})
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Correct", 1)
        await slack.until(lambda: slack.state.views)
        assert await fill_in(slack, ANN, slack.state.views[0], words="green tea") == {}
        await ann.changed("Corrected.")
    assert not slack.state.ephemerals


async def test_learning_is_paused_and_taken_up_again_by_the_same_place(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost(LIST, {"resume": MemoryAnswer("I learn again.")})
    await host.preferences.set(PERSON, PAUSE, PAUSED)
    async with serving(slack, host):
        await ann.opened()
        assert memory_texts.LEARNING_OFF in ann.text
        await host.preferences.set(PERSON, PAUSE, None)
        await ann.click("Resume learning")
        await ann.changed(memory_texts.LEARNING_ON)
    assert "I learn again." in ann.text


async def test_whom_the_bot_does_not_answer_reads_why_and_is_invited_to_nothing(slack: FakeSlack) -> None:
    guest = HomeTab(slack, slack.state.user("guest", is_restricted=True))
    async with serving(slack, FakeHost(access=AccessRules())):
        await guest.opened()
    assert guest.text.startswith("Guests cannot use me here")
    assert len(guest.view["blocks"]) == 1


async def test_an_export_goes_to_the_direct_messages(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost(LIST, {"export": MemoryAnswer("All of it.", file="{}")})
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Export as a file")
        await ann.changed(platforms_texts.EXPORT_SENT)
    assert slack.state.files == [(DM, FILE_NAME, b"{}")]


# Forgetting


@pytest.mark.parametrize(
    ("label", "words"),
    [("The last 2 hours…", "2 hours"), ("Today…", "today"), ("Everything…", "everything")],
)
@pytest.mark.parametrize("ticked", [False, True])
async def test_nothing_is_erased_before_it_was_shown_and_agreed_to(
    slack: FakeSlack, ann: HomeTab, label: str, words: str, ticked: bool
) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
        await ann.click(label)
        await ann.changed(f"I will forget {words}.")
        assert not host.forgotten
        await ann.click("Forget", ticked=ticked)
        await ann.changed(forgetting_texts.receipt_text(host.receipt))
    assert host.forgotten == [(PERSON, words, frozenset())]
    assert host.replies_too == [not ticked]
    assert "I will forget" not in ann.text


async def test_whoever_keeps_everything_forgets_nothing(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Everything…")
        await ann.changed("I will forget everything.")
        await ann.click("Keep everything")
        await ann.changed(forgetting_texts.FORGET_DECLINED)
    assert not host.forgotten


@pytest.mark.parametrize(
    ("filled", "words", "ticked"),
    [
        ({"words": "Apollo"}, "about Apollo", False),
        ({"words": "about Apollo", "scope": "about"}, "about Apollo", False),
        ({"words": "since Monday", "scope": "time", "keep_replies": "yes"}, "since Monday", True),
    ],
)
async def test_what_to_forget_is_said_in_a_window(
    slack: FakeSlack, ann: HomeTab, filled: dict[str, str], words: str, ticked: bool
) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Something else…")
        await slack.until(lambda: slack.state.views)
        await fill_in(slack, ANN, slack.state.views[0], **filled)
        await ann.changed(f"I will forget {words}.")
        boxes = [one for block in ann.view["blocks"] for one in block.get("elements", []) if "options" in one]
        assert [("initial_options" in box) for box in boxes if box["type"] == "checkboxes"] == [ticked]
    assert not host.forgotten


# The model


async def test_another_model_is_chosen_in_the_menu_and_the_usual_one_again(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
        await ann.choose("other:model")
        await ann.changed("`other:model` answers you")
        await ann.choose(reply_texts.USUAL)
        await slack.until(lambda: host.chosen[PERSON] == "")


async def test_without_a_choice_there_is_no_menu(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost(models_allowed=())):
        await ann.opened()
    assert "static_select" not in str(ann.view)
    assert "There is no other model to choose." in ann.text


# Windows


async def test_an_operator_changes_somebodys_budget_in_a_window(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost(operators={PERSON})
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
    asked = [words for _, _, words in host.asked_for_budget if words]
    assert asked == [f"person:slack:T0TEAM:{BOB} $20", "everyone reset"]


async def test_a_policy_is_set_for_all_public_channels_or_for_a_private_one_of_the_person(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.add(boss)
    bosss, host = HomeTab(slack, boss), FakeHost()
    async with serving(slack, host):
        await bosss.opened()
        await bosss.click("Set a policy…")
        await slack.until(lambda: slack.state.views)
        window = slack.state.views[0]
        assert (await fill_in(slack, boss, window, name="a: b", text="x"))["errors"] == {"name": NO_COLON}
        await fill_in(slack, boss, window, name="budget", text="at most 50 EUR")
        await slack.until(lambda: len(host.asked_for_policy) >= 3)
        await fill_in(slack, boss, window, text="speak French", place=SECRET)
        await slack.until(lambda: len(host.asked_for_policy) >= 5)
    set_ = [(asker.place.audience, words) for asker, words in host.asked_for_policy if words]
    assert set_ == [
        (TeamAudience("slack:T0TEAM"), "set budget: at most 50 EUR"),
        (GroupAudience(f"slack:T0TEAM:{SECRET}"), "set speak French"),
    ]
    assert {asker.authority for asker, words in host.asked_for_policy if words} == {Authority.ADMIN}


async def test_a_channel_that_the_person_cannot_read_gets_no_policy(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    slack.state.channels[SECRET].members.discard(boss)
    bosss, host = HomeTab(slack, boss), FakeHost()
    async with serving(slack, host):
        await bosss.opened()
        await bosss.click("Set a policy…")
        await slack.until(lambda: slack.state.views)
        await fill_in(slack, boss, slack.state.views[0], text="x", place=SECRET)
        await bosss.changed(platforms_texts.NOT_CHANGED_THERE)
    assert not [words for _, words in host.asked_for_policy if words]


async def test_a_policy_is_removed_by_its_number(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost(operators={PERSON})
    async with serving(slack, host):
        await ann.opened()
        await ann.click("Remove a policy…")
        await slack.until(lambda: slack.state.views)
        window = slack.state.views[0]
        assert (await fill_in(slack, ANN, window, number="three"))["errors"] == {"number": NUMBER}
        await fill_in(slack, ANN, window, number="3")
        await slack.until(lambda: len(host.asked_for_policy) >= 3)
    assert [words for _, words in host.asked_for_policy if words] == ["remove 3"]


# What goes wrong


async def test_what_goes_wrong_is_one_sentence_where_it_was_asked(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await ann.opened()
        host.fail_next = StoreError("The disk is full.")
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
    host = FakeHost(fail_next=StoreUnavailable("The database is away."))
    async with serving(slack, host):
        await ann.opened()
        assert ann.text == platforms_texts.UNAVAILABLE
        await ann.click("Try again")
        await ann.changed("What I remember about you")


async def test_a_tab_that_slack_refuses_harms_nothing_else(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost()
    async with serving(slack, host):
        slack.faults["views.publish"].append(Fault(error="not_enabled"))
        await ann.open()
        await slack.say(ANN, DM, "hello")
        await slack.until(lambda: host.taken)
        await slack.until(lambda: not slack.faults["views.publish"])
    assert ANN not in slack.state.homes


async def test_a_tab_that_slack_puts_off_is_shown_later(slack: FakeSlack, ann: HomeTab) -> None:
    async with serving(slack, FakeHost()):
        slack.faults["views.publish"].append(limited(2))
        await ann.opened()
    assert "What I remember about you" in ann.text


async def test_of_many_clicks_at_once_the_last_view_shows_what_all_of_them_did(slack: FakeSlack, ann: HomeTab) -> None:
    host = FakeHost(models_allowed=("usual:model", *(f"m:{number}" for number in range(9))))
    async with serving(slack, host):
        await ann.opened()
        async with asyncio.TaskGroup() as clicking:
            for number in range(9):
                clicking.create_task(ann.choose(f"m:{number}"))
        await slack.until(lambda: ann.published == 10)
    assert f"`{host.chosen[PERSON]}` answers you" in ann.text
