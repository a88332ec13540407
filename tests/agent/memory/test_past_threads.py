"""What past threads add to the facts, and which facts they make outdated."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.memory.facts import Fact
from agent.memory.marking import superseded
from agent.memory.past_threads import PastMessage, find_outdated, quote_thread
from agent.memory.statements import read_statement

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def fact(key: str, value: str, **rest: Any) -> Fact:
    fields: dict[str, Any] = {"source": "user", "timestamp": MONDAY, "audience": "person:ann", **rest}
    return Fact(id=key, key=key, value=value, **fields)


def lines(*what: Any) -> list[str]:
    return [line for _, line in quote_thread(*what)]


def said(*texts: str) -> list[PastMessage]:
    return [PastMessage(text, MONDAY + timedelta(minutes=10 + number), id=number) for number, text in enumerate(texts)]


def gone(facts: list[Fact], *texts: str, authority: Authority = Authority.EMPLOYEE) -> frozenset[str]:
    return find_outdated(said(*texts), facts, [], authority).facts


def test_a_later_message_outdates_a_fact_that_it_contradicts() -> None:
    assert gone([fact("budget", "$50,000")], "The budget is $80,000.") == {"budget"}


def test_it_and_that_mean_the_last_value_of_the_same_kind() -> None:
    facts = [fact("city", "Rome"), fact("budget", "$50,000")]
    assert gone(facts, "Make that $150,000.") == {"budget"}
    assert gone(facts, "Actually, send it to Oslo instead.") == {"city"}


def test_a_message_older_than_the_fact_outdates_nothing() -> None:
    assert gone([fact("budget", "$50,000", timestamp=MONDAY + timedelta(days=1))], "The budget is $80,000.") == set()


def test_the_message_that_a_fact_came_of_outdates_nothing() -> None:
    facts = [fact("budget", "$80,000", source_message=0), fact("old_budget", "$50,000")]
    assert gone(facts, "The budget is now $80,000.") == set()


def test_seed_003_rule_3_what_binds_or_has_greater_authority_is_not_outdated_by_talk() -> None:
    bound = fact("discount", "Maximum discount is 15%", is_constraint=True)
    higher = fact("discount", "Maximum discount is 15%", authority=Authority.ADMIN)
    for policy in (bound, higher):
        assert gone([policy], "The maximum discount is now 25%.") == set()


def test_what_somebody_else_says_outdates_nothing_of_mine() -> None:
    thread = [PastMessage("My city is Oslo now.", MONDAY + timedelta(minutes=9), mine=False)]
    assert find_outdated(thread, [fact("city", "My city is Rome")], [], Authority.ADMIN).facts == set()


def test_going_back_to_a_former_value_makes_it_hold_again() -> None:
    first = fact("colour", "blue", is_valid=False, superseded_by="colour_v2")
    found = find_outdated(said("Let's go back to blue."), [fact("colour_v2", "green")], [first], Authority.EMPLOYEE)
    assert (found.facts, found.restored) == ({"colour_v2"}, {"blue"})


def test_a_question_outdates_nothing() -> None:
    assert gone([fact("budget", "$50,000")], "Is the budget $80,000 now?") == set()


def test_quoted_is_only_what_the_facts_do_not_say_already() -> None:
    thread = said("The rent is €900.", "The flat has a bath.", "Is it far?")
    known = [read_statement("The rent is €900", about="rent")]
    assert lines(thread, known, (), (), "What about the flat?") == ["The flat has a bath."]


def test_a_superseded_sentence_is_left_out_and_a_superseded_value_withheld() -> None:
    stale = superseded(["25% discount"], ["10% discount"])
    thread = said("25% discount!", "Paul said that 25% discount was fine by him and by his whole team in Rome.")
    assert lines(thread, (), stale, (), "") == [
        "Paul said that [superseded] was fine by him and by his whole team in Rome."
    ]


def test_what_was_assumed_is_quoted_only_to_who_asks_for_it() -> None:
    thread = said("We have two cooks.", "What if we had ten cooks and a garden?", "Hypothetically we open in May.")
    assert lines(thread, (), (), (), "When do we open?") == ["We have two cooks."]
    assert "Hypothetically we open in May." in lines(thread, (), (), (), "What did we say hypothetically?")


def test_another_task_is_quoted_only_to_who_asks_for_it() -> None:
    thread = said("The flat has a bath.", "Hold on, my boss calls.", "She wants nine slides.", "Back to the flat.")
    assert "She wants nine slides." not in lines(thread, (), (), (), "What has the flat?")
    assert "She wants nine slides." in lines(thread, (), (), (), "How many slides does my boss want?")


def quoted_of(*texts: str, facts: tuple[Fact, ...] = ()) -> list[str]:
    thread = said(*texts)
    late = find_outdated(thread, facts, [], Authority.EMPLOYEE)
    return lines(thread, (), superseded(late.sentences, late.current), late.sentences, "What about it?")


def test_the_final_value_ends_the_steps_that_one_message_tells_before_it() -> None:
    told = (
        "The launch was on March 15. Then we moved it to March 14. But after the meeting, the final launch is March 18."
    )
    (line,) = quoted_of(told)
    assert "March 14" not in line
    assert "March 18" in line


def test_a_final_value_of_another_thing_ends_nothing() -> None:
    told = "The launch date was on March 15. Then we moved it to March 14. The final exam is on March 18."
    assert "March 14" in quoted_of(told)[0]


def test_a_remark_on_what_was_taken_back_goes_with_it() -> None:
    kept = quoted_of(
        "The purchase order is approved. Proceed with the order. This is critical. Call Ben at 555 0142.",
        "The purchase order is now rejected.",
    )
    assert kept == ["Call Ben at 555 0142.", "The purchase order is now rejected."]


def test_what_a_person_says_of_themselves_stays_when_the_sentence_before_it_is_taken_back() -> None:
    told = "The purchase order is approved. I wrote the purchase order. The order is long."
    assert quoted_of(told, "The purchase order is now rejected.")[0] == "I wrote the purchase order. The order is long."


def test_a_new_state_is_news_though_its_word_announces_a_change() -> None:
    known = [read_statement("under review", about="project status")]
    assert lines(said("As of today, the project is delayed."), known, (), (), "How is it?") == [
        "As of today, the project is delayed."
    ]


def test_a_state_gives_way_to_another_said_later_in_fewer_words() -> None:
    assert gone([fact("project status", "under review")], "As of today, the project is delayed.") == {"project status"}


def test_what_there_is_one_of_gives_way_to_another_name_with_a_word_of_change() -> None:
    facts = [fact("top priority", "security compliance"), fact("city", "Rome")]
    assert gone(facts, "By the way, the priority is market expansion now.") == {"top priority"}
    assert gone(facts, "The second priority is market expansion now.") == set()
    assert gone(facts, "The priority is still security compliance now.") == set()


def test_going_back_to_what_was_said_takes_back_the_last_change_of_it() -> None:
    kept = quoted_of(
        "The design is card-based UI.", "Let's try green theme instead.", "Let's go back to card-based UI."
    )
    assert "green" not in " ".join(kept)
    other = quoted_of("The design is card-based UI.", "The demo is now on Friday.", "Let's go back to card-based UI.")
    assert "Friday" in " ".join(other)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            "Our supplier Brandt delivers the oak planks to Ghent.",
            "Our supplier Brandt no longer delivers oak planks to Ghent.",
        ),
        ("I enjoy working with Kim on the harbour project.", "I don't enjoy working with Kim on the harbour project."),
        ("The garage on Mill Street repairs our old van.", "The garage on Mill Street never repairs our old van."),
        ("Team lunch at the harbour is open to guests.", "Team lunch at the harbour is closed to guests."),
        ("Lena leads the migration of the invoice service.", "Paul leads the migration of the invoice service."),
        (
            "The archive room on floor two stays unlocked at night.",
            "The archive room on floor two stays locked at night.",
        ),
    ],
)
def test_of_two_sentences_that_say_the_opposite_in_nearly_the_same_words_the_newest_is_quoted_with_its_date(
    older: str, newer: str
) -> None:
    thread = [PastMessage(older, MONDAY, id=1), PastMessage(newer, MONDAY + timedelta(days=3), id=2)]
    assert [(said.time.day, line) for said, line in quote_thread(thread, (), (), (), "")] == [(5, newer)]


def test_what_the_bot_repeats_never_takes_the_place_of_what_was_said() -> None:
    thread = [
        PastMessage("The rent is €900.", MONDAY, id=1),
        PastMessage("Noted: the rent is €900.", MONDAY, by_bot=True),
    ]
    assert lines(thread, (), (), (), "") == ["The rent is €900."]


def test_what_two_people_say_in_the_same_words_both_have_said() -> None:
    thread = [PastMessage("I like the plan of Rome.", MONDAY, id=number, person=who) for number, who in enumerate("ab")]
    assert [said.person for said, _ in quote_thread(thread, (), (), (), "")] == ["a", "b"]
