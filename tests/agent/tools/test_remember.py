"""`remember` keeps facts with their source and authority, says what they replace, and keeps no secrets."""

from typing import Any

import pytest

from agent.authority import Authority
from agent.errors import ToolError
from agent.memory.audience import PersonAudience, Place
from agent.memory.facts import ConstraintType, Fact, Scope
from agent.messages import JsonObject, ToolCall
from agent.ports import ToolContext, ToolOutput
from agent.records import Person
from agent.tools.registry import Registry
from agent.tools.remember import WORKING_TIME, RememberTool
from tests.fakes.incoming import START
from tests.fakes.store import FakeStore


def asked(message: int = 1, authority: Authority = Authority.EMPLOYEE) -> ToolContext:
    place = Place(PersonAudience("ann"))
    return ToolContext(Person("ann", "Ann"), place, "thread", message, START, authority=authority)


async def told(store: FakeStore, context: ToolContext, **args: Any) -> ToolOutput:
    wanted: JsonObject = {**args}
    assert Registry([RememberTool(store.facts)]).check(ToolCall("remember", wanted)) is None
    return await RememberTool(store.facts).run(wanted, context)


async def kept(**args: Any) -> Fact:
    store = FakeStore()
    await told(store, asked(), **args)
    return store.facts.kept[0]


async def test_a_secret_is_refused_and_the_model_is_told_why() -> None:
    store = FakeStore()
    with pytest.raises(ToolError, match="password"):
        await told(store, asked(), text="the password of the router is hunter2")
    with pytest.raises(ToolError, match="password"):
        await told(store, asked(), text="hunter2", key="password of the router")
    assert store.facts.kept == ()
    await told(store, asked(), text="the router stands in the cellar")
    assert len(store.facts.kept) == 1


async def test_a_key_replaces_what_stood_under_it_and_the_result_says_so_and_whence_it_came() -> None:
    store = FakeStore()
    assert await told(store, asked(1), text="Friday", key="deadline of Apollo") == ToolOutput(
        "Remembered: deadline of Apollo: Friday"
    )
    assert await told(store, asked(2), text="Monday", key="Deadline of Apollo") == ToolOutput(
        "Remembered: Deadline of Apollo: Monday (it replaces: deadline of Apollo: Friday)", (1,)
    )
    assert [(fact.value, fact.is_valid) for fact in store.facts.kept] == [("Friday", False), ("Monday", True)]


async def test_without_a_key_it_replaces_what_it_contradicts() -> None:
    store = FakeStore()
    await told(store, asked(1), text="The meeting is on Tuesday.")
    answer = await told(store, asked(2), text="The meeting is on Thursday.")
    assert answer.text == "Remembered: The meeting is on Thursday. (it replaces: The meeting is on Tuesday.)"


async def test_the_authority_is_that_of_the_turn_and_nobody_supersedes_what_a_greater_one_wrote() -> None:
    store = FakeStore()
    await told(store, asked(1, Authority.MANAGER), text="15%", key="discount")
    with pytest.raises(ToolError, match="not kept: Somebody with greater authority"):
        await told(store, asked(2, Authority.GUEST), text="25%", key="discount")
    assert [fact.authority for fact in store.facts.kept] == [Authority.MANAGER]


async def test_a_constraint_is_for_managers_and_others_are_told_what_they_can_do() -> None:
    store = FakeStore()
    with pytest.raises(ToolError, match=r'Only a manager .* leave out "kind"'):
        await told(store, asked(), text="5,000 EUR", key="budget", kind="budget")
    await told(store, asked(1, Authority.MANAGER), text="5,000 EUR", key="budget", kind="budget")
    (fact,) = store.facts.kept
    assert (fact.is_constraint, fact.constraint_type, fact.person) == (True, ConstraintType.BUDGET, "ann")


@pytest.mark.parametrize(
    ("scope", "where"),
    [
        ("global", None),
        ("task", "1"),
        ("hypothetical", "thread"),
        ("draft", "thread"),
        ("session", "thread"),
    ],
)
async def test_each_scope_holds_where_it_should(scope: str, where: str | None) -> None:
    fact = await kept(text="we take the train", scope=scope)
    assert (fact.scope, fact.scope_id) == (Scope(scope), where)


async def test_what_is_for_now_goes_into_the_working_set_for_a_day() -> None:
    store = FakeStore()
    store.working_set.stands.add(1)
    tool = RememberTool(store.facts, store.working_set)
    answer = await tool.run({"text": "by train", "key": "route", "scope": "session"}, asked())
    assert answer == ToolOutput("Kept for this conversation, for a day: by train")
    assert store.facts.kept == ()
    ((where, audience, item),) = store.working_set.kept
    assert (where, audience, item.key, item.value, item.message) == ("thread", "person:ann", "route", "by train", 1)
    assert item.expires_at == START + WORKING_TIME


async def test_what_follows_from_a_fact_depends_on_it() -> None:
    store = FakeStore()
    await told(store, asked(1), text="100 EUR", key="budget")
    await told(store, asked(2), text="two days", key="length of the trip", depends_on=["budget"])
    await told(store, asked(3), text="50 EUR", key="budget")
    assert [fact.key for fact in store.facts.kept if fact.needs_review] == ["length of the trip"]


@pytest.mark.parametrize(
    "args",
    [{"text": ""}, {"text": "x", "person": "ben"}, {"text": "x", "authority": "admin"}, {"text": "x", "scope": "all"}],
)
def test_whose_it_is_and_with_which_authority_is_no_argument(args: dict[str, Any]) -> None:
    assert Registry([RememberTool(FakeStore().facts)]).check(ToolCall("remember", args)) is not None
