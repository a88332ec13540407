"""What a client can do for its person, and for nobody else."""

from datetime import timedelta

import pytest

from agent.admission_terms import Authority
from agent.errors import Refused, ToolError
from agent.incoming import Person
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.tool_policy import PolicyAnswer, PolicyRow
from bot.api.mcp_server import texts
from bot.api.mcp_server.service import CONFIRMATION, PersonalTools
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.mcp_users import ANNA, BEN, FakeMcpUser, personal_tools
from tests.fakes.store import StoreInMemory, store_in_memory


@pytest.fixture
def store() -> StoreInMemory:
    return store_in_memory()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=False)


@pytest.fixture
def anna(store: StoreInMemory, clock: FakeClock) -> PersonalTools:
    return personal_tools(store, FakeMcpUser(clock))


def tools_of(store: StoreInMemory, clock: FakeClock, person: Person) -> PersonalTools:
    return personal_tools(store, FakeMcpUser(clock, person))


async def preview(tools: PersonalTools, what: str = "about boat", *, asks: bool = False) -> str:
    return (await tools.preview_forget(what, "", related=False, asks=asks)).confirmation


async def test_what_was_remembered_is_found_again_listed_and_erased_by_forgetting(anna: PersonalTools) -> None:
    assert await anna.remember("My boat is blue.") == "Remembered: My boat is blue."
    assert "> My boat is blue." in await anna.recall({"query": "boat"})
    assert "My boat is blue." in await anna.memory()
    assert [thread.conversation for thread in await anna.threads()] == ["notes"]
    done = await anna.forget(await preview(anna), asked=False)
    assert "1 message, 1 fact" in done.question
    assert "blue" not in await anna.recall({"query": "boat"})
    assert "blue" not in await anna.memory()


async def test_a_statement_that_may_not_replace_another_is_no_fact_and_says_that_it_was_said(
    store: StoreInMemory, clock: FakeClock
) -> None:
    user = FakeMcpUser(clock, authority=Authority.MANAGER)
    tools = personal_tools(store, user)
    await tools.remember("My boat is blue.")
    user.authority = Authority.EMPLOYEE
    with pytest.raises(ToolError, match=f"Not stored: .*{texts.MESSAGE_STAYS}"):
        await tools.remember("My boat is red now.")
    assert "red" not in await tools.memory()
    await tools.forget(await preview(tools), asked=False)
    assert "red" not in await tools.recall({"query": "boat"})


async def test_a_value_that_no_longer_holds_is_marked_where_it_is_found(anna: PersonalTools) -> None:
    await anna.remember("My boat is blue.")
    await anna.remember("My boat is red now.")
    assert "[superseded: " in await anna.recall({"query": "boat"})


async def test_nobody_finds_reads_or_erases_what_another_person_said(store: StoreInMemory, clock: FakeClock) -> None:
    anna, ben = tools_of(store, clock, ANNA), tools_of(store, clock, BEN)
    await anna.remember("My boat is blue.")
    assert "blue" not in await ben.recall({"query": "boat"})
    assert "blue" not in await ben.memory()
    assert await ben.threads() == []
    with pytest.raises(Refused, match="no thread"):
        await ben.read_thread("notes")
    with pytest.raises(ToolError, match="no thread"):
        await ben.ask("What does it say?", "notes")
    assert await preview(ben, "everything")
    await ben.forget(await preview(ben, "everything"), asked=False)
    assert "> My boat is blue." in await anna.recall({"query": "boat"})


async def test_what_a_reply_in_direct_messages_could_not_hold_is_not_read(
    store: StoreInMemory, clock: FakeClock
) -> None:
    closed, public = Place(GroupAudience("slack:T1:G1")), Place(TeamAudience("slack:T1"))
    for number, place in enumerate((closed, public)):
        await store.ledger.record_context_message(
            said("The launch is in May.", person=ANNA.id, conversation=f"c{number}", place=place)
        )
    stranger = personal_tools(store, FakeMcpUser(clock))
    assert await stranger.threads() == []
    assert "launch" not in await stranger.recall({"query": "launch"})
    for conversation in ("c0", "c1"):
        with pytest.raises(Refused, match="no thread"):
            await stranger.read_thread(conversation)
    member = personal_tools(store, FakeMcpUser(clock, within_team="slack:T1"))
    assert [thread.conversation for thread in await member.threads()] == ["c1"]
    assert "> The launch is in May." in await member.read_thread("c1")


async def test_a_thread_names_who_wrote_and_leaves_out_its_beginning_if_it_is_long(
    store: StoreInMemory, anna: PersonalTools
) -> None:
    await store.ledger.record_context_message(said("It begins.", person=ANNA.id, conversation="long"))
    for _ in range(40):
        await store.ledger.record_context_message(said("x" * 2_000, person=ANNA.id, conversation="long"))
    text = await anna.read_thread("long")
    assert text.startswith(f"{texts.THREAD_HEAD}\n\n{texts.THREAD_CUT}\n\n2026-01-05 ")
    assert "It begins." not in text
    assert len(text) < 65_000


@pytest.mark.parametrize("text", ["Is my boat blue?", "My key is AKIAIOSFODNN7EXAMPLE", "> My boat is blue.", "…"])
async def test_questions_and_secrets_are_not_stored(store: StoreInMemory, anna: PersonalTools, text: str) -> None:
    with pytest.raises(ToolError, match="Not stored"):
        await anna.remember(text)
    assert store.messages == []


@pytest.mark.parametrize(
    ("answer", "sentence"), [(PolicyAnswer.NO, "turned off 'remember'"), (PolicyAnswer.ASK, "requires approval")]
)
async def test_the_operators_policy_holds(
    store: StoreInMemory, clock: FakeClock, answer: PolicyAnswer, sentence: str
) -> None:
    tools = personal_tools(store, FakeMcpUser(clock), [PolicyRow("remember", "*", "*", answer)])
    with pytest.raises(ToolError, match=sentence):
        await tools.remember("My boat is blue.")
    assert store.messages == []
    assert await tools.recall({"query": "boat"})


async def test_each_call_is_in_the_audit_without_its_words(store: StoreInMemory, anna: PersonalTools) -> None:
    await anna.remember("My boat is blue.")
    await anna.recall({"query": "boat"})
    with pytest.raises(ToolError):
        await anna.recall({"query": "boat", "when": "never ever"})
    rows = (await store.audit.newest(10))[::-1]
    assert [(row.tool, row.person, row.channel, row.outcome, row.arguments) for row in rows] == [
        ("remember", ANNA.id, "mcp", "success", ""),
        ("recall", ANNA.id, "mcp", "success", ""),
        ("recall", ANNA.id, "mcp", "failure", ""),
    ]


async def test_a_person_who_may_not_use_the_bot_now_can_do_nothing(store: StoreInMemory, clock: FakeClock) -> None:
    tools = personal_tools(store, FakeMcpUser(clock))
    await tools.remember("My boat is blue.")
    confirmation = await preview(tools)
    refused = personal_tools(store, FakeMcpUser(clock, refusal="You cannot use this bot."))
    for attempt in (
        refused.recall({"query": "boat"}),
        refused.remember("My boat is red."),
        refused.ask("What is blue?", "notes"),
        refused.threads(),
        refused.read_thread("notes"),
        refused.memory(),
        refused.preview_forget("everything", "", related=False, asks=False),
        refused.forget(confirmation, asked=False),
    ):
        with pytest.raises(Refused, match="You cannot use this bot"):
            await attempt


# Confirmations.


async def test_nothing_is_erased_by_the_first_step(anna: PersonalTools) -> None:
    await anna.remember("My boat is blue.")
    shown = await anna.preview_forget("about boat", "", related=False, asks=False)
    assert "My boat is blue." in shown.question
    assert "> My boat is blue." in await anna.recall({"query": "boat"})


@pytest.mark.parametrize(
    "guess", ["", "everything", "everything.secret", "eyJ0b2tlbiI6ImV2ZXJ5dGhpbmcifQ==.x", "é.é", "nothing"]
)
async def test_nothing_is_erased_by_a_guess(anna: PersonalTools, guess: str) -> None:
    await anna.remember("My boat is blue.")
    with pytest.raises(Refused, match="not valid"):
        await anna.forget(guess, asked=False)
    await preview(anna, "everything")
    with pytest.raises(Refused, match="not valid"):
        await anna.forget(guess, asked=False)
    assert "> My boat is blue." in await anna.recall({"query": "boat"})


async def test_a_confirmation_is_valid_once_and_not_for_another_person_or_another_way_of_asking(
    store: StoreInMemory, clock: FakeClock
) -> None:
    anna, ben = tools_of(store, clock, ANNA), tools_of(store, clock, BEN)
    await anna.remember("My boat is blue.")
    await ben.remember("My boat is red.")
    confirmation = await preview(anna, "everything")
    await preview(ben, "everything")
    with pytest.raises(Refused):
        await ben.forget(confirmation, asked=False)
    with pytest.raises(Refused):
        await anna.forget(confirmation, asked=True)
    assert "Forgotten" in (await anna.forget(confirmation, asked=False)).question
    await anna.remember("My car is green.")
    with pytest.raises(Refused):
        await anna.forget(confirmation, asked=False)
    assert "> My car is green." in await anna.recall({"query": "car"})
    assert "> My boat is red." in await ben.recall({"query": "boat"})


async def test_a_confirmation_expires_and_a_newer_one_takes_its_place(anna: PersonalTools, clock: FakeClock) -> None:
    await anna.remember("My boat is blue.")
    late = await preview(anna)
    await clock.advance(texts.CONFIRM_TIME.total_seconds())
    with pytest.raises(Refused):
        await anna.forget(late, asked=False)
    replaced, newer = await preview(anna), await preview(anna)
    with pytest.raises(Refused):
        await anna.forget(replaced, asked=False)
    assert "Forgotten" in (await anna.forget(newer, asked=False)).question


async def test_what_has_changed_since_the_preview_is_asked_about_again(anna: PersonalTools) -> None:
    await anna.remember("My boat is blue.")
    confirmation = await preview(anna)
    await anna.remember("My boat has two sails.")
    again = await anna.forget(confirmation, asked=False)
    assert again.confirmation not in {"", confirmation}
    assert "two sails" in again.question
    assert "> My boat is blue." in await anna.recall({"query": "boat"})


async def test_only_a_digest_of_a_confirmation_is_stored_and_nothing_after_it_was_used(
    store: StoreInMemory, anna: PersonalTools
) -> None:
    await anna.remember("My boat is blue.")
    confirmation = await preview(anna)
    stored = (await store.preferences.all_of(ANNA.id))[CONFIRMATION]
    assert "boat" not in stored
    assert confirmation not in stored
    await anna.forget(confirmation, asked=False)
    assert await store.preferences.all_of(ANNA.id) == {}


async def test_this_thread_is_the_one_that_was_named(store: StoreInMemory, anna: PersonalTools) -> None:
    await anna.remember("My boat is blue.")
    other = said("My car is green.", person=ANNA.id, conversation="other")
    await store.ledger.record_context_message(other)
    shown = await anna.preview_forget("thread", "other", related=False, asks=False)
    await anna.forget(shown.confirmation, asked=False)
    assert "> My boat is blue." in await anna.recall({"query": "boat"})
    assert "green" not in await anna.recall({"query": "car"})
    unnamed = await anna.preview_forget("thread", "", related=False, asks=False)
    assert (unnamed.confirmation, unnamed.refused) == ("", True)
    assert timedelta() < texts.CONFIRM_TIME
