"""The Home tab as a view: Slack accepts it for any content, and its buttons carry their user and command."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slack_sdk.models.views import View

from agent.messages import Usage
from agent.schedules.definitions import ScheduleState
from agent.spending import Money, SpendingAccount, Spent
from bot.budgets import commands as budget
from bot.budgets.report import account_text
from bot.chat.commands.declaration import AnyCommand, HomeContent
from bot.chat.panels import Panel, PanelAction, PanelForm
from bot.chat.ports import ModelMenu
from bot.commands import COMMANDS, HOME
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.commands import FORGET_COMMAND, KEEP, agreement, choices
from bot.memory import commands as memory
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.commands import memory_panel
from bot.memory.policies import MOST
from bot.memory.policy_commands import policy_actions
from bot.memory.service import FACT_CHARS
from bot.models.commands import MODEL_COMMAND, model_panel
from bot.operators import texts as operators_texts
from bot.platforms.slack import home
from bot.platforms.slack.home import HomePage, News, ShownSection, encode_pages, error_view, home_view, pages_of
from bot.platforms.slack.panels import ENTRY_CHARS, ShownTo, panel_blocks, view_of
from bot.platforms.slack.reply_to import ReplyTo
from bot.schedules import texts as schedule_texts
from bot.schedules.answers import ScheduleAnswer, ShownSchedule
from bot.schedules.commands import schedule_panel
from bot.schedules.service import PAGE
from tests.examples import examples
from tests.fakes.slack_blocks import problems
from tests.fakes.slack_home import shown_text

FORMS = [form for command in COMMANDS for form in command.forms if form.name not in command.builds]

ANN = "U0ANN"
SPENT = Spent(3, Usage(input_uncached=1_000, output=50), Money(1_000_000), 0)


def section(command: AnyCommand, content: HomeContent) -> ShownSection:
    assert command.home is not None
    return ShownSection(command, command.home, content)


def home_page(**content: HomeContent) -> HomePage:
    """The tab with this content of sections, by their commands, and the usual one of the others."""
    sections = [section(command, found) for command in HOME if (found := {**USUAL, **content}.get(command.name))]
    return HomePage(user=ANN, bot="cogency", prefix="", sections=sections, pages={})


USUAL = {
    "memory": HomeContent(Panel("I do not remember anything about you yet.")),
    "forget": HomeContent(Panel(forgetting_texts.FORGET_SECTION, choices(thread=False))),
    "schedules": HomeContent(Panel(schedule_texts.NOTHING)),
    "usage": HomeContent(Panel(account_text(SpendingAccount(Spent(), SPENT)))),
    "budget": HomeContent(Panel("Your usage today (UTC): 0 tokens (no limit).", (budget.CHANGE.button(),))),
    "model": HomeContent(model_panel(ModelMenu("a:b", "it is the default", ("a:b", "c:d")), with_names=False)),
    "policy": HomeContent(Panel("Nothing is set.", policy_actions("Nothing is set."))),
    "operator": HomeContent(Panel("All is well.", (PanelAction(operators_texts.OPEN_OPERATOR_PAGE),))),
}


def _repeated(piece: str, times: int) -> str:
    return piece * times


words = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["&", "<@U1>", "*", "`", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "[x](https://e.example/y) ", "\n"]
    ),
)
texts: st.SearchStrategy[str] = st.builds(_repeated, words, st.sampled_from([1, 1, 7, 150]))
entries = st.builds(
    ShownEntry,
    key=st.builds("f:{}".format, st.integers(0, 10**12)),
    number=st.integers(1, 10**9),
    text=texts,
    source=texts,
    may_go_everywhere=st.booleans(),
    everywhere=st.booleans(),
    plain=texts,
)
page_numbers = st.integers(1, 10**6)
answers = st.builds(MemoryAnswer, texts, st.lists(entries, max_size=25).map(tuple), page_numbers, page_numbers)
schedules = st.builds(
    ScheduleAnswer,
    texts,
    st.lists(st.builds(ShownSchedule, st.integers(1, 10**9), texts, st.sampled_from(ScheduleState)), max_size=PAGE).map(
        tuple
    ),
    page=page_numbers,
    pages=page_numbers,
)
QUESTION = agreement("Shall I?", "about|name|Apollo", "about+|name|Apollo", keeps=True)
agreeing = st.just((*panel_blocks(QUESTION, FORGET_COMMAND, ShownTo(ANN)),))
learning = st.sampled_from([(), (PanelAction("Stop learning", "pause"), PanelAction("Export", "export"))])
panels: dict[str, st.SearchStrategy[Panel]] = {
    "memory": st.builds(memory_panel, answers, st.just(ENTRY_CHARS)),
    "forget": st.just(USUAL["forget"].panel),
    "schedules": st.builds(schedule_panel, schedules),
    "usage": st.sampled_from([Panel(account_text(SpendingAccount(spent, spent))) for spent in (Spent(), SPENT)]),
    "budget": st.builds(Panel, texts, st.sampled_from([(), (budget.CHANGE.button(),)])),
    "model": st.builds(
        model_panel,
        st.builds(ModelMenu, texts, texts, st.lists(texts, max_size=120).map(tuple)),
        with_names=st.just(False),
    ),
    "policy": st.builds(Panel, texts) | st.builds(Panel, texts, texts.map(policy_actions)),
    "operator": st.builds(Panel, texts, st.just(USUAL["operator"].panel.actions)),
}
notes = st.sampled_from([memory_texts.LEARNING_ON, memory_texts.LEARNING_OFF])
# Only /memory has a line and buttons below its list.
contents = {
    name: st.builds(HomeContent, panel, notes, learning, st.booleans())
    if name == "memory"
    else st.builds(HomeContent, panel, empty=st.booleans())
    for name, panel in panels.items()
}


def sections_of(found: dict[str, HomeContent]) -> tuple[ShownSection, ...]:
    return tuple(section(command, found[command.name]) for command in HOME if command.name in found)


names = [command.name for command in HOME]
homes = st.builds(
    HomePage,
    user=st.just(ANN),
    bot=st.just("cogency"),
    prefix=st.sampled_from(["", "cogency-"]),
    sections=st.fixed_dictionaries(
        {name: one for name, one in contents.items() if name not in ("policy", "operator")},
        optional={name: contents[name] for name in ("policy", "operator")},
    ).map(sections_of),
    pages=st.dictionaries(st.sampled_from(names), st.integers(2, 10**6)),
    news=st.none() | st.builds(News, st.sampled_from(["", *names]), texts, st.just(()) | agreeing, st.booleans()),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(100))
@given(homes)
@example(
    home_page(
        schedules=HomeContent(schedule_panel(ScheduleAnswer("", tuple(ShownSchedule(one, "") for one in range(30)))))
    )
)
def test_slack_takes_the_view_whatever_is_known(shown: HomePage) -> None:
    view: Any = home_view(shown)
    assert problems(view) == []
    View(**view).validate_json()
    assert pages_of(view["private_metadata"]) == shown.pages


@settings(deadline=None, max_examples=examples(30))
@given(texts)
def test_slack_takes_the_view_that_says_what_is_wrong(sentence: str) -> None:
    assert problems(dict(error_view(sentence, {}))) == []


@pytest.mark.parametrize("home", ["", encode_pages({"memory": 3, "policy": 2})])
@pytest.mark.parametrize("kind", FORMS)
def test_slack_takes_every_window(kind: PanelForm, home: str) -> None:
    to = ReplyTo("" if home else "C0GENERAL", ANN, response_url="https://hooks.slack.example/" + "x" * 150, home=home)
    view: Any = view_of(kind, to, "correct f:1", ["a thread"], {"words": "w" * FACT_CHARS})
    assert problems(view) == []
    View(**view).validate_json()


def test_the_rows_of_messages_are_taken_too() -> None:
    at = ShownTo(ANN, "C0GENERAL", ["a thread"])
    asking = Panel("", (*choices(thread=True), KEEP))
    blocks = [
        *panel_blocks(asking, FORGET_COMMAND, at),
        *panel_blocks(QUESTION, FORGET_COMMAND, at),
        *panel_blocks(Panel("", tuple(form.button() for form in FORMS)), memory.COMMAND, at),
        *panel_blocks(USUAL["model"].panel, MODEL_COMMAND, at, lambda _: []),
    ]
    assert problems({"type": "modal", "title": {"type": "plain_text", "text": "x"}, "blocks": blocks}) == []


@pytest.mark.slow
def test_as_many_policies_as_there_may_be_stand_on_pages_that_are_turned() -> None:
    listed = "\n".join(f"- {number}. budget {number}: {'at most 50 EUR ' * 30}" for number in range(1, MOST + 1))
    shown, seen = home_page(policy=HomeContent(Panel(f"{memory_texts.POLICY_HEADING}\n\n{listed}"))), ""
    for page in range(1, MOST):
        view: Any = home_view(replace(shown, pages={"policy": page}))
        assert problems(view) == []
        seen += shown_text(view)
        buttons = [one for block in view["blocks"] for one in block.get("elements", []) if one["type"] == "button"]
        further = [one for one in buttons if one["action_id"] == f"{home.HOME_ACTION}:page:policy:{page + 1}"]
        if not further:
            break
        before = {"memory": 2, "policy": page}
        assert home.pages_after(further[0], before) == {"memory": 2, "policy": page + 1}
    assert all(f"budget {number}:" in seen for number in range(1, MOST + 1))


def test_every_button_says_whose_it_is_or_does_nothing_that_others_may_not_do() -> None:
    entry = ShownEntry("f:1", 1, "The boat is blue.", "2026-01-02", may_go_everywhere=True)
    view: Any = home_view(
        home_page(memory=HomeContent(memory_panel(MemoryAnswer("I remember:", (entry,)), ENTRY_CHARS)))
    )
    buttons = [one for block in view["blocks"] for one in block.get("elements", []) if one["type"] == "button"]
    of_others = [one["action_id"] for one in buttons if json.loads(one["value"]).get("user") != ANN]
    assert all(name.startswith(f"{home.HOME_ACTION}:page:") for name in of_others)


def test_what_a_person_wrote_shows_as_it_was_written() -> None:
    entry = ShownEntry("f:1", 1, r"\<b\> 1 \* 2 \& <!channel>", "2026-01-02")
    view = home_view(home_page(memory=HomeContent(memory_panel(MemoryAnswer("I remember:", (entry,)), ENTRY_CHARS))))
    assert "*1* &lt;b&gt; 1 * 2 &amp; &lt;!channel&gt; (2026-01-02)" in shown_text(dict(view))


def test_commands_are_named_as_they_are_called_in_the_workspace() -> None:
    listed = Panel("Nothing is known; `/memory resume` goes on.")
    view = home_view(replace(home_page(memory=HomeContent(listed)), prefix="cogency-"))
    assert "`/cogency-memory resume`" in shown_text(dict(view))


@pytest.mark.parametrize("carried", ["", "no JSON", "[]", '{"memory": "x"}', '{"memory": -3, "policy": 0}'])
def test_a_view_of_another_version_shows_first_pages(carried: str) -> None:
    assert pages_of(carried) == {}
