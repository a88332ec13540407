"""The texts before forgetting: the numbers are right, and the sentences read well."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from agent.memory.forgetting_plans import AboutTopic, During, Everything, Preview, Receipt, Sample
from agent.memory.periods import TimeSpan
from bot.forgetting import texts as forgetting_texts

MORNING = TimeSpan(datetime(2026, 11, 21, 9, 0, tzinfo=UTC), datetime(2026, 11, 21, 11, 30, tzinfo=UTC))


def test_what_is_not_shown_is_counted_whatever_it_is() -> None:
    counts = {"messages": 4, "facts": 2, "profile": 0, "conversations": 2}
    asked = forgetting_texts.forget_question(
        AboutTopic("ann", "boats"), Preview(counts, ("a boat", "two boats"), "name"), UTC
    )
    assert "That is 4 messages, 2 facts, in 2 threads. This cannot be undone." in asked
    assert asked.endswith("- two boats\n- … and 4 more")


def test_what_is_kept_elsewhere_is_named_in_singular_and_plural() -> None:
    one, two = (
        forgetting_texts.receipt_text(Receipt({"messages": 1}, 0, bytes_gone=True, related=count)) for count in (1, 2)
    )
    assert " 1 message elsewhere may say " in one
    assert one.count("I kept it.") == two.count("I kept them.") == 1


def test_nothing_more_is_named_where_everything_is_shown() -> None:
    counts = {"messages": 1, "facts": 1, "conversations": 1}
    asked = forgetting_texts.forget_question(
        During("ann", MORNING), Preview(counts, ("a boat", "my boat"), "name"), UTC
    )
    span = "everywhere from Saturday 2026-11-21 09:00 to Saturday 2026-11-21 11:30 (UTC)."
    assert f"{span} That is 1 message, 1 fact, in 1 thread." in asked
    assert "more" not in asked


def test_where_others_wrote_it_says_what_no_search_by_words_finds() -> None:
    counts = {"messages": 1, "conversations": 1}
    shared = Preview(counts, ("a boat",), "name", is_shared=True)
    asked = forgetting_texts.forget_question(AboutTopic("ann", "boats"), shared, UTC)
    assert "so I may miss answers that say this in other words." in asked
    alone = forgetting_texts.forget_question(AboutTopic("ann", "boats"), Preview(counts, ("a boat",), "name"), UTC)
    assert "I may miss answers" not in alone


def test_where_nothing_is_kept_it_says_so() -> None:
    empty = Preview({"messages": 0, "conversations": 0}, (), "name")
    everything = forgetting_texts.forget_question(Everything("ann"), empty, UTC)
    assert everything.startswith("I have not stored any messages from you")
    assert "cannot be undone" not in everything
    assert forgetting_texts.nothing_to_forget(During("ann", MORNING), UTC) == (
        "There is nothing to forget from Saturday 2026-11-21 09:00 to Saturday 2026-11-21 11:30 (UTC)."
    )


def test_moments_are_those_of_the_persons_own_clock() -> None:
    nothing = forgetting_texts.nothing_to_forget(During("ann", MORNING), ZoneInfo("Asia/Tokyo"))
    assert "from Saturday 2026-11-21 18:00 to Saturday 2026-11-21 20:30 (Asia/Tokyo)" in nothing


@pytest.mark.parametrize("is_logged", [True, False])
def test_a_receipt_says_if_the_forgetting_log_lacks_it(*, is_logged: bool) -> None:
    receipt = Receipt({"messages": 1}, 0, bytes_gone=True, is_logged=is_logged)
    assert ("**The forgetting log could not be written**" in forgetting_texts.receipt_text(receipt)) is not is_logged


def test_documents_that_stay_are_named_before_and_counted_after() -> None:
    preview = Preview({"messages": 1, "conversations": 1}, (), "name", documents=Sample(2, ("rules.pdf", "map.pdf")))
    asked = forgetting_texts.forget_question(Everything("ann"), preview, UTC)
    not_included = "2 documents that you added are not included; to remove them, use `/knowledge`"
    assert asked.endswith(f"{not_included}:\n- rules.pdf\n- map.pdf")
    receipt = Receipt({"messages": 1, "conversations": 1}, 0, bytes_gone=True, documents=1)
    told = forgetting_texts.receipt_text(receipt)
    assert "1 document that you added is not included; to remove it, use `/knowledge`." in told
