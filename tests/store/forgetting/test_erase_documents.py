"""Documents belong to their place: forgetting leaves them, and names those that its person added. Both engines."""

from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.documents import NewDocument, Passage
from agent.memory.forgetting_plans import AboutTopic, During, Everything, OneThread, Wish
from agent.memory.periods import TimeSpan
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed
from tests.fakes.incoming import START, dm, said

CLUB = Place(GroupAudience("club"))
MINUTE = timedelta(minutes=1)
HELLO = said("my boat is in the harbour", conversation="boats", place=CLUB)
LATER = START + timedelta(days=2)


async def know(store: Store, name: str, *, person: str = "ann", place: Place = CLUB, after: timedelta = MINUTE) -> None:
    """A document that was added a while after the first message."""
    time = HELLO.time + after
    passages = [Passage("The harbour closes at nine.")]
    await store.documents.keep(NewDocument(name, label(place.audience), "test", "channel", person, time, passages))


@pytest.mark.parametrize(
    "wish",
    [
        OneThread("ann", frozenset({"boats"})),
        During("ann", TimeSpan(HELLO.time, HELLO.time + timedelta(hours=1))),
        AboutTopic("ann", "harbour"),
    ],
)
async def test_what_a_person_added_there_stays_and_is_named_before_and_counted_after(either: Store, wish: Wish) -> None:
    await answered(either, HELLO, "noted")
    await know(either, "harbour rules.pdf")
    await know(either, "harbour map.pdf", person="ben")
    await know(either, "menu.pdf", after=timedelta(days=1))
    preview = await either.forgetting.preview(wish)
    assert (preview.documents.count, preview.documents.lines) == (1, ("harbour rules.pdf",))
    assert (await either.forgetting.forget(wish, LATER)).documents == 1
    kept = await either.documents.listed(frozenset({label(CLUB.audience)}))
    assert {one.name for one in kept} == {"harbour rules.pdf", "harbour map.pdf", "menu.pdf"}


async def test_of_everything_those_of_direct_messages_fall_and_those_of_channels_are_named(either: Store) -> None:
    await answered(either, HELLO, "noted")
    await know(either, "own.pdf", place=dm("ann"))
    await know(either, "rules.pdf")
    preview = await either.forgetting.preview(Everything("ann"))
    assert (preview.documents.lines, preview.counts["documents"]) == (("rules.pdf",), 1)
    receipt = await either.forgetting.forget(Everything("ann"), LATER)
    assert (receipt.documents, receipt.erased["documents"]) == (1, 1)
    assert (await either.forgetting.preview(Everything("ann"))).documents.count == 0, "nobody is named with it any more"


async def test_a_removed_document_is_not_named(either: Store) -> None:
    await answered(either, HELLO, "noted")
    await know(either, "rules.pdf")
    (known,) = await either.documents.listed(frozenset({label(CLUB.audience)}))
    await either.documents.remove(known.id)
    assert (await either.forgetting.preview(OneThread("ann", frozenset({"boats"})))).documents.count == 0


async def test_a_thread_named_after_a_question_that_falls_by_the_wider_yes_is_found(either: Store) -> None:
    ill = await asked(either, "the doctor found hepatitis in my blood", "health")
    told = await asked(either, "what do I have?", "later", "Hepatitis B.", given=(ill,))
    await asked(either, "so with hepatitis no wine?", "wine", "None.", carried=(told + 1,))
    health = OneThread("ann", frozenset({"health"}))
    named = {page.page for page in await either.forgetting.titles(health)}
    wider = {page.page for page in await either.forgetting.titles(health, related=True)}
    assert (named, wider - named) == ({"health"}, {"wine"})


async def asked(
    store: Store,
    question: str,
    conversation: str,
    reply: str = "noted",
    *,
    given: tuple[int, ...] = (),
    carried: tuple[int, ...] = (),
) -> int:
    """A turn in a thread of its own that shows its answer on a page: the id of its question."""
    await store.ledger.accept(said(question, conversation=conversation))
    claim = await claimed(store)
    ending = Closing(
        Outcome.ANSWERED, reply, (f"page of {conversation}",), context_messages=(*given, *carried), given_messages=given
    )
    await store.ledger.finish(claim, ending, claim.incoming.time)
    return claim.message
