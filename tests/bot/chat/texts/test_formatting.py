"""The bot's own texts, on every platform."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.memory.facts import Fact
from agent.memory.forgetting_plans import Receipt
from agent.stored_messages import Thread
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import (
    as_code,
    is_exact_in_code,
    literal,
    sentence_of,
    shortened,
    zone_named,
    zone_names,
    zone_options,
)
from bot.forgetting import texts as forgetting_texts
from bot.models import texts as models_texts
from bot.platforms import texts as platforms_texts
from tests.fakes.facts import fact

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TOKYO = timezone(timedelta(hours=9))


def known(text: str, permalink: str | None = None, time: datetime = NOON) -> Fact:
    return fact("1", "p", text, "person:p", time, permalink=permalink)


def thread(title: str, last: datetime = NOON, conversation: str = "c") -> Thread:
    return Thread(conversation, title, last, messages=2)


def shown(markdown: str) -> str:
    """Return what a reader of a line of Markdown sees, by an independent renderer's token tree."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(f"- {markdown}")
    return "".join(child.content for token in tokens for child in token.children or [] if child.type in SEEN)


SEEN = {"text", "text_special", "code_inline"}


@given(st.text("`\n<>|ah:/", max_size=60) | st.sampled_from(["```", "<https://a.example/|b>", "`" * 40]))
def test_no_text_ends_its_block_of_code_where_three_backticks_do_or_is_a_link_of_slack_in_it(text: str) -> None:
    block = as_code(text)
    inside = block.removeprefix("```\n").removesuffix("\n```")
    assert len(block) == len(inside) + len("```\n\n```")
    assert inside.replace("\u2060", "") == text.replace("\u2060", "")
    assert is_exact_in_code(inside)
    assert (inside == text) is is_exact_in_code(text)


def test_the_zones_offered_are_ordered_from_west_to_east_with_their_local_time() -> None:
    offered = zone_options(NOON)
    assert len(offered) == 24
    assert offered["Europe/Berlin"] == "13:00, UTC+01:00 · Berlin, Paris, Madrid, Rome"
    away = [NOON.astimezone(ZoneInfo(zone)).utcoffset() or timedelta() for zone in offered]
    assert away == sorted(away)
    assert zone_options(NOON.replace(month=7))["Europe/Berlin"].startswith("14:00, UTC+02:00")


@pytest.mark.slow
@given(st.sampled_from(sorted(zone_names())))
def test_a_zone_is_found_by_its_name_in_any_spelling(name: str) -> None:
    assert zone_named(f" {name.upper().replace('_', ' ')} ") == name
    by_city = zone_named(name.rpartition("/")[2])
    assert by_city.rpartition("/")[2] in {name.rpartition("/")[2], ""}
    assert by_city or sum(one.endswith(f"/{name.rpartition('/')[2]}") for one in zone_names()) > 1


def test_dates_are_those_of_the_readers_time_zone() -> None:
    late = NOON.replace(hour=20)
    assert "today 05:00" in platforms_texts.threads_text([thread("tea", late)], late.astimezone(TOKYO))


def test_threads_are_numbered_dated_and_the_current_one_is_marked() -> None:
    threads = [thread("boats", conversation="c2"), thread("tea", NOON - timedelta(days=1), "c1")]
    assert platforms_texts.threads_text(threads, NOON, current="c2").splitlines() == [
        "Your threads, newest first:",
        "",
        "1. boats (today 12:00, this one)",
        "2. tea (2026-11-20)",
    ]


def test_no_threads_is_a_sentence() -> None:
    assert platforms_texts.threads_text([], NOON) == "There are no threads yet."


def test_a_long_title_is_cut_and_stays_on_one_line() -> None:
    text = platforms_texts.thread_opened(thread("boats\n" + "and more " * 20))
    assert text.startswith("Back in “boats and more")
    assert "…" in text
    assert len(text) < 80


@pytest.mark.parametrize(
    ("receipt", "text"),
    [
        (Receipt({}, 0, bytes_gone=True), "There was nothing to forget."),
        (Receipt({"messages": 0}, 0, bytes_gone=True), "There was nothing to forget."),
        (
            Receipt(
                {
                    "actions": 2,
                    "turns": 1,
                    "people": 1,
                    "summaries": 1,
                    "facts": 1,
                    "messages": 1204,
                    "conversations": 2,
                },
                0,
                bytes_gone=True,
            ),
            (
                "Forgotten: 1,204 messages, 1 fact, 1 summary, 4 internal records, in 2 threads. A search confirmed "
                "that these texts are no longer where they were stored, and no trace of them is left in the "
                "database files."
            ),
        ),
        (
            Receipt({"messages": 2}, 0, bytes_gone=False),
            (
                "Forgotten: 2 messages. A search confirmed that these texts are no longer where they were stored. "
                "Traces may remain in the database files until the next cleanup."
            ),
        ),
        (
            Receipt({"messages": 2}, 0, bytes_gone=False, kept_by_server=True),
            (
                "Forgotten: 2 messages. A search confirmed that these texts are no longer where they were stored. "
                "Traces may remain in the database server's files until its next vacuum, and in backups until they "
                "expire."
            ),
        ),
        (
            Receipt({"messages": 2}, 0, bytes_gone=True, related=2),
            (
                "Forgotten: 2 messages. A search confirmed that these texts are no longer where they were stored, and "
                "no trace of them is left in the database files. 2 messages elsewhere may say the same thing in other "
                "words, or be based on what was forgotten. I kept them."
            ),
        ),
        (
            Receipt({"messages": 2}, 1, bytes_gone=True),
            "Forgotten: 2 messages. **I searched afterward and still found 1 entry.** Please tell my operator.",
        ),
    ],
)
def test_a_receipt_claims_only_what_was_proved(receipt: Receipt, text: str) -> None:
    assert forgetting_texts.receipt_text(receipt) == text


def test_help_lists_every_command_with_what_it_does() -> None:
    assert (
        formatting.help_text({"/new": "begin a new thread", "/quit": "leave"})
        == "- `/new`: begin a new thread\n- `/quit`: leave"
    )


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=40))
def test_what_a_person_wrote_is_shown_literally(text: str) -> None:
    assert shown(literal(text)) == " ".join(text.split())


@given(st.text(alphabet="a_*`[]()<>~|&;#+-=.)12 \\!:/\t\n", max_size=30))
def test_markdown_in_what_a_person_wrote_is_shown_literally(text: str) -> None:
    assert shown(literal(text)) == " ".join(text.split())


@given(st.text(max_size=100), st.integers(2, 50))
def test_a_shortened_text_fits_and_begins_like_the_whole(text: str, chars: int) -> None:
    short = shortened(text, chars)
    assert len(short) <= chars
    assert " ".join(text.split()).startswith(short.removesuffix("…").rstrip())


def test_the_model_is_named_with_the_reason_and_the_choice() -> None:
    text = reply_texts.model_text("a:b", "you chose it", ("a:b", "c:d"), "/model NAME")
    assert text == (
        "`a:b` answers you here: you chose it.\nChoose with `/model NAME`: `a:b`, `c:d`. `usual` restores the default."
    )


def test_without_a_choice_nothing_is_offered() -> None:
    assert reply_texts.model_text("a:b", "it is *set*.", (), "/model") == (
        "`a:b` answers you here: it is \\*set\\*. There is no other model to choose."
    )


@pytest.mark.parametrize(
    ("written", "name"), [(" c:d ", "c:d"), ("Usual", ""), ("usual:model", "usual:model"), ("", "")]
)
def test_a_name_is_taken_as_written_and_the_word_usual_goes_back(written: str, name: str) -> None:
    assert models_texts.chosen_model(written) == name


def test_only_the_last_line_of_what_was_remembered_is_undone() -> None:
    quoted = "*Remembered: said by the model*"
    assert (
        platforms_texts.undone(f"{quoted}\n\n*Remembered: tea*\n\n-# footer")
        == f"{quoted}\n\n{platforms_texts.UNDONE}\n\n-# footer"
    )
    assert platforms_texts.undone("Hello.") == "Hello."


@pytest.mark.parametrize(
    ("error", "read"),
    [
        ("Write `/tools policy` or `set a: 5`.", "Write /tools policy or set a: 5."),
        ("Use `/why`, or press *Why this answer?* below it.", "Use /why, or press Why this answer? below it."),
        ("COGENCY_ACT is off (`COGENCY_ACT`).", "COGENCY_ACT is off (COGENCY_ACT)."),
        ("Run pip install 'cogency[office]' in ~/my_dir_", "Run pip install 'cogency[office]' in ~/my_dir_"),
        ("No token is named <@U1> *x* `a|b` ``", "No token is named <@U1> *x* `a|b` ``"),
        ("first\n\n- second", "first - second"),
    ],
)
def test_what_an_error_says_to_write_and_to_press_is_marked_and_all_else_is_literal(error: str, read: str) -> None:
    assert shown(sentence_of(error)) == read


@given(st.text("`*_<>[]()~|&\\\\#+-./ aZ1@!", max_size=40))
def test_an_error_loses_nothing_but_marks(text: str) -> None:
    left = shown(sentence_of(text)).translate({ord("`"): None, ord("*"): None})
    assert left == " ".join(text.split()).translate({ord("`"): None, ord("*"): None})
