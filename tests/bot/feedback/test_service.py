"""What `/feedback` shows to whom: words of an answer only to its readers, and to operators what was shared."""

from dataclasses import dataclass, replace

import pytest

from agent.errors import Refused
from agent.events import Outcome
from agent.feedback import ChannelFeedback, CountedBy, FeedbackDetails, FeedbackReason
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.ports.tools import Asker
from agent.shown_replies import ReplyVerdict
from agent.turn_records import Claiming, Closing
from bot.chat.panels import Panel, PanelAction
from bot.feedback import texts
from bot.feedback.service import FORM, FeedbackService
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.store import StoreInMemory, store_in_memory

OLGA = "test:olga"  # The operator
TEAM = Place(TeamAudience("test"), within_team="test")
GROUP = Place(GroupAudience("test:secret"), within_team="test")
# Where people ask, with the channel: a direct message, two public channels, a private one, and a private answer in one.
PLACES = {
    "direct": (Place(PersonAudience("test:ann")), "dm"),
    "general": (TEAM, "general"),
    "random": (TEAM, "random"),
    "secret": (GROUP, "secret"),
    "alone in general": (Place(PersonAudience("test:ann")), "general"),
}


def asker(person: str, where: str, *, manages: bool) -> Asker:
    place, channel = PLACES[where]
    if where == "direct":
        place = Place(PersonAudience(person))
    return Asker(Person(person, person), place, channel, manages=manages)


VIEWERS = {
    **{f"manager in {where}": asker("test:max", where, manages=True) for where in ("direct", "general", "secret")},
    **{f"member in {where}": asker("test:bob", where, manages=False) for where in ("direct", "general", "secret")},
    **{f"operator in {where}": asker(OLGA, where, manages=False) for where in ("direct", "general", "secret")},
}


@dataclass(frozen=True)
class Rated:
    where: str
    explained: bool
    shared: bool


def service(store: StoreInMemory) -> FeedbackService:
    return FeedbackService(
        store.feedback, store.explanations, store.replies, FakeClock(), lambda person: person == OLGA
    )


EVERY_RATING = [
    Rated(where, explained=explained, shared=shared)
    for where in PLACES
    for explained, shared in ((False, False), (True, False), (True, True))
]


async def rate(store: StoreInMemory, number: int, rated: Rated) -> None:
    """All words of a rating contain its number."""
    place, channel = PLACES[rated.where]
    asked = said(f"question{number}.", person="test:ann", conversation=f"{number}", place=place)
    await store.ledger.accept(replace(asked, channel=channel, source="test"))
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, f"answer{number}.", pages=(f"{number}",)), START)
    await store.replies.judge(claim.turn, "test:ann", ReplyVerdict.BAD, FakeClock().now())
    if rated.explained:
        details = FeedbackDetails(FeedbackReason.WRONG, f"comment{number}.", f"correction{number}.", rated.shared)
        assert await store.feedback.explain(claim.turn, "test:ann", details, START)


def words_of(panel: Panel) -> str:
    return "\n".join([panel.text, *(part.text for part in panel.parts)])


def may_see(viewer: str, rated: Rated) -> bool:
    role, where = viewer.split(" in ")
    if where == "direct":
        return role == "operator" and rated.explained and rated.shared
    return role != "member" and rated.where == where


async def test_a_list_shows_what_its_viewer_may_read_or_was_shared_with_operators_and_no_other_word() -> None:
    """Every rating that there can be, for every viewer that there can be."""
    store, ratings = store_in_memory(), dict(enumerate(EVERY_RATING, 1))
    for number, rated in ratings.items():
        await rate(store, number, rated)
    for viewer, who in VIEWERS.items():
        shown = await whole_list(store, who)
        for number, rated in ratings.items():
            words = [f"question{number}.", f"answer{number}.", f"comment{number}.", f"correction{number}."]
            seen = {word in shown for word in words[: 4 if rated.explained else 2]}
            assert seen == {may_see(viewer, rated)}, (viewer, rated)
    view = ChannelFeedback("test", "general", frozenset({label(TEAM.audience)}))
    here = await store.feedback.counts(START, view)
    assert [(one.key, one.bad) for one in here[CountedBy.PLACE]] == [("test:general", 3)]
    everywhere = await store.feedback.counts(START)
    assert ("", 6) in [(one.key, one.bad) for one in everywhere[CountedBy.PLACE]]


async def whole_list(store: StoreInMemory, who: Asker) -> str:
    """All pages of the list, "" for a person who may see none."""
    try:
        pages = [await service(store).answer(who, f"list all page {page}") for page in (1, 2, 3)]
    except Refused:
        return ""
    return "\n".join(map(words_of, pages))


async def test_only_who_sees_a_rating_changes_its_state() -> None:
    store = store_in_memory()
    await rate(store, 1, Rated("direct", explained=True, shared=False))
    await rate(store, 2, Rated("secret", explained=True, shared=True))
    for viewer, who in VIEWERS.items():
        with pytest.raises(Refused):
            await service(store).answer(who, "take 1")
        if viewer in {"manager in secret", "operator in secret", "operator in direct"}:
            assert "in progress" in words_of(await service(store).answer(who, "take 2"))
        else:
            with pytest.raises(Refused):
                await service(store).answer(who, "take 2")
    rows = await store.audit.newest(99)
    assert {row.person for row in rows} == {"test:max", OLGA}


async def test_a_long_list_has_pages_that_keep_the_filter() -> None:
    store = store_in_memory()
    for number in range(1, 8):
        await rate(store, number, Rated("general", explained=True, shared=False))
    manager = VIEWERS["manager in general"]
    first = await service(store).answer(manager, "list wrong")
    assert "question7" in words_of(first)
    assert "question2" not in words_of(first)
    (following,) = [one.words for part in first.parts for one in part.actions if one.words.startswith("list")]
    assert following == "list wrong page 2"
    assert "question2" in words_of(await service(store).answer(manager, following))
    assert texts.LIST_EMPTY in words_of(await service(store).answer(manager, "list private"))


async def test_who_rated_is_named_with_what_was_shared_alone() -> None:
    store = store_in_memory()
    for number, shared in enumerate((True, False)):
        await rate(store, number, Rated("general", explained=True, shared=shared))
    shown = await service(store).answer(VIEWERS["manager in general"], "list")
    named = {part.text.count("rated by") for part in shown.parts if "question0" in part.text}
    assert named == {1}
    assert not any("rated by" in part.text for part in shown.parts if "question1" in part.text)


async def test_without_buttons_the_window_is_filled_in_at_once_and_says_what_was_said_before() -> None:
    store = store_in_memory()
    await rate(store, 1, Rated("direct", explained=True, shared=False))
    ann = asker("test:ann", "direct", manages=False)
    panel = await service(store).answer(ann, "", buttons=False)
    send, cancel = panel.actions
    assert (send.form, send.words, send.typed) == (FORM, "on 1", ("y", "yes"))
    assert cancel == PanelAction(texts.CANCEL, "cancel", typed=("",))
    filled = await service(store).filled("test:ann", send.words)
    assert filled == {"reason": "wrong", "comment": "comment1.", "correction": "correction1."}
    assert await service(store).filled("test:bob", send.words) == {}
