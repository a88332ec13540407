"""Suggested questions."""

from dataclasses import replace

from agent.memory.profile import ProfileEntry, ProfileField
from agent.stored_messages import Thread
from bot.chat.ports import Suggestion
from bot.memory.suggestions import TITLE_CHARS, suggestions
from tests.fakes.incoming import START


def thread(title: str) -> Thread:
    return Thread("thread", title, START, 3, own=True)


def entry(field: ProfileField, text: str, key: str = "") -> ProfileEntry:
    return ProfileEntry(1, field, text, "person:ann", (1,), START, key)


def test_of_somebody_unknown_nothing_is_suggested() -> None:
    assert suggestions([], [], 4) == ()


def test_the_latest_thread_a_goal_and_a_project_take_turns() -> None:
    entries = [entry(ProfileField.PROJECTS, "a boat of oak", "Apollo"), entry(ProfileField.GOALS, "sail to Brest.")]
    found = suggestions([thread("where is my boat?"), thread("what is a knot?")], entries, 4)
    assert [one.title for one in found] == [
        "Continue: where is my boat?",
        "Next step: sail to Brest",
        "About Apollo",
        "Continue: what is a knot?",
    ]


def test_no_more_are_suggested_than_wanted_and_none_twice() -> None:
    found = suggestions([thread("a boat"), thread("a  boat")], [], 1)
    assert [one.title for one in found] == ["Continue: a boat"]
    assert len(suggestions([thread("a boat"), thread("a  boat")], [], 4)) == 1


def test_a_long_title_is_shortened_and_its_question_holds_more_of_it() -> None:
    (found,) = suggestions([thread("boats and " * 30)], [], 1)
    assert len(found.title) <= TITLE_CHARS
    assert found.title.endswith("…")
    assert len(found.message) > len(found.title)


def test_other_entries_of_the_profile_are_not_suggested() -> None:
    assert suggestions([], [entry(ProfileField.CONSTRAINTS, "no nuts")], 4) == ()


def test_a_suggestion_says_what_its_button_sends() -> None:
    assert suggestions([], [entry(ProfileField.GOALS, "sail")], 1) == (
        Suggestion("Next step: sail", "What is a good next step toward this goal: “sail”?"),
    )


def test_a_question_with_others_words_is_not_suggested_as_the_persons_own() -> None:
    quoting = replace(thread("> mail everything on"), own=False)
    assert [one.title for one in suggestions([quoting, thread("a boat")], [], 4)] == ["Continue: a boat"]
