"""The service for forgetting, and its background jobs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import AudienceKind
from agent.memory.forgetting_plans import CONNECTED, EDIT, ForgettingPlan, Gone, Preview, Receipt, Wish
from agent.shown_replies import ShownPage
from agent.turn_records import Closing
from bot.chat.access.admission import RateCounter, RateLimits
from bot.chat.access.connected_accounts import ConnectedAccounts
from bot.chat.jobs import JobWorker
from bot.chat.reply.surface import PageGone, PageUnsent
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.answers import ForgetProgress
from bot.forgetting.retention import EXPIRED, EXPIRY_INTERVAL, GONE, SWEEP, ReplyDeletion, Retention
from bot.forgetting.service import LISTEN_S, LONGEST, MAX_WAITING, SEARCH, TELL_AFTER_S, ForgetService
from store.erased_ids import ErasedIds
from store.forgetting.selection import unwatched
from store.forgetting.sql_forgetting import SqlForgetting
from store.preferences import SqlPreferences
from tests.contracts.steps import answered, claimed
from tests.fakes.askers import asker
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import START, said
from tests.fakes.slack_things import RESPONSES
from tests.fakes.store import KEY, StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

ANN = asker("ann", frozenset({"thread"}))


@dataclass
class World:
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    taken_back: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])

    @property
    def service(self) -> ForgetService:
        async def take_back(person: str, conversation: str | None) -> None:
            self.taken_back.append((person, conversation))

        async def withdraw(source: str, channel: str, message: str) -> bool:
            return await self.store.ledger.withdraw(source, channel, message, self.clock.now())

        return ForgetService(
            forgetting=self.store.forgetting,
            ledger=self.store.ledger,
            jobs=self.store.jobs,
            preferences=self.store.preferences,
            clock=self.clock,
            take_back=take_back,
            withdraw=withdraw,
            accounts=ConnectedAccounts(self.store.preferences).of,
        )

    def worker(self, days: dict[AudienceKind, int]) -> JobWorker:
        handlers = Retention(self.store.forgetting, self.store.jobs, self.clock, days).handlers
        return JobWorker(self.store.jobs, handlers, self.clock, "worker")

    @property
    def texts(self) -> list[str]:
        return [message.text for _, message in self.store.messages]


@pytest.mark.slow
async def test_it_says_how_much_and_what_before_it_erases_exactly_that() -> None:
    world = World()
    await answered(world.store, said("the Apollo boat"), "noted")
    question = await world.service.ask(ANN, "about Apollo")
    assert "2 messages" in question.text
    assert "- the Apollo boat" in question.text
    assert world.texts == ["the Apollo boat", "noted"]
    assert (await world.service.forget(ANN, question.token)).text.startswith("Forgotten: 2 messages")
    assert world.texts == []


@pytest.mark.slow
async def test_what_may_say_the_same_elsewhere_is_shown_and_falls_only_with_the_wider_yes() -> None:
    for wider in (False, True):
        store = store_in_memory()
        service = replace(World().service, forgetting=store.forgetting, ledger=store.ledger, jobs=store.jobs)
        ill = await answered(store, said("the doctor found hepatitis", conversation="thread"), "noted")
        await store.ledger.accept(said("may I drink?", conversation="later"))
        ending = Closing(Outcome.ANSWERED, "Not with that organ.", context_messages=(ill.message,))
        await store.ledger.finish(await claimed(store), ending, START)
        question = await service.ask(ANN, "thread")
        assert (
            "1 answer of mine does not use the same words, but I wrote it while I could see what you want to forget."
            in question.text
        )
        assert "- Not with that organ." in question.text
        receipt = await service.forget(ANN, question.wider if wider else question.token)
        assert ("elsewhere may say the same thing in other words" in receipt.text) is not wider
        left = await store.conversations.history("later", before_turn=99, limit=9)
        assert [one.text for one in left] == ["may I drink?", "Not with that organ."][: 1 if wider else 2]


async def test_what_was_told_again_elsewhere_is_shown_before_it_falls() -> None:
    store = store_in_memory()
    service = replace(World().service, forgetting=store.forgetting, ledger=store.ledger, jobs=store.jobs)
    ill = await answered(store, said("the doctor found hepatitis", conversation="thread"), "noted")
    await store.ledger.accept(said("what do I have?", conversation="later"))
    recalled = Closing(Outcome.ANSWERED, "A bad liver.", context_messages=(ill.message,), given_messages=(ill.message,))
    await store.ledger.finish(await claimed(store), recalled, START)
    question = await service.ask(ANN, "thread")
    assert "1 answer of mine elsewhere" in question.text
    assert "- A bad liver." in question.text
    assert question.wider == ""


class SlowForgetting(SqlForgetting):
    """Searches until the test lets it go on."""

    def __init__(self, store: StoreInMemory) -> None:
        super().__init__(store.database, ErasedIds(KEY))
        self.looking: list[str] = []
        self.go_on, self.one_looks, self.two_look = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def preview(self, plan: Wish, watch: Callable[[int], object] = unwatched) -> Preview:
        self.looking.append(plan.person)
        self.one_looks.set()
        if len(self.looking) > 1:
            self.two_look.set()
        watch(7)
        await self.go_on.wait()
        watch(7_000)
        return await super().preview(plan, watch)


@pytest.mark.slow
async def test_a_flood_of_wishes_to_forget_keeps_nobody_elses_waiting() -> None:
    store = store_in_memory()
    slow = SlowForgetting(store)
    service = World(replace(store, forgetting=slow)).service
    await answered(store, said("the Apollo boat"), "noted")
    async with asyncio.timeout(PATIENCE_S):
        flood = [asyncio.ensure_future(service.ask(ANN, "everything")) for _ in range(50)]
        others = asyncio.ensure_future(service.ask(asker("bo"), "everything"))
        await slow.two_look.wait()
        assert slow.looking == ["ann", "bo"]
        slow.go_on.set()
        answers = [one.text for one in await asyncio.gather(*flood)]
        await others
    assert answers.count(forgetting_texts.FORGETTING) == 50 - 1 - MAX_WAITING
    assert "2 messages" in answers[0]


class Screen:
    """Records the progress shown to a person, and acts when the first one is shown."""

    def __init__(self, seen: Callable[[ForgetProgress], object] = lambda _: None) -> None:
        self.shown: list[ForgetProgress] = []
        self._seen = seen

    async def show(self, progress: ForgetProgress) -> None:
        self.shown.append(progress)
        if len(self.shown) == 1:
            self._seen(progress)


async def slow_service() -> tuple[World, SlowForgetting]:
    store = store_in_memory()
    slow = SlowForgetting(store)
    await answered(store, said("the Apollo boat"), "noted")
    return World(replace(store, forgetting=slow)), slow


async def test_who_waits_is_told_how_much_was_found_so_far() -> None:
    world, slow = await slow_service()
    screen = Screen(lambda _: slow.go_on.set())
    async with asyncio.timeout(PATIENCE_S):
        question = await world.service.ask(ANN, "about Apollo", screen.show)
    assert screen.shown == [ForgetProgress(7, erasing=False)]
    assert "2 messages" in question.text
    assert world.clock.monotonic() == pytest.approx(TELL_AFTER_S[0])


async def test_who_need_not_wait_is_told_nothing_but_the_question() -> None:
    world, slow = await slow_service()
    slow.go_on.set()
    screen = Screen()
    assert "2 messages" in (await world.service.ask(ANN, "about Apollo", screen.show)).text
    assert screen.shown == []


@pytest.mark.slow
async def test_nobody_is_told_more_often_than_slack_takes_answers_to_a_click() -> None:
    world, slow = await slow_service()
    screen = Screen()
    async with asyncio.timeout(PATIENCE_S):
        asking = asyncio.ensure_future(world.service.ask(ANN, "about Apollo", screen.show))
        await world.clock.sleep(timedelta(hours=1).total_seconds())
        slow.go_on.set()
        await asking
    assert len(screen.shown) == len(TELL_AFTER_S) < RESPONSES - 1


async def test_what_is_looked_for_is_stopped_by_its_person_alone_and_nothing_is_forgotten() -> None:
    world, slow = await slow_service()
    service = world.service
    stopped: list[bool] = []

    def stop(_: ForgetProgress) -> None:
        stopped.extend(service.stop(person) for person in ("bo", "ann"))
        slow.go_on.set()

    async with asyncio.timeout(PATIENCE_S):
        answer = await service.ask(ANN, "about Apollo", Screen(stop).show)
    assert stopped == [False, True]
    assert (answer.text, answer.token) == (forgetting_texts.FORGET_STOPPED, "")
    assert not service.stop("ann"), "nothing is looked for any more"
    assert "2 messages" in (await service.ask(ANN, "about Apollo")).text


async def test_a_stop_that_another_process_hears_of_ends_it_where_it_runs() -> None:
    world, slow = await slow_service()
    here, elsewhere = world.service, world.service
    async with asyncio.timeout(PATIENCE_S):
        asking = asyncio.ensure_future(here.ask(ANN, "about Apollo"))
        await slow.one_looks.wait()
        assert not await elsewhere.stop_everywhere("bo")
        while not await elsewhere.stop_everywhere("ann"):
            await world.clock.sleep(0.1)
        await world.clock.sleep(LISTEN_S)
        slow.go_on.set()
        answer = await asking
    assert (answer.text, answer.token) == (forgetting_texts.FORGET_STOPPED, "")
    assert not await elsewhere.stop_everywhere("ann"), "nothing is looked for any more"
    assert world.store.chosen == {}
    assert "2 messages" in (await here.ask(ANN, "about Apollo")).text


class PreferencesReadMeanwhile(SqlPreferences):
    """Does something between the read of the preferences and its result."""

    def __init__(self, store: StoreInMemory, meanwhile: Callable[[], object]) -> None:
        super().__init__(store.database)
        self._meanwhile = meanwhile

    async def all_of(self, owner: str) -> dict[str, str]:
        chosen = await super().all_of(owner)
        self._meanwhile()
        return chosen


async def test_a_stop_here_while_others_are_asked_for_theirs_is_not_lost() -> None:
    world, slow = await slow_service()
    stopped: list[bool] = []

    def stop() -> None:
        stopped.append(service.stop("ann"))
        slow.go_on.set()

    service = replace(world.service, preferences=PreferencesReadMeanwhile(world.store, stop))
    async with asyncio.timeout(PATIENCE_S):
        answer = await service.ask(ANN, "about Apollo")
    assert stopped == [True]
    assert (answer.text, answer.token) == (forgetting_texts.FORGET_STOPPED, "")
    assert world.store.chosen == {}


@pytest.mark.slow
async def test_what_is_being_erased_is_not_stopped_by_another_process_either() -> None:
    store = store_in_memory()
    slow, slow_search = SlowErasing(store), SlowForgetting(store)
    await answered(store, said("the Apollo boat"), "noted")
    world = World(replace(store, forgetting=slow))
    service, elsewhere = world.service, world.service
    question = await service.ask(ANN, "about Apollo")
    searching = replace(service, forgetting=slow_search)
    async with asyncio.timeout(PATIENCE_S):
        seen = Screen(lambda _: slow_search.go_on.set())
        receipt = await searching.forget(ANN, question.token, tell=seen.show)
        assert receipt.text.startswith("Forgotten: 2 messages")
        await answered(store, said("the Apollo train"), "noted")
        question = await service.ask(ANN, "about Apollo")
        forgetting = asyncio.ensure_future(service.forget(ANN, question.token))
        for _ in range(30):
            await world.clock.sleep(LISTEN_S)
            assert not await elsewhere.stop_everywhere("ann")
        slow.go_on.set()
        assert (await forgetting).text.startswith("Forgotten: 2 messages")
    assert store.chosen == {}


async def test_the_mark_of_a_process_that_is_gone_is_no_search() -> None:
    world = World()
    mark = f"{SEARCH}{world.clock.now().isoformat()}"
    await world.store.preferences.set("ann", mark, "looking")
    await world.clock.sleep(LONGEST.total_seconds() + 1)
    assert not await world.service.stop_everywhere("ann")
    assert world.store.chosen == {}


async def test_a_wish_that_waits_for_its_turn_is_stopped_before_it_begins() -> None:
    world, slow = await slow_service()
    service = world.service
    async with asyncio.timeout(PATIENCE_S):
        asking = [asyncio.ensure_future(service.ask(ANN, "about Apollo")) for _ in range(2)]
        await slow.one_looks.wait()
        assert service.stop("ann")
        slow.go_on.set()
        answers = await asyncio.gather(*asking)
    assert [one.text for one in answers] == [forgetting_texts.FORGET_STOPPED] * 2
    assert slow.looking == ["ann"]


async def test_nobody_looks_on_for_who_has_gone() -> None:
    world, slow = await slow_service()
    service = world.service
    async with asyncio.timeout(PATIENCE_S):
        asking = asyncio.ensure_future(service.ask(ANN, "about Apollo"))
        await slow.one_looks.wait()
        asking.cancel()
        await asyncio.wait({asking})
        slow.go_on.set()
        assert "2 messages" in (await service.ask(ANN, "about Apollo")).text, "the turn is free"
    assert asking.cancelled()


class SlowErasing(SqlForgetting):
    """Erases when the test lets it."""

    def __init__(self, store: StoreInMemory) -> None:
        super().__init__(store.database, ErasedIds(KEY))
        self.go_on = asyncio.Event()

    async def forget(
        self,
        plan: ForgettingPlan,
        now: datetime,
        *,
        replies: bool = False,
        related: bool = False,
        limit: int | None = None,
    ) -> Receipt:
        await self.go_on.wait()
        return await super().forget(plan, now, replies=replies, related=related, limit=limit)


@pytest.mark.slow
async def test_what_is_being_erased_is_no_longer_stopped_and_its_person_is_told_that_it_takes_a_while() -> None:
    store = store_in_memory()
    slow = SlowErasing(store)
    await answered(store, said("the Apollo boat"), "noted")
    world = World(replace(store, forgetting=slow))
    service = world.service
    stopped: list[bool] = []

    def stop(_: ForgetProgress) -> None:
        stopped.append(service.stop("ann"))
        slow.go_on.set()

    screen = Screen(stop)
    async with asyncio.timeout(PATIENCE_S):
        question = await service.ask(ANN, "about Apollo")
        receipt = await service.forget(ANN, question.token, tell=screen.show)
    assert stopped == [False]
    assert [one.erasing for one in screen.shown] == [True]
    assert receipt.text.startswith("Forgotten: 2 messages")


@pytest.mark.slow
async def test_the_question_and_the_receipt_count_the_same_threads() -> None:
    """Of three threads with erased messages, only one ends up empty."""
    store = store_in_memory()
    service = replace(World().service, forgetting=store.forgetting, ledger=store.ledger, jobs=store.jobs)
    ill = await answered(store, said("the doctor found hepatitis", conversation="thread"), "noted")
    for later in ("bar", "gym"):
        await store.ledger.accept(said("may I?", conversation=later))
        given = (ill.message,)
        ending = Closing(Outcome.ANSWERED, "Not with that.", context_messages=given, given_messages=given)
        await store.ledger.finish(await claimed(store), ending, START)
    question = await service.ask(ANN, "thread")
    assert "That is 4 messages, in 3 threads." in question.text
    receipt = await service.forget(ANN, question.token)
    assert receipt.text.startswith("Forgotten: 4 messages, ")
    assert ", in 3 threads. A search" in receipt.text


@pytest.mark.slow
async def test_what_has_changed_meanwhile_is_asked_again() -> None:
    world = World()
    await answered(world.store, said("the Apollo boat"), "noted")
    question = await world.service.ask(ANN, "about Apollo")
    await answered(world.store, said("the Apollo train"), "noted")
    again = await world.service.forget(ANN, question.token)
    assert again.text.startswith(forgetting_texts.FORGET_CHANGED)
    assert len(world.texts) == 4
    assert not (await world.service.forget(ANN, again.token)).token
    assert world.texts == []


async def test_where_there_is_nothing_it_asks_nothing() -> None:
    answer = await World().service.ask(ANN, "about Apollo")
    assert "I found nothing about" in answer.text
    assert not answer.token
    thread = await World().service.ask(ANN, "this thread")
    assert thread.text.startswith("There is nothing to forget in this thread")
    assert not thread.token


@pytest.mark.slow
async def test_running_answers_are_taken_back_before_their_thread_is_forgotten() -> None:
    world = World()
    await answered(world.store, said("my boat"), "noted")
    await world.service.forget(ANN, (await world.service.ask(ANN, "thread")).token)
    assert world.taken_back == [("ann", "thread")]


async def test_a_deleted_message_is_forgotten_and_its_bytes_are_wiped_soon() -> None:
    world, asked = World(), said("my boat")
    await answered(world.store, asked, "a boat")
    await world.service.deleted(asked.source, asked.channel, [asked.message_id, "unknown"])
    assert world.texts == []
    assert (SWEEP, "") in world.store.waiting_jobs


async def test_a_place_that_is_gone_for_good_is_erased_and_one_that_invites_the_bot_again_is_not() -> None:
    world = World()
    await answered(world.store, said("my boat"), "a boat")
    await world.service.place_gone("server", Gone(conversations=frozenset({"thread"})), at_once=False)
    assert not await world.worker({}).work()
    await world.service.places_back(["server"])
    assert (GONE, "server") not in world.store.waiting_jobs
    await world.service.place_gone("thread", Gone(conversations=frozenset({"thread"})), at_once=True)
    assert await world.worker({}).work()
    assert world.texts == []


async def test_what_is_past_its_time_is_looked_for_each_day(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world = World()
    await answered(world.store, said("my secret boat"), "a boat")
    retiring = Retention(world.store.forgetting, world.store.jobs, world.clock, {AudienceKind.PERSON: 1})
    await retiring.begin()
    await world.clock.advance(timedelta(days=30).total_seconds())
    assert await world.worker({AudienceKind.PERSON: 1}).work()
    assert world.texts == []
    assert world.store.waiting_jobs[EXPIRED, ""].run_at - world.clock.now() <= EXPIRY_INTERVAL
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "2 messages" in line]
    assert not [line for line in lines if "boat" in line]


async def test_a_reply_that_is_gone_already_is_done_and_one_that_cannot_be_reached_is_tried_again() -> None:
    page = ShownPage("slack:T1", "C1", "1.1")
    job = Job(1, 1, "worker", "delete_reply", page.key, page.encode(), World().clock.now())
    deleted: list[ShownPage] = []

    async def gone(page: ShownPage) -> None:
        deleted.append(page)
        raise PageGone("somebody was faster")

    await ReplyDeletion(FakeClock(), {"slack:T1": gone}).delete(job)
    assert deleted == [page]
    with pytest.raises(PageUnsent, match="not connected"):
        await ReplyDeletion(FakeClock(), {}).delete(job)


# Edits, each of which locks the database.

A_MINUTE = RateLimits.of(person_minute=2, person_hour=None, channel_minute=None, backlog=None).rates


async def edited(service: ForgetService, *posts: tuple[Incoming, str]) -> None:
    for post, text in posts:
        assert await service.edited(post.source, post.channel, post.message_id, text)


@pytest.mark.slow
async def test_of_a_flood_of_edits_the_last_of_each_message_is_kept_at_the_rate_of_new_ones() -> None:
    world = World()
    posts = [said(f"boat {n}") for n in range(5)]
    for post in posts:
        await answered(world.store, post, "noted")
    service = replace(world.service, edits=RateCounter(A_MINUTE))
    for turn in range(20):
        await edited(service, *((post, f"train {n}, for the time {turn}") for n, post in enumerate(posts)))
    mine = [text for text in world.texts if text != "noted"]
    assert mine == ["train 0, for the time 0", "train 1, for the time 0", "boat 2", "boat 3", "boat 4"]
    worker = JobWorker(world.store.jobs, {EDIT: service.keep_edit}, world.clock, "worker")
    kept: list[int] = []
    for _ in range(3):
        await world.clock.advance(60.0)
        while await worker.work():
            pass
        kept.append(sum(text.endswith("for the time 19") for text in world.texts))
    assert kept == [2, 4, 5]
    assert [text for text in world.texts if text != "noted"] == [f"train {n}, for the time 19" for n in range(5)]


@pytest.mark.slow
async def test_an_edit_that_need_not_wait_takes_the_place_of_one_that_does() -> None:
    world = World()
    post = said("boat")
    await answered(world.store, post, "noted")
    service = replace(world.service, edits=RateCounter(A_MINUTE))
    await edited(service, (post, "one"), (post, "two"), (post, "three"))
    assert {kind for kind, _ in world.store.waiting_jobs} == {EDIT, SWEEP}
    await world.clock.advance(61.0)
    await edited(service, (post, "four"))
    assert {kind for kind, _ in world.store.waiting_jobs} == {SWEEP}
    assert world.texts == ["four", "noted"]


async def test_what_was_never_said_to_the_bot_is_neither_counted_nor_kept() -> None:
    world = World()
    post = said("boat")
    await answered(world.store, post, "noted")
    service = replace(world.service, edits=RateCounter(A_MINUTE))
    for n in range(9):
        assert not await service.edited(post.source, post.channel, f"other-{n}", "secret")
    await edited(service, (post, "train"))
    assert world.texts == ["train", "noted"]


@pytest.mark.slow
async def test_an_operator_edits_as_much_as_they_like() -> None:
    world = World()
    post = said("boat")
    await answered(world.store, post, "noted")
    service = replace(world.service, edits=RateCounter(A_MINUTE), is_exempt={"ann"}.__contains__)
    await edited(service, *((post, f"train {n}") for n in range(9)))
    assert world.texts == ["train 8", "noted"]


async def test_a_wish_of_connected_accounts_is_about_all_of_them_and_a_thread_is_of_one() -> None:
    world = World()
    for one, other in (("ann", "ann2"), ("ann2", "ann")):
        await world.store.preferences.set(one, f"{CONNECTED} {other}", START.isoformat())
    for person, conversation in (("ann", "thread"), ("ann2", "elsewhere"), ("ben", "his")):
        await answered(world.store, said("my boat", person=person, conversation=conversation), "I see.")
    thread = await world.service.ask(ANN, "thread")
    assert "2 messages" in thread.text
    assert "connected account" not in thread.text
    question = await world.service.ask(ANN, "about boat")
    assert "4 messages" in question.text
    assert question.text.count("my boat") == 1, "what was said elsewhere is counted, and not shown"
    assert "connected account" in question.text
    receipt = await world.service.forget(ANN, question.token)
    assert "Forgotten" in receipt.text
    assert world.texts == ["my boat", "I see."]


async def test_what_an_account_was_told_that_was_connected_since_the_preview_is_shown_first() -> None:
    world = World()
    for person, conversation in (("ann", "thread"), ("ann2", "elsewhere")):
        await answered(world.store, said("my boat", person=person, conversation=conversation), "I see.")
    question = await world.service.ask(ANN, "everything")
    for one, other in (("ann", "ann2"), ("ann2", "ann")):
        await world.store.preferences.set(one, f"{CONNECTED} {other}", START.isoformat())
    again = await world.service.forget(ANN, question.token)
    assert again.text.startswith(forgetting_texts.FORGET_CHANGED)
    assert len(world.texts) == 4
    assert [who for who, _ in world.taken_back] == []
    await world.service.forget(ANN, again.token)
    assert world.texts == []
    assert [who for who, _ in world.taken_back] == ["ann2", "ann"]
    assert await world.store.preferences.all_of("ann2") == {}
