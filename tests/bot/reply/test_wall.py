"""The wall: which write comes next."""

from agent.events import ReplyEnded, TextArrived
from bot.reply.draft import Draft
from bot.reply.wall import Delete, Edit, Find, Post, Wall, Write
from bot.surface import Limits, Offer, PageKey, PageRef

LIMITS = Limits(page_chars=100, edit_interval_s=1, min_growth_chars=10, announce_final=False)
A, B, C = PageRef("a"), PageRef("b"), PageRef("c")


def draft_of(text: str, *, final: bool = False) -> Draft:
    draft = Draft()
    draft.see(TextArrived(text))
    if final:
        draft.end(text)
    return draft


def perform(wall: Wall, write: Write, page: PageRef = A) -> None:
    match write:
        case Find():
            wall.found(page)
        case Post():
            wall.posted(write, page)
        case Edit():
            wall.edited(write)
        case Delete():
            wall.deleted(write)


def hung(shown: str | Draft, limits: Limits = LIMITS) -> Wall:
    """A wall whose page A shows this draft, or this text, which still grows."""
    wall = Wall(limits, turn=1)
    write = wall.next_write(draft_of(shown) if isinstance(shown, str) else shown)
    assert write is not None
    perform(wall, write)
    return wall


def test_the_first_text_is_posted_under_the_key_of_page_zero() -> None:
    write = Wall(LIMITS, turn=1).next_write(draft_of("It is"))
    assert isinstance(write, Post)
    assert (write.key, write.frame.look.text, write.frame.look.final) == (PageKey(1, 0), "It is", False)


def test_a_page_that_may_hang_already_is_looked_for_and_then_edited_like_ours() -> None:
    wall, draft = Wall(LIMITS, turn=1, pages=[A], resumed=True), draft_of("word " * 30, final=True)
    first = wall.next_write(draft)
    assert isinstance(first, Edit)
    perform(wall, first)
    assert wall.next_write(draft) == Find(PageKey(1, 1))
    wall.found(B)
    second = wall.next_write(draft)
    assert isinstance(second, Edit)
    assert (first.page, second.page) == (A, B)


def test_what_may_have_been_posted_or_not_is_looked_for_before_it_is_posted_again() -> None:
    wall = Wall(LIMITS, turn=1)
    post = wall.next_write(draft_of("It is"))
    assert isinstance(post, Post)
    wall.unsent()
    assert wall.next_write(draft_of("It is")) == Find(post.key)
    wall.found(None)
    assert wall.next_write(draft_of("It is")) == post


def test_nothing_is_written_when_nothing_changed() -> None:
    assert hung("It is").next_write(draft_of("It is")) is None
    assert hung("It is").next_write(draft_of("It is ")) is None


def test_growth_below_the_least_waits_unless_it_is_the_last() -> None:
    wall = hung("It is")
    assert wall.next_write(draft_of("It is blue")) is None
    assert isinstance(wall.next_write(draft_of("It is blue and big")), Edit)
    assert isinstance(wall.next_write(draft_of("It is blue", final=True)), Edit)


def test_what_is_held_back_alone_is_not_posted() -> None:
    assert Wall(LIMITS, turn=1).next_write(draft_of("[half a li")) is None


def test_an_unknown_page_is_written_in_any_case() -> None:
    write = Wall(LIMITS, turn=1, pages=[A]).next_write(draft_of("It"))
    assert isinstance(write, Edit)
    assert write.page == A


def test_surplus_pages_are_deleted_from_the_last_only_at_the_end() -> None:
    wall = Wall(LIMITS, turn=1, pages=[A, B, C])
    edit = wall.next_write(draft_of("It is"))
    assert isinstance(edit, Edit)
    perform(wall, edit)
    assert wall.next_write(draft_of("It is")) is None
    assert wall.next_write(draft_of("It is", final=True)) == Delete(C)
    perform(wall, Delete(C))
    assert wall.next_write(draft_of("It is", final=True)) == Delete(B)
    perform(wall, Delete(B))
    assert wall.next_write(draft_of("It is", final=True)) is None
    assert wall.pages == (A,)


def test_after_a_lock_intermediate_frames_are_over_and_the_rest_is_one_post() -> None:
    wall = hung("It is blue")
    edit = wall.next_write(draft_of("It is blue and it is big"))
    assert isinstance(edit, Edit)
    wall.locked(edit)
    assert wall.next_write(draft_of("It is blue and it is big and old")) is None
    post = wall.next_write(draft_of("It is blue and it is big and old", final=True))
    assert isinstance(post, Post)
    assert (post.key, post.frame.look.text) == (PageKey(1, 1), " and it is big and old")
    perform(wall, post, B)
    assert wall.next_write(draft_of("It is blue and it is big and old", final=True)) is None


def test_a_locked_page_that_shows_another_text_is_given_up() -> None:
    wall = hung("It is blue")
    edit = wall.next_write(draft_of("Sorry.", final=True))
    assert isinstance(edit, Edit)
    wall.locked(edit)
    post = wall.next_write(draft_of("Sorry.", final=True))
    assert isinstance(post, Post)
    perform(wall, post, B)
    assert wall.next_write(draft_of("Sorry.", final=True)) == Delete(A)
    assert wall.pages == (B, A)


def test_a_page_of_only_whitespace_is_not_shown() -> None:
    text = "It is" + "\n" * 400 + "blue"
    wall, texts = Wall(LIMITS, turn=1), list[str]()
    while (write := wall.next_write(draft_of(text, final=True))) is not None:
        assert isinstance(write, Post)
        texts.append(write.frame.look.text)
        perform(wall, write, PageRef(str(write.key)))
    assert [text.strip() for text in texts] == ["It is", "blue"]


def test_words_on_a_new_page_come_before_buttons_that_leave_the_old_one() -> None:
    limits = Limits(page_chars=100, edit_interval_s=1, announce_final=False, offers=frozenset({Offer.STOP}))
    said = draft_of("word " * 17)
    said.see(ReplyEnded())
    wall = hung(said, limits)
    longer = draft_of("word " * 17 + "x" * 50)
    post = wall.next_write(longer)
    assert isinstance(post, Post)
    perform(wall, post, B)
    last = wall.next_write(longer)
    assert isinstance(last, Edit)
    assert (last.page, last.ornament, last.frame.look.offers) == (A, True, frozenset())
    perform(wall, last)
    assert wall.next_write(longer) is None


def test_a_page_whose_words_move_to_the_next_one_is_shortened_first() -> None:
    wall = hung("word " * 12 + "\n\n" + "more " * 7)
    longer = draft_of("word " * 12 + "\n\n" + "more " * 20)
    edit = wall.next_write(longer)
    assert isinstance(edit, Edit)
    assert (edit.page, edit.ornament, edit.frame.look.text) == (A, False, "word " * 12 + "\n\n")
    perform(wall, edit)
    assert isinstance(wall.next_write(longer), Post)


def test_what_closes_an_unfinished_page_fits_it_too() -> None:
    for length in range(60, 120):
        write = Wall(LIMITS, turn=1).next_write(draft_of("```py\n" + "x" * length))
        assert isinstance(write, Post)
        assert len(write.frame.look.text) <= LIMITS.page_chars
        assert write.frame.look.text.rstrip().endswith("\n```")
