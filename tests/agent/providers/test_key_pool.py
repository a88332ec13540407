"""Several keys of one service: which is used, for how long one rests, and what operators read of a bad one."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import KeyTrouble, ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, NativeContent, Role
from agent.ports.model import (
    CallOptions,
    HandleKept,
    KeepingProvider,
    ProviderEvent,
    ResponseEnded,
    StopReason,
    TokensArrived,
)
from agent.providers.catalog import OPENAI, Mode
from agent.providers.factory import ProviderWorld, open_with_keys
from agent.providers.faults import RetryPolicy
from agent.providers.key_pool import (
    LIMITED_S,
    SET_ASIDE_S,
    WORKS_S,
    KeyPoolProvider,
    KeyRing,
    OpenedProvider,
    OwnKeyRing,
)
from agent.providers.keys import MAX_KEYS, MIN_SHOWN_OF, key_end, own_mark, split_keys
from agent.providers.scripted import Answer, ScriptedProvider
from tests.contracts.model_world import Calls, Refuses, Says
from tests.fakes.clock import FakeClock
from tests.fakes.gemini_service import MODEL as GEMINI_MODEL
from tests.fakes.gemini_service import gemini_at
from tests.fakes.interactions_service import InteractionsWire, interactions_service
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.one_turn import Echo, echo_call, run_turn
from tests.fakes.openai_service import MODEL, serving
from tests.patience import PATIENCE_S

KEYS = ("sk-organization-one-1111", "sk-organization-two-2222", "sk-organization-six-6666")
QUESTION = (Message(Role.USER, "Hello?"),)
HOUR = 3_600.0


def limited(retry_after_s: float = 0.0) -> ProviderError:
    error = ProviderUnavailable("OpenAI is limiting requests (429).")
    error.key_trouble, error.retry_after_s = KeyTrouble.LIMITED, retry_after_s
    return error


def refused(trouble: KeyTrouble = KeyTrouble.REFUSED) -> ProviderError:
    error = ProviderRefused("OpenAI refused the API key (401).")
    error.key_trouble = trouble
    return error


@dataclass(slots=True)
class Pool:
    """Scripted models, one for each key, and what operators were warned of."""

    scripts: Sequence[Sequence[Answer]]
    clock: FakeClock = field(default_factory=FakeClock)
    warned: list[str] = field(default_factory=list[str])
    models: list[ScriptedProvider] = field(default_factory=list[ScriptedProvider])
    provider: KeyPoolProvider = field(init=False)

    def __post_init__(self) -> None:
        self.models = [ScriptedProvider(script, name="openai:m") for script in self.scripts]
        ring = KeyRing(OPENAI, KEYS[: len(self.scripts)], self.clock, self.warned.append)
        self.provider = KeyPoolProvider(self.models, ring, self.clock, RetryPolicy())

    async def ask(self) -> str:
        return texts([event async for event in self.provider.stream(QUESTION)])

    @property
    def asked(self) -> list[int]:
        """How many requests were sent with each key."""
        return [len(model.requests) for model in self.models]


def texts(events: Sequence[ProviderEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TokensArrived))


# Which key is used


async def test_a_key_that_works_is_used_for_every_question() -> None:
    pool = Pool([["one", "two", "three"], []])
    assert [await pool.ask() for _ in range(3)] == ["one", "two", "three"]
    assert pool.asked == [3, 0]


async def test_a_limited_key_rests_as_long_as_the_service_says_and_the_next_one_stays_in_use_afterwards() -> None:
    pool = Pool([[[limited(600)], "never"], ["one", "two", "three", [limited(60)]]])
    assert await pool.ask() == "one"
    await pool.clock.advance(599)
    assert await pool.ask() == "two"
    assert pool.asked == [1, 2]
    await pool.clock.advance(2)
    assert await pool.ask() == "three"
    assert pool.asked == [1, 3]  # a change back would cost the cache of the second organization
    assert await pool.ask() == "never"
    assert pool.warned == []


async def test_a_limit_of_one_model_leaves_the_key_to_other_models() -> None:
    clock = FakeClock()
    ring = KeyRing(OPENAI, KEYS, clock, list[str]().append)
    ring.failed(0, "openai:large", limited(60))
    assert ring.usable("openai:large") == [1, 2]
    assert ring.usable("openai:small") == [0, 1, 2]


@pytest.mark.parametrize("trouble", [KeyTrouble.REFUSED, KeyTrouble.NO_CREDIT])
async def test_a_bad_key_is_set_aside_for_all_models_and_operators_read_it_once(trouble: KeyTrouble) -> None:
    pool = Pool([[[refused(trouble)], [refused(trouble)]], ["one", "two", [limited(HOUR)]]])
    assert [await pool.ask(), await pool.ask()] == ["one", "two"]
    assert pool.asked == [1, 2]
    assert pool.provider.ring.usable("openai:another") == [1]
    assert len(pool.warned) == 1
    assert "API key 1 of 2 in OPENAI_API_KEY (…1111)" in pool.warned[0]
    assert pool.provider.ring.set_aside() == pool.warned
    await pool.clock.advance(SET_ASIDE_S)
    with pytest.raises(ProviderUnavailable):
        await pool.ask()  # the first is tried again, and refused again
    assert pool.asked == [2, 3]
    assert len(pool.warned) == 1


async def test_a_key_that_works_again_is_good_and_its_next_refusal_is_news() -> None:
    pool = Pool([[[refused()], "back", [refused()]], ["one", [limited(HOUR)], "two"]])
    await pool.ask()
    await pool.clock.advance(SET_ASIDE_S)
    assert await pool.ask() == "back"
    assert pool.provider.ring.set_aside() == []
    await pool.clock.advance(HOUR)
    assert await pool.ask() == "two"
    assert len(pool.warned) == 2


@pytest.mark.parametrize("error", [ProviderUnavailable("A server error (500)."), ProviderRefused("Unknown model.")])
async def test_an_error_that_no_other_key_would_avoid_is_raised_at_once(error: ProviderError) -> None:
    pool = Pool([[[error]], ["one"]])
    with pytest.raises(type(error)):
        await pool.ask()
    assert pool.asked == [1, 0]


async def test_an_answer_that_has_begun_is_not_begun_anew_and_its_key_rests_for_the_next_question() -> None:
    broken = StreamBroken("The answer was cut off with an error (429).")
    broken.key_trouble, broken.retry_after_s = KeyTrouble.LIMITED, 60
    pool = Pool([[["half an ans", broken]], ["one"]])
    shown: list[ProviderEvent] = []

    async def read() -> None:
        async for event in pool.provider.stream(QUESTION):
            shown.append(event)  # noqa: PERF401 -- what came before the error counts

    with pytest.raises(StreamBroken):
        await read()
    assert (texts(shown), pool.asked) == ("half an ans", [1, 0])
    assert await pool.ask() == "one"
    assert pool.asked == [1, 1]


# When no key is left


async def test_keys_that_are_all_limited_give_the_earliest_time() -> None:
    pool = Pool([[[limited(7_300)]], [[limited(300)]], [[refused()]]])
    with pytest.raises(ProviderUnavailable) as failed:
        await pool.ask()
    assert failed.value.retry_after_s == 300
    assert "can be used again in 5 minutes (12:05:00 UTC)" in failed.value.reason.to_operator
    assert failed.value.reason.to_person == "OpenAI is limiting requests. Please ask again in 5 minutes."
    with pytest.raises(ProviderUnavailable):
        await pool.ask()
    assert pool.asked == [1, 1, 1]  # nothing is sent before that time


async def test_a_short_limit_of_all_keys_is_waited_for_as_with_one_key() -> None:
    pool = Pool([[[limited(20)], "one"], [[limited(9)], [limited(60)]]])
    assert await pool.ask() == "one"
    assert (pool.clock.monotonic(), pool.asked) == (20, [2, 2])


async def test_a_limit_without_a_time_is_a_short_one() -> None:
    pool = Pool([[[limited()], "one"], [[limited()]]])
    assert await pool.ask() == "one"
    assert pool.clock.monotonic() == LIMITED_S


async def test_keys_that_are_all_refused_are_one_error_and_one_of_them_is_tried_for_each_question() -> None:
    pool = Pool([[[refused()], "back"], [[refused()], [refused()]]])
    with pytest.raises(ProviderRefused) as failed:
        await pool.ask()
    assert str(failed.value) == (
        "None of the 2 API keys in OPENAI_API_KEY (…1111, …2222) works: OpenAI refused them, or their "
        "accounts have no credit left. Check OPENAI_API_KEY."
    )
    assert failed.value.reason.to_person != str(failed.value)
    assert len(pool.warned) == 2
    assert await pool.ask() == "back"
    assert pool.asked == [2, 1]


async def test_accounts_that_are_all_empty_are_said_to_be_so() -> None:
    empty = KeyTrouble.NO_CREDIT
    pool = Pool([[[refused(empty)]], [[refused(empty)]]])
    with pytest.raises(ProviderRefused, match="no credit left"):
        await pool.ask()


# Turns


async def test_a_turn_that_changes_its_key_sends_the_whole_context_without_what_only_the_first_key_can_open() -> None:
    sealed, own = (NativeContent("responses", ({"encrypted_content": one},)) for one in ("for one", "for two"))
    ends = [["a", ResponseEnded(StopReason.END, native=native)] for native in (sealed, own)]
    pool = Pool([[ends[0], [limited(60)]], [ends[1], "c"]])
    session = pool.provider.connect(CallOptions())
    rounds = [QUESTION[0]]
    for native in (sealed, own, None):
        answer = [event async for event in session.answer(rounds)]
        assert isinstance(answer[-1], ResponseEnded)
        rounds = [*rounds, Message(Role.ASSISTANT, texts(answer), native=native), Message(Role.USER, "<results>")]
    await session.close()
    first, second = pool.models[1].requests
    assert [message.text for message in second] == ["Hello?", "a", "<results>", "a", "<results>"]
    assert [message.native for message in first] == [None] * 3
    assert [message.native for message in second] == [None, None, None, own, None]


async def test_a_turn_stays_with_its_key_although_another_one_is_in_use_by_now() -> None:
    pool = Pool([["one", "three"], ["two"]])
    session = pool.provider.connect(CallOptions())
    assert texts([event async for event in session.answer(QUESTION)]) == "one"
    pool.provider.ring.worked(1, "openai:m")
    assert texts([event async for event in session.answer(QUESTION)]) == "three"
    assert pool.asked == [2, 0]


# On the wire


@asynccontextmanager
async def pooled(
    plans: dict[str, list[Reply]],
) -> AsyncGenerator[tuple[KeyPoolProvider, ModelServer, list[str]], None]:
    """A server of Chat Completions that answers each key with its own replies, and a model there with all keys."""
    warned = list[str]()

    def reply(request: Request) -> Reply:
        return plans[request.headers["authorization"].removeprefix("Bearer ")].pop(0)

    async with asyncio.timeout(PATIENCE_S), ModelServer(reply) as server:
        clock = FakeClock()
        endpoint = OPENAI.at(server.url)
        ring = KeyRing(endpoint, list(plans), clock, warned.append)
        opened = open_with_keys(endpoint, "m-1", ring, ProviderWorld(clock, lambda: 0.0), Mode.AUTO)
        assert isinstance(opened, KeyPoolProvider)
        yield opened, server, warned
        await opened.aclose()


def hi() -> Reply:
    return [head(), text("Hi"), text("", finish_reason="stop"), DONE]


BAD_KEY = whole(401, {"error": {"message": "Incorrect API key provided: sk-or***2222.", "code": "invalid_api_key"}})
LEAKED = whole(403, {"error": {"message": "Your API key was reported as leaked. Please use another API key."}})
BUSY = whole(429, {"error": {"message": "Rate limit reached"}}, extra="retry-after: 120\r\n")
EMPTY = whole(429, {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}})


@pytest.mark.parametrize(("refusal", "warnings"), [(BAD_KEY, 1), (LEAKED, 1), (EMPTY, 1), (BUSY, 0)])
async def test_the_next_key_answers_without_a_wait_when_the_service_refuses_the_first(
    refusal: Reply, warnings: int
) -> None:
    async with pooled({KEYS[0]: [refusal], KEYS[1]: [hi(), hi()]}) as (provider, server, warned):
        for _ in range(2):
            assert texts([event async for event in provider.stream(QUESTION)]) == "Hi"
        assert provider.clock.monotonic() == 0
    used = [request.headers["authorization"][-4:] for request in server.requests]
    assert used == ["1111", "2222", "2222"]
    assert len(warned) == warnings


async def test_a_403_about_what_a_key_may_do_is_no_bad_key() -> None:
    forbidden = whole(403, {"error": {"message": "Project does not have access to model m-1."}})
    async with pooled({KEYS[0]: [forbidden], KEYS[1]: [hi()]}) as (provider, server, warned):
        with pytest.raises(ProviderRefused, match="does not permit this request"):
            _ = [event async for event in provider.stream(QUESTION)]
    assert (len(server.requests), warned) == (1, [])


async def test_two_processes_each_find_out_which_keys_work_and_no_question_is_lost() -> None:
    left = {KEYS[0]: 3, KEYS[1]: 100}  # how many requests the service accepts with each key

    def reply(request: Request) -> Reply:
        key = request.headers["authorization"].removeprefix("Bearer ")
        left[key] -= 1
        return hi() if left[key] >= 0 else BUSY

    async with asyncio.timeout(PATIENCE_S), ModelServer(reply) as server:
        clock, endpoint = FakeClock(), OPENAI.at(server.url)
        rings = [KeyRing(endpoint, KEYS[:2], clock, list[str]().append) for _ in range(2)]
        world = ProviderWorld(clock, lambda: 0.0)
        processes = [open_with_keys(endpoint, "m-1", ring, world, Mode.AUTO) for ring in rings]

        async def ask(number: int) -> str:
            return texts([event async for event in processes[number % 2].stream(QUESTION)])

        assert await asyncio.gather(*map(ask, range(12))) == ["Hi"] * 12
        learned = len(server.requests)
        assert [await ask(number) for number in range(4)] == ["Hi"] * 4
        for process in processes:
            await process.aclose()
    assert clock.monotonic() == 0, "nobody waited"
    assert {request.headers["authorization"][-4:] for request in server.requests[learned:]} == {"2222"}


async def test_a_turn_over_a_websocket_goes_on_with_another_key_and_its_socket() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as service:
        service.keys = KEYS
        service.planned += [
            Calls((echo_call("one"),), reasoning="Hm."),
            Refuses(429, "rate_limit_exceeded", retry_after_s=120),
            Calls((echo_call("two"),)),
            Says(("Hi",)),
        ]
        clock, warned = FakeClock(), list[str]()
        endpoint = OPENAI.at(service.url)
        ring = KeyRing(endpoint, KEYS, clock, warned.append)
        provider = open_with_keys(endpoint, MODEL, ring, ProviderWorld(clock, lambda: 0.0), Mode.AUTO)
        echo = Echo()
        ran = await run_turn(provider, echo)
        await provider.aclose()
    assert (ran.ended.text, echo.said) == ("Hi", ["one", "two"])
    assert [key[-4:] for key in service.asked_with] == ["1111", "1111", "2222", "2222"]
    assert [asked.resumed for asked in service.asked] == [False, True, False, True]
    whole_context = "\n".join(service.asked[2].texts)
    assert "Anna hears one" in whole_context
    assert "You are a bot." in whole_context


async def test_a_stored_response_is_deleted_with_the_key_that_stored_it_also_by_another_process() -> None:
    wire = InteractionsWire(stubborn={"v1_1"})
    async with asyncio.timeout(PATIENCE_S), interactions_service(wire) as (world, _):
        world.plan(Says(("Hi",)))
        endpoint, clock = gemini_at(world.server.url), FakeClock()

        def opened() -> KeyPoolProvider:
            ring = KeyRing(endpoint, KEYS, clock, list[str]().append)
            ring.failed(0, f"gemini:{GEMINI_MODEL}", limited(60))
            pool = open_with_keys(endpoint, GEMINI_MODEL, ring, ProviderWorld(clock, lambda: 0.0), Mode.RESUME)
            assert isinstance(pool, KeyPoolProvider)
            return pool

        pool = opened()
        session = pool.connect(CallOptions())
        events = [event async for event in session.answer(QUESTION)]
        kept = await session.close()
        assert kept == tuple(event.handle for event in events if isinstance(event, HandleKept)) != ()
        await pool.aclose()
        assert KEYS[1] not in kept[0]
        wire.stubborn.clear()
        later = opened()
        assert await later.forget_handles(kept) == ()
        await later.aclose()
        deletions = [request for request in world.server.requests if request.method == "DELETE"]
    assert wire.stored == []
    assert {request.headers["x-goog-api-key"] for request in deletions} == {KEYS[1]}


async def test_what_one_of_several_keys_stored_is_deleted_if_that_is_the_only_one_left() -> None:
    wire = InteractionsWire(stubborn={"v1_1"})
    async with asyncio.timeout(PATIENCE_S), interactions_service(wire) as (world, _):
        world.plan(Says(("Hi",)))
        endpoint, clock = gemini_at(world.server.url), FakeClock()

        def opened(keys: Sequence[str]) -> OpenedProvider:
            ring = KeyRing(endpoint, keys, clock, list[str]().append)
            return open_with_keys(endpoint, GEMINI_MODEL, ring, ProviderWorld(clock, lambda: 0.0), Mode.RESUME)

        several, alone = opened(KEYS), opened(KEYS[:1])
        assert isinstance(several, KeyPoolProvider)
        session = several.connect(CallOptions())
        _ = [event async for event in session.answer(QUESTION)]
        kept = await session.close()
        await several.aclose()
        wire.stubborn.clear()
        assert isinstance(alone, KeepingProvider)
        assert wire.stored != []
        assert await alone.forget_handles(kept) == ()
        await alone.aclose()
    assert wire.stored == []


async def test_what_a_channels_own_key_stored_is_deleted_with_that_key_and_with_no_other() -> None:
    wire = InteractionsWire(stubborn={"v1_1"})
    async with asyncio.timeout(PATIENCE_S), interactions_service(wire) as (world, _):
        world.plan(Says(("Hi",)))
        endpoint, clock = gemini_at(world.server.url), FakeClock()

        def opened(key: str, mark: str) -> KeyPoolProvider:
            ring = OwnKeyRing(endpoint, key, mark * 32, clock, lambda _: None)
            pool = open_with_keys(endpoint, GEMINI_MODEL, ring, ProviderWorld(clock, lambda: 0.0), Mode.RESUME)
            assert isinstance(pool, KeyPoolProvider)
            return pool

        own, others, same = opened(KEYS[0], "a"), opened(KEYS[1], "b"), opened(KEYS[0], "c")
        session = own.connect(CallOptions())
        _ = [event async for event in session.answer(QUESTION)]
        kept = await session.close()
        assert [own_mark(handle) for handle in kept] == ["a" * 32]
        wire.stubborn.clear()
        before = len(world.server.requests)
        assert [await one.forget_handles(kept) for one in (others, same)] == [kept, kept]
        assert len(world.server.requests) == before
        assert await own.forget_handles(kept) == ()
        assert {request.headers["x-goog-api-key"] for request in world.server.requests} == {KEYS[0]}
        for pool in (own, others, same):
            await pool.aclose()
    assert wire.stored == []


async def test_that_a_channels_own_key_works_is_said_once_an_hour_and_each_time_that_it_does_not() -> None:
    clock, heard = FakeClock(), list[KeyTrouble | None]()
    ring = OwnKeyRing(OPENAI, KEYS[0], "a" * 32, clock, heard.append)
    for trouble in (None, None, KeyTrouble.LIMITED, KeyTrouble.REFUSED, KeyTrouble.REFUSED, None):
        if trouble is None:
            ring.worked(0, "openai:m")
        else:
            ring.failed(0, "openai:m", refused(trouble))
    assert heard == [None, KeyTrouble.REFUSED, KeyTrouble.REFUSED, None]
    await clock.advance(WORKS_S)
    ring.worked(0, "openai:m")
    assert heard[4:] == [None], "another process may have noted that it is refused"


# What is shown of a key

KEY_TEXTS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=","), min_size=1, max_size=60)


@given(st.lists(KEY_TEXTS, min_size=2, max_size=4, unique=True))
def test_no_sentence_has_more_of_a_key_than_its_last_four_characters(keys: list[str]) -> None:
    warned = list[str]()
    ring = KeyRing(OPENAI, keys, FakeClock(), warned.append)
    for index in range(len(keys)):
        ring.failed(index, "openai:m", refused())
    said = f"{warned} {ring.exhausted('openai:m')} {ring.exhausted('openai:m').reason} {ring!r}"
    for key in keys:
        assert key_end(key) in said
        assert len(key_end(key)) - 1 <= (4 if len(key) >= MIN_SHOWN_OF else 0)
        assert len(key) < MIN_SHOWN_OF or key[:-4] not in said


SEPARATORS = st.sampled_from([",", ", ", "\n", ",\r\n", " , "])


@given(st.lists(KEY_TEXTS, min_size=1, max_size=MAX_KEYS, unique=True), SEPARATORS)
def test_keys_are_read_as_they_were_listed(keys: list[str], separator: str) -> None:
    assert split_keys(separator.join(keys)) == tuple(keys)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("sk-secret-1,,sk-secret-2", "empty key"),
        ("sk-secret-1,", "empty key"),
        ("sk-secret-1,sk-secret-2,sk-secret-1", "a key twice"),
        ("sk-secret-1 sk-secret-2", "contains a space"),
        ("sk-secret-1,‘sk-secret-2’", "another character"),
        (",".join(f"sk-secret-{number}" for number in range(MAX_KEYS + 1)), "more than 20 keys"),
    ],
)
def test_a_list_that_is_no_list_of_keys_is_refused_by_a_sentence_without_a_key(value: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as failed:
        split_keys(value)
    assert "secret" not in str(failed.value)
