"""The audit of tool calls, in real turns: the model is scripted, the store in memory."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from agent.consents import CONSENT_TIME
from agent.errors import StoreUnavailable
from agent.events import Outcome
from agent.memory.forgetting_plans import Everything
from agent.messages import Consent, JsonObject, Keep, Message
from agent.ports.tool_audit import AuditedCall, ToolAudit
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.tool_policy import PolicyRow, read_rows
from agent.toolbox.registry import FixedTools, Toolbox
from bot.chat.audit import MAX_ARGUMENTS, as_json, as_line, home_text, pages, policy_change
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.worker import TurnWorkerLimits
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from tests.bot.chat.turns.test_worker import World
from tests.fakes.incoming import START, said
from tests.fakes.one_turn import Echo, echo_call
from tests.patience import until

CALL = f"<execute>{echo_call('Hello Ben.')}</execute>"
ALLOWED, _ = read_rows("echo * * yes")


@dataclass
class Audited(World):
    """A turn with one tool, and the policy for it."""

    tool: Echo = field(default_factory=Echo)
    rows: Sequence[PolicyRow] = ALLOWED
    audit: ToolAudit | None = None

    def runner(self) -> TurnRunner:
        policy = ApprovalPolicy(
            self.store.consents,
            self.store.approvals,
            self.clock,
            PolicyTable(self.store.preferences, self.store.audit, self.clock, self.rows),
        )
        toolbox = Toolbox((), [FixedTools((self.tool,))], policy)
        return replace(super().runner(), tools=ToolUse(toolbox, policy, self.audit or self.store.audit))

    async def calls(self) -> list[AuditedCall]:
        """The oldest first."""
        return (await self.store.audit.newest(10))[::-1]


def says(messages: Sequence[Message]) -> str:
    """A model that calls the tool once."""
    return "Done." if "hears" in messages[-1].text or "not run" in messages[-1].text else CALL


@pytest.mark.parametrize("effect", list(ToolEffect)[:3])
async def test_each_row_has_who_where_what_why_it_ran_and_how_it_ended(effect: ToolEffect) -> None:
    world = Audited(says, tool=Echo(effect=effect))
    asked = said("tell Ben")
    async with world.serving() as turns:
        assert await turns.ask(asked) is Outcome.ANSWERED
    (call,) = await world.calls()
    assert (call.person, call.channel, call.audience) == ("ann", asked.channel, "person:ann")
    assert (call.tool, json.loads(call.arguments), call.effect) == ("echo", {"text": "Hello Ben."}, effect.value)
    assert (call.decision, call.decided_by, call.outcome) == ("unasked", "table", "success")
    assert (call.ms, call.size) == (0, len("Ann hears Hello Ben."))
    assert (call.turn, call.call) == (world.store.turns[0].id, "1.1")


async def test_a_call_with_an_effect_is_recorded_before_it_runs_and_an_interrupted_one_has_no_end() -> None:
    found: list[AuditedCall] = []

    async def look() -> None:
        found.extend(await world.calls())
        await asyncio.Event().wait()

    world = Audited(says, tool=Echo(meet=look))
    async with world.serving() as turns:
        await turns.submit(said("tell Ben"))
        await until(lambda: found)
    (call,) = await world.calls()
    assert found == [call]
    assert (call.outcome, call.ms) == ("begun", None)
    assert "no end recorded" in as_line(call)


@pytest.mark.parametrize("effect", [ToolEffect.READS, ToolEffect.ACTS_OUTWARD])
async def test_a_stopped_call_is_recorded_as_stopped(effect: ToolEffect) -> None:
    world = Audited(says, tool=Echo(effect=effect, meet=asyncio.Event().wait))
    async with world.serving() as turns:
        running = asyncio.create_task(turns.ask(said("tell Ben")))
        await until(lambda: world.tool.said)
        await turns.stop_conversation("thread")
        assert await running is Outcome.STOPPED
    (call,) = await world.calls()
    assert (call.outcome, call.size) == ("stopped", 0)


@pytest.mark.parametrize(
    ("word", "decision", "outcome"), [(Consent.GIVEN, "allowed", "success"), (Consent.REFUSED, "refused", "not run")]
)
async def test_a_call_that_needed_approval_has_the_askers_decision(word: Consent, decision: str, outcome: str) -> None:
    world = Audited(says, rows=())
    async with world.serving() as turns:
        await turns.submit(said("tell Ben"))
        await until(lambda: world.store.turns[0].state == "waiting" and "awaited" in world.store.turns[0].progress)
        assert await world.calls() == []
        (waiting,) = await world.store.consents.undecided("ann")
        await world.store.consents.decide(waiting.turn, waiting.key, "ann", word, world.clock.now())
        turns.wake()
        await until(lambda: world.store.turns[0].state == "done")
    (call,) = await world.calls()
    assert (call.decision, call.decided_by, call.outcome) == (decision, "asker", outcome)
    assert bool(world.tool.said) is (word is Consent.GIVEN)


async def test_a_call_that_could_not_run_beside_a_waiting_one_is_recorded_too() -> None:
    both = f'<execute>[{echo_call("Hello Ben.")[1:-1]}, {{"name": "drill", "args": {{}}}}]</execute>'
    world = Audited(lambda messages: "Done." if "not run" in messages[-1].text else both, rows=())
    async with world.serving() as turns:
        await turns.submit(said("tell Ben"))
        await until(lambda: world.store.turns[0].state == "waiting" and "awaited" in world.store.turns[0].progress)
        (waiting,) = await world.store.consents.undecided("ann")
        await world.store.consents.decide(waiting.turn, waiting.key, "ann", Consent.REFUSED, world.clock.now())
        turns.wake()
        await until(lambda: world.store.turns[0].state == "done")
    rows = [(one.call, one.tool, one.decision, one.decided_by) for one in await world.calls()]
    assert rows == [("1.2", "(no such tool)", "refused", "check"), ("1.1", "echo", "refused", "asker")]


@pytest.mark.slow
async def test_the_name_of_an_unknown_tool_is_treated_like_arguments() -> None:
    named = '<execute>[{"name": "send.swordfish", "args": {}}]</execute>'
    world = Audited([named, "Then not."])
    async with world.serving() as turns:
        await turns.ask(said("tell Ben"))
    (call,) = await world.calls()
    assert json.loads(call.arguments)["name"] == "send.swordfish"
    assert "swordfish" not in home_text([call])
    await world.store.forgetting.forget(Everything("ann"), START)
    assert "swordfish" not in str(await world.calls())


@dataclass(slots=True)
class Passing(Echo):
    """A tool whose result may be kept for the turn only."""

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput(str(await Echo.run(self, args, context)), keep=Keep.TURN)


@pytest.mark.slow
async def test_a_call_after_a_result_that_may_not_be_kept_is_recorded_without_arguments() -> None:
    again = f"<execute>{echo_call('Ben hears of the swordfish.')}</execute>"
    world = Audited([CALL, again, NO_SUCH, "Done."], tool=Passing(effect=ToolEffect.READS))
    async with world.serving() as turns:
        await turns.ask(said("tell Ben"))
    first, *others = await world.calls()
    assert json.loads(first.arguments) == {"text": "Hello Ben."}
    assert [(one.call, one.tool, one.arguments) for one in others] == [
        ("2.1", "echo", ""),
        ("3.1", "(no such tool)", ""),
    ]


NO_SUCH = '<execute>[{"name": "drill", "args": {"deep": 7}}]</execute>'
WRONG = '<execute>[{"name": "echo", "args": {"deep": 7}}]</execute>'


@pytest.mark.parametrize(
    ("answer", "rows", "effect", "by"),
    [
        (NO_SUCH, "echo * * yes", "", "check"),
        (WRONG, "echo * * yes", "acts outward", "check"),
        (CALL, "echo * * no", "", "table"),
    ],
)
async def test_a_call_that_could_not_run_is_recorded_once_with_the_reason(
    answer: str, rows: str, effect: str, by: str
) -> None:
    world = Audited([answer, "Then not."], rows=read_rows(rows)[0])
    async with world.serving() as turns:
        assert await turns.ask(said("tell Ben")) is Outcome.ANSWERED
    (call,) = await world.calls()
    assert (call.effect, call.decision, call.decided_by, call.outcome) == (effect, "refused", by, "not run")
    assert world.tool.said == []


async def test_calls_that_ran_and_that_could_not_have_one_row_each_in_order() -> None:
    both = '<execute>[{"name": "echo", "args": {"text": "Hello Ben."}}, {"name": "drill", "args": {}}]</execute>'
    world = Audited([both, CALL, NO_SUCH, "Done."], tool=Echo(effect=ToolEffect.READS))
    async with world.serving() as turns:
        await turns.ask(said("tell Ben"))
    assert [(one.call, one.tool, one.outcome) for one in await world.calls()] == [
        ("1.1", "echo", "success"),
        ("1.2", "(no such tool)", "not run"),
        ("2.1", "echo", "success"),
        ("3.1", "(no such tool)", "not run"),
    ]


@pytest.mark.slow
async def test_a_timeout_and_an_approval_for_the_thread_are_distinguished() -> None:
    world = Audited(says, rows=(), limits=TurnWorkerLimits(sweep_s=CONSENT_TIME.total_seconds() / 4))
    async with world.serving() as turns:
        await turns.submit(said("tell Ben"))
        await until(lambda: "awaited" in world.store.turns[0].progress and world.store.turns[0].state == "waiting")
        await world.clock.advance(CONSENT_TIME.total_seconds())
        turns.wake()
        await until(lambda: world.store.turns[0].state == "done")
        await turns.submit(said("tell Ben again"))
        await until(lambda: len(world.store.turns) > 1 and "awaited" in world.store.turns[1].progress)
        await until(lambda: world.store.turns[1].state == "waiting")
        (waiting,) = await world.store.consents.undecided("ann")
        now = world.clock.now()
        await world.store.consents.decide(waiting.turn, waiting.key, "ann", Consent.GIVEN, now, standing=True)
        turns.wake()
        await until(lambda: world.store.turns[1].state == "done")
        assert await turns.ask(said("tell Ben once more")) is Outcome.ANSWERED
    assert [(one.decision, one.decided_by, one.outcome) for one in await world.calls()] == [
        ("expired", "nobody in time", "not run"),
        ("allowed", "asker", "success"),
        ("allowed", "asker, for the thread", "success"),
    ]
    assert len(world.tool.said) == 2


class Unwritable:
    """An audit on a full disk, which fails slowly."""

    def __init__(self) -> None:
        self.tries = 0

    async def add(self, *_: object) -> int:
        self.tries += 1
        for _turn in range(9):
            await asyncio.sleep(0)
        raise StoreUnavailable("the disk is full")


async def test_a_call_that_cannot_be_recorded_does_not_run() -> None:
    world, audit = Audited(says), Unwritable()
    world.audit = cast("ToolAudit", audit)
    async with world.serving() as turns:
        await turns.submit(said("tell Ben"))
        await until(lambda: audit.tries > 1)
    assert world.tool.said == []


async def test_arguments_are_bounded() -> None:
    world = Audited([f"<execute>{echo_call('x' * 50_000)}</execute>", "Done."])
    async with world.serving() as turns:
        await turns.ask(said("tell Ben"))
    (call,) = await world.calls()
    assert len(call.arguments) == MAX_ARGUMENTS


async def test_a_change_of_the_policy_is_a_row_without_a_tool() -> None:
    world = Audited([])
    await world.store.audit.add(policy_change(START, "set echo * * no", "ann", "yard"))
    (call,) = await world.calls()
    assert (call.tool, call.person, call.channel, call.arguments) == ("", "ann", "yard", "set echo * * no")
    assert (call.decision, call.decided_by) == ("changed", "command")
    assert "(policy)" in as_line(call)


def test_a_change_of_the_file_is_not_shown_as_a_forgotten_person() -> None:
    assert "  (at the start)  (policy)  " in as_line(policy_change(START, "the file now has no rows"))
    assert "  (forgotten)  yard " in as_line(replace(SECRET, person=""))


SECRET = AuditedCall(
    START, "ann", "yard", "person:ann", "*echo*", '{"text": "quince\\u001b[31m"}', "reads", "unasked", "effect"
)


def test_a_home_tab_shows_no_arguments_and_no_place_and_what_it_shows_is_text() -> None:
    shown = home_text([SECRET])
    assert "quince" not in shown
    assert "yard" not in shown
    assert "\\*echo\\*" in shown
    assert home_text([]) == ""


def test_a_home_tab_shows_no_invisible_characters_and_none_that_change_the_direction_of_text() -> None:
    shown = home_text([replace(SECRET, tool="send\u200e\u200f\u061c\u202e\u200bmail", person="slack:T1:U\u200f1")])
    assert "send mail" in shown
    assert shown.replace("\n", "").isprintable()


def test_a_line_in_the_terminal_holds_no_control_characters() -> None:
    line = as_line(replace(SECRET, arguments="a\x1b[31mb\nc", tool="x\x07"))
    assert line.isprintable()


def test_programs_read_an_object_a_line() -> None:
    row: JsonObject = json.loads(as_json(SECRET))
    assert (row["tool"], row["time"], row["outcome"]) == ("*echo*", START.isoformat(), "begun")
    assert "\n" not in as_json(SECRET)


async def test_all_pages_are_read() -> None:
    world = Audited([])
    for _ in range(7):
        await world.store.audit.add(SECRET)
    assert [len(page) async for page in pages(world.store.audit, START)] == [7]
