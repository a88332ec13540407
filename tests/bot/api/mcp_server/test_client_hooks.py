"""What MCP clients call and read passes the operator's hooks, as calls and answers of turns do."""

from dataclasses import dataclass, field, replace

import pytest

from agent import texts as agent_texts
from agent.errors import Refused, ToolError
from agent.hooks.values import Answer, Call, Hide, ModelRequest, Refuse
from agent.tool_policy import DecidedBy
from bot.api.mcp_server.service import PersonalTools
from tests.agent.hooks.hook_modules import Function, hooks_with
from tests.fakes.clock import FakeClock
from tests.fakes.mcp_users import FakeMcpUser, personal_tools
from tests.fakes.store import StoreInMemory, store_in_memory

MAIL, NO = "ann@example.com", "I can't discuss that project."
SAID = f"My mail address is {MAIL}."


@dataclass
class Office:
    """Anna, who has said some statements to a bot without hooks."""

    store: StoreInMemory = field(default_factory=store_in_memory)
    user: FakeMcpUser = field(default_factory=lambda: FakeMcpUser(FakeClock()))

    async def say(self, *statements: str) -> None:
        tools = personal_tools(self.store, self.user)
        for statement in statements:
            await tools.remember(statement)

    async def read(self, tools: PersonalTools) -> dict[str, str]:
        """Return all that a client can read of what was said."""
        shown = await tools.preview_forget("about mail", "", related=False, asks=False)
        return {
            "recall": await tools.recall({"query": "mail address"}),
            "thread": await tools.read_thread("notes"),
            "memory": await tools.memory(),
            "title": " ".join(thread.title for thread in await tools.threads()),
            "forget": shown.question,
        }


async def hides_mail(request: ModelRequest) -> Hide:
    return Hide({MAIL: "email"} if any(MAIL in text for text in request.texts) else {})


async def blocks_mail(answer: Answer) -> Refuse | None:
    return Refuse(NO) if MAIL in answer.text else None


async def refuses(_: object) -> Refuse:
    return Refuse(NO)


async def fails(_: object) -> object:
    raise ValueError(MAIL)


async def test_what_a_client_reads_has_placeholders_for_what_models_must_not_read() -> None:
    here = Office()
    await here.say(SAID)
    with hooks_with(before_model=hides_mail) as hooks:
        read = await here.read(personal_tools(here.store, here.user, hooks=hooks))
    for what, text in read.items():
        assert MAIL not in text, what
        assert "[EMAIL-1]" in text, what
    assert MAIL in (await here.read(personal_tools(here.store, here.user)))["recall"], "it is stored as it is"


async def test_what_must_not_leave_in_an_answer_does_not_leave_to_a_client() -> None:
    here = Office()
    await here.say(SAID)
    with hooks_with(after_answer=blocks_mail) as hooks:
        tools = personal_tools(here.store, here.user, hooks=hooks)
        for reading in (tools.recall({"query": "mail address"}), tools.read_thread("notes"), tools.memory()):
            with pytest.raises(Refused) as refused:
                await reading
            assert str(refused.value) == NO
        assert [thread.title for thread in await tools.threads()] == [""]
        assert "boat" in await tools.remember("My boat is blue.")
        rows = await here.store.audit.newest(50)
    uses = [row for row in rows if row.decided_by == DecidedBy.HOOK]
    assert {(row.tool, row.channel, row.person) for row in uses} == {("after_answer", "mcp", here.user.person.id)}
    assert {row.decision for row in uses} == {"refused", "passed"}
    assert not any(row.arguments for row in uses)


async def test_what_is_erased_is_erased_also_if_its_receipt_may_not_leave() -> None:
    here = Office()
    await here.say(SAID)
    asked = await personal_tools(here.store, here.user).preview_forget("about mail", "", related=False, asks=False)
    with hooks_with(after_answer=refuses) as hooks:
        tools = personal_tools(here.store, here.user, hooks=hooks)
        with pytest.raises(Refused):
            await tools.preview_forget("about mail", "", related=False, asks=False)
        done = await tools.forget(asked.confirmation, asked=False)
        assert done.question.startswith(f"It was erased. The receipt cannot be shown here: {NO}")
    assert MAIL not in await personal_tools(here.store, here.user).recall({"query": "mail address"})


async def test_a_call_can_be_changed_or_refused_before_anything_of_it_is_stored() -> None:
    here, seen = Office(), list[Call]()

    async def shortens(call: Call) -> Call | Refuse:
        seen.append(call)
        if "raft" in str(call.arguments):
            return Refuse(NO)
        texts = {name: str(value).replace(MAIL, "ann@…") for name, value in call.arguments.items()}
        return replace(call, arguments=texts)

    with hooks_with(before_call=shortens) as hooks:
        tools = personal_tools(here.store, here.user, hooks=hooks)
        assert await tools.remember(SAID) == "Remembered: My mail address is ann@…."
        for call in (tools.remember("My raft is blue."), tools.recall({"query": "raft"})):
            with pytest.raises(ToolError) as refused:
                await call
            assert str(refused.value) == NO
    plain = personal_tools(here.store, here.user)
    assert MAIL not in await plain.read_thread("notes")
    assert "raft" not in await plain.read_thread("notes")
    first = seen[0]
    assert (first.tool, first.effect, first.by_code, first.channel) == ("remember", "writes here", False, "mcp")
    assert (first.person, first.conversation) == (here.user.person.id, "notes")
    assert seen[-1].effect == "reads"


@pytest.mark.parametrize("name", ["before_call", "before_model"])
async def test_a_hook_that_fails_lets_nothing_pass(name: str) -> None:
    here = Office()
    await here.say(SAID)
    functions: dict[str, Function] = {name: fails}
    with hooks_with(**functions) as hooks:  # pyright: ignore[reportArgumentType] -- functions, and no options
        tools = personal_tools(here.store, here.user, hooks=hooks)
        with pytest.raises((ToolError, Refused)) as refused:
            await tools.recall({"query": "mail address"})
    assert str(refused.value) == agent_texts.HOOK_FAILED


async def test_arguments_that_a_hook_makes_wrong_do_not_run() -> None:
    here = Office()

    async def adds(call: Call) -> Call:
        return replace(call, arguments={**call.arguments, "when": 7})

    with hooks_with(before_call=adds) as hooks, pytest.raises(ToolError, match="when"):
        await personal_tools(here.store, here.user, hooks=hooks).recall({"query": "mail"})
