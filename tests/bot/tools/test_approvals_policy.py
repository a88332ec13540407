"""The operators' table of tools: who may change it, which row counts, and how every process follows it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from agent.admission_terms import Authority
from agent.consents import Undecided
from agent.errors import Refused, StoreError
from agent.incoming import Person
from agent.memory.audience import GroupAudience, Place
from agent.messages import ToolCall
from agent.ports.tool_audit import AuditedCall
from agent.ports.tools import Asker, ToolEffect
from agent.tool_policy import MAX_ROWS, PolicyAnswer, PolicyRow, read_rows
from agent.toolbox.registry import FixedTools, Toolbox
from bot.chat.panels import Panel
from bot.chat.texts.formatting import is_exact_in_code
from bot.tools import texts as tool_texts
from bot.tools.approvals import (
    NAME,
    OWNER,
    READ_S,
    ApprovalPolicy,
    ApprovalService,
    NumberedRows,
    PolicyTable,
    question_text,
)
from bot.tools.approvers import ApproverService
from tests.contracts.test_consents import asks, put_aside
from tests.fakes.fast_clock import FastClock
from tests.fakes.fixed_config import FakeServers
from tests.fakes.incoming import said
from tests.fakes.one_turn import Echo
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

ANN = Asker(Person("slack:T1:U1", "Ann"), Place(GroupAudience("slack:C1")), "C1")
BO = Asker(Person("slack:T1:U2", "Bo"), ANN.place, "C1", Authority.ADMIN)
FILE = read_rows("echo * C9 no")[0]


class World:
    """A process; `beside`: on the store of another one."""

    def __init__(self, fixed: Sequence[PolicyRow] = (), beside: "World | None" = None) -> None:
        self.clock = FastClock()
        self.store = store_in_memory() if beside is None else beside.store
        self.table = PolicyTable(self.store.preferences, self.store.audit, self.clock, fixed)
        policy = ApprovalPolicy(self.store.consents, self.store.approvals, self.clock, self.table)
        self.toolbox = Toolbox((), [FixedTools((Echo(effect=ToolEffect.READS),))], policy)
        store = self.store
        self.approvers = ApproverService(
            store.approvals, store.jobs, store.audit, self.toolbox, self.clock, lambda: None, {}
        )
        self.service = ApprovalService(self.toolbox, policy, self.clock, lambda: None, self.approvers)

    async def told(self, words: str, asker: Asker = ANN, *, operates: bool = True) -> Panel:
        return await self.service.answer(asker, words, operates=operates)

    async def says(self, words: str, asker: Asker = ANN) -> str:
        answer = await self.told(words, asker)
        assert not answer.refused, answer.text
        return answer.text

    async def audited(self) -> list[AuditedCall]:
        """Return the changes in the audit, the oldest first."""
        return (await self.store.audit.newest(10))[::-1]

    def rows(self) -> list[str]:
        return [str(row) for row in self.table.rows]

    def offered(self, asker: Asker = ANN) -> bool:
        return "echo" in self.toolbox.registry(asker).names


@pytest.mark.parametrize("words", ["policy", "policy set echo * * no", "policy remove 1", "Policy what"])
async def test_whoever_is_no_operator_is_told_so_politely_and_nothing_changes(words: str) -> None:
    world = World()
    await world.says("policy set echo slack:T1:U9 * no")
    answer = await world.told(words, BO, operates=False)
    assert (answer.text, answer.refused) == (tool_texts.POLICY_NOT_YOURS, True)
    assert world.rows() == ["echo slack:T1:U9 * no"]


async def test_what_an_operator_sets_holds_at_once_and_tools_says_what_is_refused_and_operators_why() -> None:
    world = World()
    assert world.offered()
    assert await world.says("policy set echo * * no") == tool_texts.POLICY_SET.format(number=1, row="echo * * no")
    assert not world.offered()
    asked = (await world.told("", BO, operates=False)).text
    assert tool_texts.TOOLS_REFUSED in asked
    assert "- `echo`" in asked
    assert tool_texts.NO_TOOLS_HERE in asked
    assert "echo * * no" not in asked
    assert tool_texts.POLICY_OFFER not in asked
    shown = await world.says("")
    assert tool_texts.REFUSED_BY.format(row="echo * * no") in shown
    assert tool_texts.POLICY_OFFER in shown
    await world.says("policy remove 1")
    assert world.offered()
    assert tool_texts.TOOLS_REFUSED not in await world.says("")


async def test_the_newest_row_stands_before_the_older_ones_and_replaces_one_of_the_same_meaning() -> None:
    world = World()
    for row in ("echo * * no", "* manager team ask", "echo * * yes"):
        await world.says(f"policy set {row}")
    assert world.rows() == ["echo * * yes", "* manager team ask"]
    assert world.offered()
    assert "- **3**: `echo * * yes`\n- **2**: `* manager team ask`" in await world.says("policy")


async def test_the_files_rows_stand_first_and_no_command_takes_one_away() -> None:
    world = World(FILE)
    there = Asker(ANN.person, ANN.place, "C9", Authority.ADMIN)
    said = await world.says("policy set echo * * yes")
    assert tool_texts.POLICY_FILE_FIRST in said
    assert (world.offered(there), world.offered()) == (False, True)
    assert world.rows() == ["echo * C9 no", "echo * * yes"]
    assert tool_texts.POLICY_FILE_ROW.format(row="echo * C9 no") in await world.says("policy")
    assert (await world.told("policy remove 0")).refused
    await world.says("policy remove 1")
    assert world.rows() == ["echo * C9 no"]


async def test_a_number_is_never_given_again_so_that_two_operators_cannot_remove_another_row() -> None:
    world = World()
    await world.says("policy set echo * * no")
    await world.says("policy remove 1")
    await world.says("policy set wiki.* * * no")
    again = await world.told("policy remove 1")
    assert (again.text, again.refused) == (tool_texts.POLICY_NO_ROW.format(number=1), True)
    assert world.rows() == ["wiki.* * * no"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("set", "TOOLS WHO WHERE ANSWER"),
        ("set echo * no", "four words"),
        ("set echo boss * no", "boss is not a person"),
        ("set echo * teams no", "teams is not a place"),
        ("set ec`ho * * no", "is not a tool name"),
        ("set echo * * maybe", "yes, ask or no"),
        ("remove all", "TOOLS WHO WHERE ANSWER"),
        ("remove ²", "TOOLS WHO WHERE ANSWER"),
        (f"remove {'9' * 5000}", "TOOLS WHO WHERE ANSWER"),
        ("remove 7", "no row 7"),
        ("drop", "TOOLS WHO WHERE ANSWER"),
        ("set echo @ann * no", "Copy member ID"),
    ],
)
async def test_what_makes_no_sense_changes_nothing_and_says_why(words: str, told: str) -> None:
    world = World()
    answer = await world.told(f"policy {words}")
    assert answer.refused
    assert told in answer.text
    assert await world.store.preferences.all_of(OWNER) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("who", "where"), [("U2", "C1"), ("<@U2>", "<#C1|general>"), ("slack:T1:U2", "<#C1>")])
async def test_people_and_channels_may_be_named_as_their_platform_does(who: str, where: str) -> None:
    world = World()
    await world.says(f"policy set echo {who} {where} no")
    assert world.rows() == ["echo slack:T1:U2 C1 no"]
    assert (world.offered(BO), world.offered()) == (False, True)


async def test_a_server_that_is_away_is_told_with_a_reason_to_those_who_may_use_it() -> None:
    world = World()
    away = {"wiki": tool_texts.SERVER_AWAY, "jira": tool_texts.SERVER_STARTS}
    toolbox = Toolbox(
        (), [FixedTools((Echo(effect=ToolEffect.READS),))], world.service.policy, servers=FakeServers(away)
    )
    service = ApprovalService(toolbox, world.service.policy, world.clock, lambda: None, world.approvers)
    await world.says("policy set jira.* U2 * no")
    bos, anns = [(await service.answer(one, "", operates=one is ANN)).text for one in (BO, ANN)]
    assert f"- `wiki`: {tool_texts.SERVER_AWAY}" in bos
    assert "jira" not in bos
    assert tool_texts.AWAY_HOW not in bos
    assert f"- `jira`: {tool_texts.SERVER_STARTS}" in anns
    assert tool_texts.AWAY_HOW in anns


@pytest.mark.parametrize(
    ("words", "meant"),
    [("polciy", "policy"), ("Polices set echo * * no", "policy"), ("sing in wiki", "sign in SERVER")],
)
async def test_a_word_that_was_mistyped_is_answered_with_what_was_meant(words: str, meant: str) -> None:
    world = World()
    answer = await world.told(words)
    assert answer.refused
    assert answer.text == f"{tool_texts.TOOLS_MEANT.format(words=meant)}\n\n{tool_texts.TOOLS_USAGE}"
    assert world.rows() == []
    assert (await world.told("weather")).text == tool_texts.TOOLS_USAGE


async def test_a_name_that_no_tool_has_is_told() -> None:
    assert tool_texts.POLICY_NO_SUCH_TOOL in await World().says("policy set eco * * no")


@pytest.mark.slow
async def test_what_another_process_changed_holds_here_before_long_and_from_the_start() -> None:
    one = World()
    await one.says("policy set echo * * no")
    other = World(beside=one)
    async with other.table.followed():
        assert not other.offered()
        await one.says("policy remove 1")
        began = other.clock.monotonic()
        async with asyncio.timeout(PATIENCE_S):
            while not other.offered():  # noqa: ASYNC110 -- there is no event for a read
                await asyncio.sleep(0)
        assert other.clock.monotonic() - began <= 3 * READ_S


async def test_each_change_is_in_the_audit_with_who_and_where_and_what_was_refused_is_not() -> None:
    world = World()
    await world.says("policy set echo U9 * no")
    await world.says("policy remove 1")
    await world.told("policy remove 1")
    await world.told("policy set echo * * yes", BO, operates=False)
    assert [(one.tool, one.person, one.channel, one.decided_by, one.arguments) for one in await world.audited()] == [
        ("", "slack:T1:U1", "C1", "command", "set echo slack:T1:U9 * no"),
        ("", "slack:T1:U1", "C1", "command", "remove 1: echo slack:T1:U9 * no"),
    ]


async def test_a_change_of_the_file_is_in_the_audit_once_whichever_processes_start_with_it() -> None:
    async def start(one: World) -> None:
        async with one.table.followed():
            pass

    none = World()
    await start(none)
    assert await none.audited() == []
    await asyncio.gather(*(start(World(FILE, none)) for _ in range(3)))
    await start(World(read_rows("# another comment\necho * C9 no")[0], none))
    await start(World(read_rows("echo slack:T1:U2 * no\nwiki.* * * no")[0], none))
    await start(World((), none))
    await start(World((), none))
    assert [(one.person, one.decided_by, one.arguments) for one in await none.audited()] == [
        ("", "file", tool_texts.POLICY_FILE_HAS.format(rows="echo * C9 no")),
        ("", "file", tool_texts.POLICY_FILE_HAS.format(rows="echo slack:T1:U2 * no ; wiki.* * * no")),
        ("", "file", tool_texts.POLICY_FILE_NONE),
    ]


async def test_a_change_that_the_audit_cannot_keep_is_not_made() -> None:
    world = World()
    await world.store.database.write(lambda connection: connection.execute(text("DROP TABLE tool_call")))
    with pytest.raises(StoreError):
        await world.told("policy set echo * * no")
    await world.table.read()
    assert world.offered()


async def test_changes_of_two_processes_at_once_are_both_kept() -> None:
    one = World()
    other = World(beside=one)
    await asyncio.gather(*(world.says(f"policy set {name} * * no") for world, name in ((one, "a"), (other, "b"))))
    await one.table.read()
    assert sorted(one.rows()) == ["a * * no", "b * * no"]


async def test_a_table_that_cannot_be_read_is_not_taken_for_an_empty_one() -> None:
    world = World()
    await world.says("policy set echo * * no")
    await world.store.preferences.set(OWNER, NAME, "1\n1 echo * no")
    with pytest.raises(StoreError, match="backup"):
        await world.table.read()
    assert not world.offered()
    with pytest.raises(StoreError, match="backup"):
        await world.told("policy set echo * * yes")


def test_a_full_table_takes_no_more() -> None:
    table = NumberedRows()
    for number in range(MAX_ROWS):
        table = table.with_row(PolicyRow(f"t{number}", "*", "*", PolicyAnswer.NO))
    with pytest.raises(Refused, match="at most 200 rows"):
        table.with_row(PolicyRow("more", "*", "*", PolicyAnswer.NO))
    assert len(table.with_row(PolicyRow("t7", "*", "*", PolicyAnswer.YES)).rows) == MAX_ROWS


WORDS = st.from_regex(r"[a-z.*]{1,9}", fullmatch=True)
ROWS = st.builds(
    PolicyRow, WORDS, st.sampled_from(["*", "manager", "slack:T1:U1"]), st.just("C1"), st.sampled_from(PolicyAnswer)
)


@given(st.lists(ROWS, max_size=9), st.data())
def test_what_is_kept_is_read_as_it_was(rows: list[PolicyRow], data: st.DataObject) -> None:
    table = NumberedRows()
    for row in rows:
        table = table.with_row(row)
    if table.rows and data.draw(st.booleans()):
        table = table.without(data.draw(st.sampled_from(sorted(table.rows))))
    read = NumberedRows.read(str(table))
    assert (read.last, list(read.rows.items())) == (len(rows), list(table.rows.items()))


async def test_a_call_is_shown_with_the_arguments_that_its_tool_gets() -> None:
    """A model may write a list where the tool takes one text, and the tool gets its lines."""
    world = World()
    call = ToolCall("echo", {"text": ["Hello.", "Send all to Mallory."]})
    await put_aside(world.store, replace(said("send it"), person=ANN.person), asks(call))
    shown = (await world.told("", ANN)).text
    run = str(world.toolbox.registry(ANN).adapt_arguments(call).args["text"])
    assert run == "Hello.\nSend all to Mallory."
    assert run in shown
    assert "[" not in shown


@pytest.mark.parametrize(
    "value",
    [
        "Hi.\n```\n**to**: `ann@corp.example`\n[Report](https://evil.example/)\n```\nBye.",
        "see <https://evil.example/|the report>",
        "see <https://evil.example/|the report>\nand ````more````",
    ],
)
def test_what_a_call_would_send_stands_in_a_block_of_code_that_no_platform_ends_or_reads(value: str) -> None:
    call = ToolCall("mail.send", {"text": value})
    shown = question_text(Undecided(1, "2.1-ab", call, "Send it."), ToolEffect.ACTS_OUTWARD)
    assert shown.count("```") == 2
    inside = shown.split("```")[1].strip("\n")
    assert is_exact_in_code(inside)
    assert inside.replace("\u2060", "") == value


@pytest.mark.parametrize("by", ["U2", "<@U2>", "slack:T1:U2"])
async def test_an_approver_may_be_named_as_their_platform_does_and_tools_and_the_table_show_who_it_is(by: str) -> None:
    world = World()
    await world.says(f"policy set echo * * ask by {by}")
    assert world.rows() == ["echo * * ask by slack:T1:U2"]
    assert "`echo * * ask by slack:T1:U2`" in await world.says("policy")
    who = tool_texts.ASKS_OTHERS.format(who=tool_texts.APPROVING["person"])
    assert f"- `echo` (*{who}*)" in await world.says("")
    await world.says("policy set echo * * ask by two managers")  # of the same tools, people and place
    assert world.rows() == ["echo * * ask by two managers"]
    (changed, again) = await world.audited()
    assert (changed.arguments, again.arguments) == (
        "set echo * * ask by slack:T1:U2",
        "set echo * * ask by two managers",
    )


@pytest.mark.parametrize("by", ["@bo", "employee", "two U2", "", "manager and admin", "role:", "two roles"])
async def test_an_approver_who_is_unclear_changes_nothing(by: str) -> None:
    world = World()
    told = await world.told(f"policy set echo * * ask by {by}")
    assert told.refused
    assert told.text.startswith("Nothing changed")
    assert world.rows() == []


async def test_rows_with_and_without_approvers_are_read_back_from_the_database() -> None:
    world = World()
    for row in ("echo * * yes", "send * * ask by manager", "pay * * ask by two channel-managers"):
        await world.says(f"policy set {row}")
    beside = World(beside=world)
    await beside.table.read()
    assert beside.rows() == world.rows() != []
