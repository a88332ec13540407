"""The reconciler of pages: which write comes next."""

from dataclasses import replace

import pytest

from agent.events import ReplyEnded, TextArrived
from bot.chat.reply.pages import DeletePage, Draft, EditPage, FindPage, PageReconciler, PostPage, Write
from bot.chat.reply.surface import Limits, PageKey, PageRef, ReplyAction

LIMITS = Limits(page_chars=100, edit_interval_s=1, min_growth_chars=10, announce_final=False)
A, B, C = PageRef("a"), PageRef("b"), PageRef("c")


def draft_of(text: str, *, final: bool = False) -> Draft:
    draft = Draft()
    draft.record_event(TextArrived(text))
    if final:
        draft.end(text)
    return draft


def perform(reconciler: PageReconciler, write: Write, page: PageRef = A) -> None:
    match write:
        case FindPage():
            reconciler.report_search(page)
        case PostPage():
            reconciler.posted(write, page)
        case EditPage():
            reconciler.edited(write)
        case DeletePage():
            reconciler.deleted(write)


def hung(shown: str | Draft, limits: Limits = LIMITS) -> PageReconciler:
    """Return a reconciler whose page A shows this draft, or this growing text."""
    reconciler = PageReconciler(limits, turn=1)
    write = reconciler.next_write(draft_of(shown) if isinstance(shown, str) else shown)
    assert write is not None
    perform(reconciler, write)
    return reconciler


def test_the_first_text_is_posted_under_the_key_of_page_zero() -> None:
    write = PageReconciler(LIMITS, turn=1).next_write(draft_of("It is"))
    assert isinstance(write, PostPage)
    assert (write.key, write.frame.look.text, write.frame.look.final) == (PageKey(1, 0), "It is", False)


def test_a_page_that_may_hang_already_is_looked_for_and_then_edited_like_ours() -> None:
    reconciler, draft = PageReconciler(LIMITS, turn=1, pages=[A], resumed=True), draft_of("word " * 30, final=True)
    first = reconciler.next_write(draft)
    assert isinstance(first, EditPage)
    perform(reconciler, first)
    assert reconciler.next_write(draft) == FindPage(PageKey(1, 1))
    reconciler.report_search(B)
    second = reconciler.next_write(draft)
    assert isinstance(second, EditPage)
    assert (first.page, second.page) == (A, B)


def test_what_may_have_been_posted_or_not_is_looked_for_before_it_is_posted_again() -> None:
    reconciler = PageReconciler(LIMITS, turn=1)
    post = reconciler.next_write(draft_of("It is"))
    assert isinstance(post, PostPage)
    reconciler.unsent()
    assert reconciler.next_write(draft_of("It is")) == FindPage(post.key)
    reconciler.report_search(None)
    assert reconciler.next_write(draft_of("It is")) == post


def test_nothing_is_written_when_nothing_changed() -> None:
    assert hung("It is").next_write(draft_of("It is")) is None
    assert hung("It is").next_write(draft_of("It is ")) is None


def test_growth_below_the_least_waits_unless_it_is_the_last() -> None:
    reconciler = hung("It is")
    assert reconciler.next_write(draft_of("It is blue")) is None
    assert isinstance(reconciler.next_write(draft_of("It is blue and big")), EditPage)
    assert isinstance(reconciler.next_write(draft_of("It is blue", final=True)), EditPage)


def test_what_is_held_back_alone_is_not_posted() -> None:
    assert PageReconciler(LIMITS, turn=1).next_write(draft_of("[half a li")) is None


def test_an_unknown_page_is_written_in_any_case() -> None:
    write = PageReconciler(LIMITS, turn=1, pages=[A]).next_write(draft_of("It"))
    assert isinstance(write, EditPage)
    assert write.page == A


def test_surplus_pages_are_deleted_from_the_last_only_at_the_end() -> None:
    reconciler = PageReconciler(LIMITS, turn=1, pages=[A, B, C])
    edit = reconciler.next_write(draft_of("It is"))
    assert isinstance(edit, EditPage)
    perform(reconciler, edit)
    assert reconciler.next_write(draft_of("It is")) is None
    assert reconciler.next_write(draft_of("It is", final=True)) == DeletePage(C)
    perform(reconciler, DeletePage(C))
    assert reconciler.next_write(draft_of("It is", final=True)) == DeletePage(B)
    perform(reconciler, DeletePage(B))
    assert reconciler.next_write(draft_of("It is", final=True)) is None
    assert reconciler.pages == (A,)


def test_after_a_lock_intermediate_frames_are_over_and_the_rest_is_one_post() -> None:
    reconciler = hung("It is blue")
    edit = reconciler.next_write(draft_of("It is blue and it is big"))
    assert isinstance(edit, EditPage)
    reconciler.locked(edit)
    assert reconciler.next_write(draft_of("It is blue and it is big and old")) is None
    post = reconciler.next_write(draft_of("It is blue and it is big and old", final=True))
    assert isinstance(post, PostPage)
    assert (post.key, post.frame.look.text) == (PageKey(1, 1), " and it is big and old")
    perform(reconciler, post, B)
    assert reconciler.next_write(draft_of("It is blue and it is big and old", final=True)) is None


def test_a_locked_page_that_shows_another_text_is_given_up() -> None:
    reconciler = hung("It is blue")
    edit = reconciler.next_write(draft_of("Sorry.", final=True))
    assert isinstance(edit, EditPage)
    reconciler.locked(edit)
    post = reconciler.next_write(draft_of("Sorry.", final=True))
    assert isinstance(post, PostPage)
    perform(reconciler, post, B)
    assert reconciler.next_write(draft_of("Sorry.", final=True)) == DeletePage(A)
    assert reconciler.pages == (B, A)


def test_a_page_of_only_whitespace_is_not_shown() -> None:
    text = "It is" + "\n" * 400 + "blue"
    reconciler, texts = PageReconciler(LIMITS, turn=1), list[str]()
    while (write := reconciler.next_write(draft_of(text, final=True))) is not None:
        assert isinstance(write, PostPage)
        texts.append(write.frame.look.text)
        perform(reconciler, write, PageRef(str(write.key)))
    assert [text.strip() for text in texts] == ["It is", "blue"]


@pytest.mark.parametrize(("line", "announced"), [("|---|---|", True), ("| - | x |", False)])
def test_a_complete_page_is_written_again_as_final_only_if_its_table_is_shown_in_another_form(
    line: str, *, announced: bool
) -> None:
    limits = replace(LIMITS, announces_tables=True)
    table = f"| a | b |\n{line}\n| 1 | 2 |"
    reconciler, final = hung(table, limits), draft_of(table, final=True)
    edit = reconciler.next_write(final)
    assert isinstance(edit, EditPage) is announced
    if isinstance(edit, EditPage):
        assert (edit.frame.look.text, edit.frame.look.final) == (table, True)
        perform(reconciler, edit)
        assert reconciler.next_write(final) is None
    assert hung(table).next_write(final) is None


def test_words_on_a_new_page_come_before_buttons_that_leave_the_old_one() -> None:
    limits = Limits(page_chars=100, edit_interval_s=1, announce_final=False, offers=frozenset({ReplyAction.STOP}))
    said = draft_of("word " * 17)
    said.record_event(ReplyEnded())
    reconciler = hung(said, limits)
    longer = draft_of("word " * 17 + "x" * 50)
    post = reconciler.next_write(longer)
    assert isinstance(post, PostPage)
    perform(reconciler, post, B)
    last = reconciler.next_write(longer)
    assert isinstance(last, EditPage)
    assert (last.page, last.only_buttons, last.frame.look.offers) == (A, True, frozenset())
    perform(reconciler, last)
    assert reconciler.next_write(longer) is None


def test_a_page_whose_words_move_to_the_next_one_is_shortened_first() -> None:
    reconciler = hung("word " * 12 + "\n\n" + "more " * 7)
    longer = draft_of("word " * 12 + "\n\n" + "more " * 20)
    edit = reconciler.next_write(longer)
    assert isinstance(edit, EditPage)
    assert (edit.page, edit.only_buttons, edit.frame.look.text) == (A, False, "word " * 12 + "\n\n")
    perform(reconciler, edit)
    assert isinstance(reconciler.next_write(longer), PostPage)


def test_what_closes_an_unfinished_page_fits_it_too() -> None:
    for length in range(60, 120):
        write = PageReconciler(LIMITS, turn=1).next_write(draft_of("```py\n" + "x" * length))
        assert isinstance(write, PostPage)
        assert len(write.frame.look.text) <= LIMITS.page_chars
        assert write.frame.look.text.rstrip().endswith("\n```")
