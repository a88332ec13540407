"""Events of webhooks: stored once, found when they are due, begun once. On both engines."""

from dataclasses import replace
from datetime import timedelta

from agent.events import Outcome
from agent.incoming import Incoming
from agent.ports.webhooks import ArrivedEvent, EventAdded, EventState, NewEventTurn, NewWebhookEvent, WebhookEvent
from agent.progress import decode
from agent.turn_kinds import TurnKind
from agent.turn_records import Claiming, Closing
from store.engine import Store
from tests.fakes.incoming import START, said
from tests.store.engines import same_on_either

HOOKS = frozenset({"alerts", "builds"})
MINUTE = timedelta(minutes=1)
LEASE = timedelta(minutes=5)


def new(id_: str, hook: str = "alerts", **more: object) -> NewWebhookEvent:
    return replace(NewWebhookEvent(hook, (id_,), f"text of {id_}"), **more)


async def add(store: Store, *events: NewWebhookEvent, limit: int = 100) -> list[EventAdded]:
    """Store them in one transaction."""
    return await store.webhook_events.add([ArrivedEvent(event, START, START) for event in events], limit)


async def due(
    store: Store, state: EventState = EventState.RECEIVED, *, after: timedelta = timedelta(), limit: int = 100
) -> list[WebhookEvent]:
    return await store.webhook_events.due(HOOKS, state, START + after, limit)


def turn_of(event: WebhookEvent, state: EventState = EventState.DONE, *, asks: bool = False) -> NewEventTurn:
    kind, name = (TurnKind.EVENT_QUESTION, f"{event.name}:ask") if asks else (TurnKind.EVENT, event.name)
    incoming = replace(said(event.text), event_id=name, message_id=name, kind=kind, own=False, hook=event.hook)
    return NewEventTurn(incoming, state, None if asks else event.text)


async def posted(store: Store, event: WebhookEvent, *pages: str, state: EventState = EventState.DONE) -> Incoming:
    """Begin the event's turn, and end it with these pages."""
    assert await store.webhook_events.begin(event, turn_of(event, state), START)
    claim = await store.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    assert decode(claim.progress).reply == event.text
    closing = Closing(Outcome.ANSWERED, event.text, pages=pages, excluded_from_learning=True)
    await store.ledger.finish(claim, closing, START)
    return claim.incoming


@same_on_either
async def test_a_delivery_is_stored_once_by_any_of_its_ids(either: Store) -> None:
    first = new("a", ids=("a", "b"))
    assert await add(either, first, new("a"), new("c", ids=("c", "a"))) == [
        EventAdded.STORED,
        EventAdded.DUPLICATE,
        EventAdded.DUPLICATE,
    ]
    assert await add(either, new("b"), new("a", "builds")) == [EventAdded.STORED] * 2, "another hook has its own"


@same_on_either
async def test_a_duplicate_is_one_after_its_event_is_done(either: Store) -> None:
    await add(either, new("a"))
    (event,) = await due(either)
    await posted(either, event, "1.1")
    assert await add(either, new("a")) == [EventAdded.DUPLICATE]
    assert await due(either, after=LEASE) == []


async def test_an_ignored_delivery_is_known_until_many_more_of_its_hook_were_ignored(either: Store) -> None:
    events = either.webhook_events
    for id_ in ("a", "b", "c"):
        assert await events.add_ignored("alerts", (id_,), START) is EventAdded.STORED
    assert await events.add_ignored("builds", ("a",), START) is EventAdded.STORED, "another hook has its own"
    assert await events.add_ignored("alerts", ("x", "b"), START) is EventAdded.DUPLICATE
    assert await add(either, new("a"), new("d"), limit=1) == [EventAdded.DUPLICATE, EventAdded.STORED]
    assert [event.text for event in await due(either)] == ["text of d"]
    assert await events.prune(START, START, 2) == 0
    assert await add(either, new("a"), new("b"), new("c"), new("a", "builds")) == [
        EventAdded.STORED,
        EventAdded.DUPLICATE,
        EventAdded.DUPLICATE,
        EventAdded.DUPLICATE,
    ]


@same_on_either
async def test_only_so_many_events_of_a_hook_wait(either: Store) -> None:
    assert await add(either, new("a"), new("b"), new("c"), new("a", "builds"), limit=2) == [
        EventAdded.STORED,
        EventAdded.STORED,
        EventAdded.FULL,
        EventAdded.STORED,
    ]


@same_on_either
async def test_hooks_take_turns_and_what_is_held_is_not_due_for_others(either: Store) -> None:
    await add(either, *(new(f"a{number}") for number in range(5)), new("b0", "builds"), new("b1", "builds"))
    texts = [event.text for event in await due(either, limit=4)]
    assert sorted(texts) == ["text of a0", "text of a1", "text of b0", "text of b1"]
    assert len(await due(either)) == 3
    assert len(await due(either, after=MINUTE)) == 7, "after a kill they are found again"


async def test_an_event_is_begun_once_with_its_text_which_its_row_then_forgets(either: Store) -> None:
    await add(either, new("a"))
    (event,) = await due(either)
    asked = await posted(either, event, "1.1")
    assert (asked.kind, asked.text, asked.own, asked.hook) == (TurnKind.EVENT, "text of a", False, "alerts")
    assert await either.webhook_events.begin(event, turn_of(event), START) is None
    assert await either.webhook_events.first_due(HOOKS) is None


async def test_a_question_follows_once_its_event_is_shown(either: Store) -> None:
    await add(either, new("a"))
    (event,) = await due(either)
    assert await either.webhook_events.begin(event, turn_of(event, EventState.POSTED), START)
    (event,) = await due(either, EventState.POSTED, after=MINUTE)
    assert event.text == "text of a"
    assert await either.webhook_events.page_of(event) is None
    assert await either.webhook_events.open_turns(TurnKind.EVENT) == 1
    claim = await either.ledger.claim(Claiming("worker", START, LEASE))
    assert claim is not None
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "x", pages=("1.1", "1.2")), START)
    assert await either.webhook_events.page_of(event) == "1.1"
    assert await either.webhook_events.begin(event, turn_of(event, asks=True), START)
    assert await either.webhook_events.open_turns(TurnKind.EVENT) == 0
    assert await either.webhook_events.open_turns(TurnKind.EVENT_QUESTION) == 1
    assert await due(either, EventState.POSTED, after=LEASE) == []


async def test_events_of_a_key_stand_in_one_thread_until_one_closes_it(either: Store) -> None:
    events = [new("a", key="k"), new("b", key="k"), new("c", key="k", closes=True), new("d", key="k"), new("e")]
    await add(either, *events)
    a, b, c, d, e = await due(either)
    assert await either.webhook_events.thread_of(a) == ""
    assert await either.webhook_events.thread_of(b) is None, "the first is not posted yet"
    await posted(either, a, "1.1")
    assert await either.webhook_events.thread_of(b) == "1.1"
    begun = replace(turn_of(b), thread="1.1")
    assert await either.webhook_events.begin(b, begun, START)
    assert await either.webhook_events.thread_of(c) == "1.1", "the thread, not the message in it"
    assert await either.webhook_events.thread_of(d) == ""
    assert await either.webhook_events.thread_of(e) == ""


async def test_an_event_whose_message_was_not_shown_has_no_thread(either: Store) -> None:
    await add(either, new("a", key="k"), new("b", key="k"))
    a, b = await due(either)
    await posted(either, a)
    assert await either.webhook_events.thread_of(b) == ""


async def test_what_waits_too_long_is_dropped_with_its_text_and_old_ids_are_deleted(either: Store) -> None:
    await add(either, new("a"), new("b"))
    a, _ = await due(either)
    await posted(either, a, "1.1")
    later = START + timedelta(days=3)
    assert await either.webhook_events.prune(START, later, 10) == 1
    assert await due(either, after=timedelta(days=3)) == []
    assert await add(either, new("b")) == [EventAdded.DUPLICATE]
    assert await either.webhook_events.prune(later, later, 10) == 0
    assert await add(either, new("b")) == [EventAdded.STORED]


async def test_what_is_put_off_or_ended_is_not_due(either: Store) -> None:
    await add(either, new("a"), new("b"))
    a, b = await due(either)
    await either.webhook_events.put_off(a, START + timedelta(hours=1))
    await either.webhook_events.end(b, EventState.DROPPED)
    assert await due(either, after=MINUTE) == []
    assert await either.webhook_events.first_due(HOOKS) == START + timedelta(hours=1)
    assert [event.text for event in await due(either, after=timedelta(hours=2))] == ["text of a"]
