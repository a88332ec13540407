"""Which tag marks solved posts, who may set it, and what an author writes on."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.access.place_rules import OFF
from bot.chat.forums import ForumPost, ForumTag, PostAccess
from bot.forums import texts
from bot.forums.service import unanswered_posts
from bot.forums.tags import MAX_TAGS, asks_further, refusal, solved_tag

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SOLVED, BUG = ForumTag("1", "✅ Solved!"), ForumTag("2", "Bug")


def post(number: int = 1, **more: Any) -> ForumPost:
    at: dict[str, Any] = {"forum": "f", "conversation": f"c{number}", "person": "ann", "link": "", "time": NOW}
    return ForumPost(id=str(number), title="Leak", **at, **more)


@pytest.mark.parametrize(
    ("chosen", "tags", "expected"),
    [
        ("", (BUG, SOLVED), SOLVED),
        ("", (BUG,), None),
        ("", (BUG, ForumTag("3", "Gelöst")), ForumTag("3", "Gelöst")),
        ("bug", (BUG, SOLVED), BUG),
        ("gone", (BUG, SOLVED), SOLVED),
        ("gone", (BUG,), None),
        (OFF, (BUG, SOLVED), None),
        ("", (ForumTag("4", "✨"), ForumTag("5", "")), None),
    ],
)
def test_the_tag_is_the_chosen_one_or_else_found_by_its_name(
    chosen: str, tags: tuple[ForumTag, ...], expected: ForumTag | None
) -> None:
    assert solved_tag(tags, chosen) == expected


@given(
    author=st.booleans(),
    writes=st.booleans(),
    manages=st.booleans(),
    lacking=st.sampled_from(["", "Manage Threads"]),
    moderated=st.booleans(),
    chosen=st.sampled_from(["", "solved", "bug"]),
    tags=st.lists(st.sampled_from("1abcdef"), unique=True, max_size=MAX_TAGS),
    needs_tag=st.booleans(),
)
def test_whatever_is_set_could_have_been_set_by_the_person_or_was_allowed_by_a_manager(
    *,
    author: bool,
    writes: bool,
    manages: bool,
    lacking: str,
    moderated: bool,
    chosen: str,
    tags: list[str],
    needs_tag: bool,
) -> None:
    tag = ForumTag("1", "Solved", moderated)
    access = PostAccess(post(tags=tuple(tags)), (tag,), writes, manages, lacking, needs_tag)
    for on in (True, False):
        if not refusal(access, "ann" if author else "bo", tag, chosen, on=on):
            assert manages or (author and writes and (not moderated or chosen == "solved"))
            assert not lacking
            assert not on or len(tags) < MAX_TAGS
            assert on or not needs_tag or tags != ["1"]


def test_a_refusal_says_what_to_do() -> None:
    def why(access: PostAccess, *, on: bool = True) -> str:
        return refusal(access, "ann", SOLVED, "", on=on)

    full, last = post(tags=tuple("abcde")), post(tags=("1",))
    assert why(PostAccess(full, (), writes=True, manages=False)) == texts.MANY_TAGS.format(most=5)
    needs = PostAccess(last, (), writes=True, manages=False, needs_tag=True)
    assert why(needs, on=False) == texts.LAST_TAG.format(tag="✅ Solved!")
    locked = post(closed=True)
    assert why(PostAccess(locked, (), writes=False, manages=False)) == texts.POST_CLOSED
    assert why(PostAccess(locked, (), writes=False, manages=True)) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thanks!", False),
        ("Thank you so much, <@900>! 🎉", False),
        ("Vielen Dank!", False),
        ("🎉", False),
        ("/solved", False),
        ("", True),
        ("Thanks, but it still leaks.", True),
        ("thanks?", True),
        ("thanks " * 9, True),
        ("It leaks again.", True),
    ],
)
def test_anything_but_thanks_asks_further(text: str, *, expected: bool) -> None:
    assert asks_further(text) is expected


def test_without_a_tag_only_posts_without_a_reply_are_unanswered() -> None:
    posts = [post(3, replies=2), post(2), post(1, tags=("1",), replies=1), post(4, closed=True), post(5, pinned=True)]
    assert [one.id for one in unanswered_posts(posts, None)] == ["2"]
    assert [one.id for one in unanswered_posts(posts, SOLVED)] == ["2", "3"]
