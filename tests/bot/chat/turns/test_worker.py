"""From a message to its stored, visible reply: real turns and replies; model, store and places in memory."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from agent.context import Persona
from agent.errors import FailureReason, ProviderRefused, StoreError
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.messages import Depth, Message, ModelCall, ResultStatus, Role, ToolCall, ToolResult
from agent.ports.model import ModelChanged
from agent.progress import Progress, RoundStep, encode
from agent.providers.scripted import Answer, Answering, ScriptedProvider, Until
from agent.state import SituationSummary, Workspace
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from agent.turn_events import EndDue, PauseDue
from agent.turn_records import Claiming, Closing
from bot.budgets.budgets import ModelNote
from bot.budgets.report import FooterStyle
from bot.chat.feature import Feature
from bot.chat.ports import (
    NO_BUDGETS,
    NO_CHANNEL_RULES,
    AnswerRules,
    BudgetChecks,
    ChannelRules,
    NoBudgets,
    NoChannelRules,
)
from bot.chat.reply.surface import Limits, ReplyEnd, Surface
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from store.databases.database import LocalNotifier
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, dm, said
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S, until

REMEMBER = '<execute>[{"name": "remember", "args": {"text": "The boat is blue."}}]\n</execute>'
SUMMARY = '<summary>{"goal": "paint the boat"}</summary>'


@dataclass
class World:
    """Everything that a TurnWorker needs, in memory; `surfaces`: by conversation."""

    script: Sequence[Answer | Answering] | Answering
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    surfaces: dict[str, FakeSurface] = field(default_factory=dict[str, FakeSurface])
    limits: TurnWorkerLimits = field(default_factory=lambda: TurnWorkerLimits(sweep_s=0.01))
    budgets: BudgetChecks = NO_BUDGETS
    channel_rules: ChannelRules = NO_CHANNEL_RULES

    def __post_init__(self) -> None:
        self.model = ScriptedProvider(self.script)

    def surface(self, incoming: Incoming) -> Surface:
        return self.surfaces.setdefault(incoming.conversation, FakeSurface(self.clock))

    async def _persona(self, incoming: Incoming) -> Persona:
        return Persona("You are a bot.", "Answer in English.", f"In {incoming.channel}.")

    def runner(self) -> TurnRunner:
        tools = RecallTool(self.store.memories), RememberTool(self.store.facts)
        return replace(
            runner_on(self.store, self.model, self.clock, *tools),
            persona=self._persona,
            budgets=self.budgets,
            channel_rules=self.channel_rules,
            features=TurnFeatures([Feature(name="budgets", notes=[ModelNote(FooterStyle.OFF)])]),
        )

    def turns(self, owner: str = "worker", limits: TurnWorkerLimits | None = None) -> TurnWorker:
        store = self.store
        limits = limits or self.limits
        return TurnWorker(store.ledger, self.runner(), self.surface, LocalNotifier(), self.clock, owner, limits)

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[TurnWorker, None]:
        turns = self.turns()
        async with asyncio.timeout(PATIENCE_S), turns.serving():
            yield turns

    def shown(self, conversation: str = "thread") -> list[str]:
        return self.surfaces[conversation].shown

    def stored(self) -> list[str]:
        return [message.text for _, message in self.store.messages]


async def test_a_question_is_answered_shown_and_stored() -> None:
    world = World([["Hel", "lo."]])
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED
    assert world.shown() == ["Hello."]
    assert (world.surfaces["thread"].begun, world.surfaces["thread"].endings) == ([False], [ReplyEnd.DONE])
    assert world.stored() == ["Hello?", "Hello."]
    assert world.store.turns[0].pages == ("page-1-0",)


async def test_a_tool_acts_for_the_person_and_the_place_of_the_message() -> None:
    world = World(["Noting it.\n" + REMEMBER, "Noted."])
    async with world.serving() as turns:
        await turns.ask(said("Remember my boat"))
    (kept,) = world.store.facts_kept
    assert (kept.person, kept.audience, kept.source_message) == ("ann", "person:ann", 1)
    assert world.shown() == ["Noting it.\n\nNoted."]


async def test_a_message_that_is_delivered_again_gets_no_second_reply() -> None:
    world = World(["Hello."])
    async with world.serving() as turns:
        await turns.ask(said("Hello?", number=1))
        assert await turns.ask(said("Hello?", number=1)) is None
        await turns.idle()
    assert len(world.model.requests) == 1


async def test_messages_of_one_conversation_are_answered_in_order_each_knowing_the_answer_before() -> None:
    world = World(["One.", "Two."])
    turns = world.turns()
    await turns.submit(said("first?"))
    await turns.submit(said("second?"))
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.idle()
    assert world.stored() == ["first?", "One.", "second?", "Two."]
    assert [message.text for message in world.model.requests[1][1:3]] == ["first?", "One."]


async def test_different_conversations_are_answered_at_the_same_time() -> None:
    both = asyncio.Barrier(2)
    world = World([[Until(both.wait), "One."], [Until(both.wait), "Two."]])
    async with world.serving() as turns:
        await asyncio.gather(turns.ask(said("a?", conversation="a")), turns.ask(said("b?", conversation="b")))
    assert sorted([*world.shown("a"), *world.shown("b")]) == ["One.", "Two."]


async def test_stopping_keeps_and_shows_what_was_said() -> None:
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    world = World([["Half an answer", Until(hang)]])
    async with world.serving() as turns:
        asking = asyncio.create_task(turns.ask(said("Hello?")))
        await reached.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert world.stored() == ["Hello?", "Half an answer"]
    assert world.shown() == ["Half an answer\n\n*Stopped.*"]
    assert world.store.turns[0].outcome is Outcome.STOPPED


async def test_a_turn_stopped_while_it_waits_never_asks_the_model() -> None:
    world = World(["One."])
    turns = world.turns()
    accepted = await turns.submit(said("Hello?"))
    turns.stop(accepted.turn)
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.idle()
    assert world.model.requests == []
    assert world.stored() == ["Hello?"]


async def test_a_bug_ends_in_one_sentence_that_names_the_turn() -> None:
    async def bug() -> None:
        raise RuntimeError("secret detail")

    world = World([["So far.", Until(bug)]])
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.REFUSED
    assert world.shown() == [f"So far.\n\n{reply_texts.BROKEN.format(turn=1)}"]


async def test_a_turn_that_killed_its_process_too_often_is_given_up() -> None:
    world = World(["Never."])
    await world.turns().submit(said("Hello?"))
    for _ in range(world.limits.max_attempts):
        await world.store.ledger.claim(Claiming("crashed", world.clock.now(), LEASE))
        await world.store.ledger.release_all()
    async with world.serving() as turns:
        await turns.idle()
    (reply,) = world.shown()
    assert reply.startswith("I could not finish this answer after 10 attempts (turn 1).")
    assert world.model.requests == []


async def _go_on_after_a_round(world: World, query: str, found: str) -> None:
    """Answer a question whose first round was saved by a process that then crashed."""
    await world.turns().submit(said("Where is my boat?"))
    claim = await world.store.ledger.claim(Claiming("crashed", world.clock.now(), LEASE))
    assert claim is not None
    result = ToolResult("recall", ResultStatus.SUCCESS, found)
    calls = (ToolCall("recall", {"query": query}),)
    steps = (RoundStep(world.clock.now(), workspace=Workspace("Find the boat"), calls=calls, results=(result,)),)
    await world.store.ledger.save(claim, progress=encode(Progress(steps)))
    await world.store.ledger.release_all()
    async with world.serving() as turns:
        await turns.idle()


async def test_a_turn_that_goes_on_after_a_crash_knows_its_round_and_its_workspace() -> None:
    world = World(["In the harbour."])
    await _go_on_after_a_round(world, "boat", "It lies in the harbour.")
    assert world.shown() == ["In the harbour."]
    system, section, question, step, results = world.model.requests[0]
    assert (system.role, step.role) == (Role.SYSTEM, Role.ASSISTANT)
    assert "WORKSPACE:\nobjective: Find the boat" in section.text
    assert "EXECUTION: round 2 of 10." in section.text
    assert question.text == "Where is my boat?"
    assert "It lies in the harbour." in results.text


async def test_a_turn_that_goes_on_after_a_crash_shows_an_address_that_only_its_call_had() -> None:
    address = "https://example.test/?q=heron"
    brought, echoed = World([f"[here]({address})"]), World([f"[here]({address})"])
    for world in (brought, echoed):
        world.surfaces["thread"] = FakeSurface(world.clock, Limits(page_chars=2_000, edit_interval_s=1.2))
    await _go_on_after_a_round(brought, "boat", f"found: {address}")
    await _go_on_after_a_round(echoed, address, f"nothing found for {address}")
    assert brought.shown() == [f"[here]({address})"]
    assert echoed.shown() == [f"[here] ({address})"]


async def test_a_reply_that_somebody_deletes_stops_its_turn() -> None:
    world = World([])

    async def delete() -> None:
        world.surfaces["thread"].wall.clear()

    world.model.script = [
        ["One paragraph.\n\n", Until(_ticks), Until(delete), "Another one.\n\n", Until(_ticks), "Last."]
    ]
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.STOPPED
    assert world.shown() == []
    assert world.stored() == ["Hello?"]


async def _ticks() -> None:
    """Long enough for a page to be posted."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_turn_that_is_interrupted_goes_on_in_the_same_page() -> None:
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    world = World(["Noting it.\n" + REMEMBER, ["Not", Until(_ticks), Until(hang)], "Noted."])
    first = world.turns()
    await first.submit(said("Remember my boat"))
    async with asyncio.timeout(PATIENCE_S), first.serving():
        await reached.wait()
    assert (world.store.turns[0].state, world.store.turns[0].attempts) == ("waiting", 0)
    second = world.turns("after the restart")
    async with asyncio.timeout(PATIENCE_S), second.serving():
        await second.idle()
    assert world.shown() == ["Noting it.\n\nNoted."]
    assert world.stored() == ["Remember my boat", "Noting it.\n\nNoted."]
    assert len(world.store.facts_kept) == 1


async def test_a_worker_that_lost_its_turn_changes_nothing() -> None:
    world = World([])

    async def take_over() -> None:
        later = world.clock.now() + timedelta(days=1)
        assert await world.store.ledger.claim(Claiming("other", later, LEASE)) is not None

    world.model.script = [["One.\n", Until(take_over), REMEMBER]]
    async with world.serving() as turns:
        await turns.submit(said("Hello?"))
        await turns.idle()
    assert world.store.turns[0].state == "running"
    assert world.store.facts_kept == []
    assert world.stored() == ["Hello?"]


async def test_the_summary_is_merged_and_stands_in_the_next_context() -> None:
    world = World(["Hello.\n" + SUMMARY, "Again."])
    await world.store.ledger.accept(said("Before?"))
    claim = await world.store.ledger.claim(Claiming("other", world.clock.now(), LEASE))
    assert claim is not None
    before = Closing(Outcome.ANSWERED, "Yes.", summary=SituationSummary(goal="old", progress="half"))
    await world.store.ledger.finish(claim, before, world.clock.now())
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
        await turns.ask(said("And now?"))
    assert world.store.summaries_kept["thread"] == SituationSummary(goal="paint the boat", progress="half")
    assert world.shown()[0].strip() in {"Hello.", "Again."}
    assert "goal: paint the boat\nprogress: half" in world.model.requests[1][-2].text


async def test_what_stood_in_the_context_is_recorded_with_the_turn() -> None:
    world = World(["Hello.", "Again."])
    kept = await remember(world.store.facts, "ann", "The boat is blue.", "person:ann", world.clock.now())
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
        await turns.ask(said("And now?"))
    closing = world.store.ledger.closings[2]
    assert closing.context_facts == (kept.id,)
    assert len(closing.context_messages) == 2
    assert [action.iteration for action in closing.actions] == [1]


async def test_a_note_of_a_private_place_is_not_in_the_context_of_another() -> None:
    world = World(["Hello."])
    await remember(world.store.facts, "ann", "The boat is blue.", "group:club", world.clock.now())
    async with world.serving() as turns:
        await turns.ask(said("Hello?", place=dm("ann")))
    assert "The boat is blue." not in str(world.model.requests)


async def test_what_was_said_while_a_channel_was_private_is_not_in_its_context_once_it_is_public() -> None:
    world = World(["Hello.", "Again."])
    async with world.serving() as turns:
        await turns.ask(said("My boat is turquoise.", place=Place(GroupAudience("club"))))
        await turns.ask(said("And now?", place=Place(TeamAudience("team"), within_team="team")))
    assert "turquoise" not in str(world.model.requests[1])


async def test_the_instructions_of_the_channel_reach_the_model() -> None:
    world = World(["Hello."])
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
    system = world.model.requests[0][0]
    assert system.role is Role.SYSTEM
    assert "In channel." in system.text


async def test_a_store_that_fails_puts_the_turn_off_instead_of_losing_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Sequence[Message]) -> Answer:
        world.store.ledger.fail_next_save = StoreError("The disk is full: free some space.")
        return "Hello."

    world = World(fail)
    async with world.serving() as turns:
        await turns.submit(said("Hello?"))
        await turns.idle()
    assert world.store.turns[0].state == "running", "its lease runs out, and it is claimed again"
    assert "turn 1: postponed: The disk is full" in caplog.text


async def test_a_reply_by_another_model_than_the_one_that_was_asked_says_so_below_it() -> None:
    why = FailureReason("OpenAI does not answer; check OPENAI_BASE_URL.", person="OpenAI does not answer.")
    world = World([[ModelChanged("ollama:second", why), "Hi."]])
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
    (shown,) = world.shown()
    assert shown == "Hi.\n\n*ollama:second answered instead of scripted: OpenAI does not answer.*"
    assert world.stored() == ["Hello?", "Hi."]


@pytest.mark.parametrize("source", ["slack:T1", "discord", "test"])
async def test_why_a_model_fails_is_for_the_log_where_others_than_the_operator_read(
    source: str, caplog: pytest.LogCaptureFixture
) -> None:
    failure = ProviderRefused("It refused; check OPENAI_API_KEY.", quoted="Invalid: 'my secret'", person="Please tell.")
    world = World([[failure]])
    async with world.serving() as turns:
        await turns.ask(replace(said("Hello?"), source=source))
    assert world.shown() == ["Please tell."]
    assert "turn 1: It refused; check OPENAI_API_KEY." in caplog.text
    assert "my secret" not in caplog.text


async def test_in_the_terminal_a_failing_model_names_the_setting_and_the_words_of_its_vendor() -> None:
    failure = ProviderRefused("It refused; check OPENAI_API_KEY.", quoted="Invalid: 'my secret'", person="Please tell.")
    world = World([[failure]])
    async with world.serving() as turns:
        await turns.ask(replace(said("Hello?"), source="terminal:1"))
    assert world.shown() == ["It refused; check OPENAI_API_KEY: Invalid: 'my secret'."]


async def test_the_depth_that_a_person_asked_for_reaches_the_model_with_a_key_that_names_nobody() -> None:
    world = World(["Hi."])
    async with world.serving() as turns:
        await turns.ask(replace(said("Hello?"), depth=Depth.DEEP))
    (options,) = world.model.options
    assert options.depth is Depth.DEEP
    assert "thread" not in options.cache_key
    assert "ann" not in options.cache_key


class OneAnswer(NoBudgets):
    """A budget that is used up after one answer."""

    async def held(
        self,
        question: Incoming,  # noqa: ARG002 -- of everybody
        turn: int,
        calls: Sequence[ModelCall],  # noqa: ARG002 -- as the port
        *,
        waits: bool,  # noqa: ARG002 -- as the port
    ) -> PauseDue | EndDue | None:
        return None if turn == 1 else EndDue("The budget of today is used up.", at_once=True)


async def test_a_question_that_finds_a_budget_used_up_is_not_answered_but_told() -> None:
    world = World(["Hi."], budgets=OneAnswer())
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.ANSWERED
        assert await turns.ask(said("And now?")) is Outcome.REFUSED
    assert world.shown() == ["Hi.", "The budget of today is used up."]
    assert len(world.model.requests) == 1


async def test_a_process_leaves_alone_what_came_from_where_it_cannot_show_replies() -> None:
    world = World(["Hello."])
    turns = TurnWorker(
        world.store.ledger,
        world.runner(),
        world.surface,
        LocalNotifier(),
        world.clock,
        "a terminal",
        world.limits,
        lambda: frozenset({"terminal"}),
    )
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.submit(replace(said("A direct message"), source="slack:T1"))
        await turns.ask(replace(said("Typed here", conversation="here"), source="terminal"))
        await turns.idle()
    assert list(world.surfaces) == ["here"]
    assert [turn.state for turn in world.store.turns] == ["waiting", "done"]


class Shortened(NoChannelRules):
    """Answers of a channel have at most as many characters."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def answer(self, question: Incoming) -> AnswerRules:  # noqa: ARG002 -- the same for each
        return AnswerRules(shape=lambda text: text[: self.limit])


async def test_an_answer_is_shaped_by_its_channel_while_it_grows_and_as_it_is_stored() -> None:
    grown = asyncio.Event()
    world = World([["Hello, ", "everybody ", Until(grown.wait), "here."]], channel_rules=Shortened(12))
    async with world.serving() as turns:
        asked = asyncio.create_task(turns.ask(said("Hello?")))
        await until(lambda: "thread" in world.surfaces and world.shown() == ["Hello, every"])
        grown.set()
        assert await asked is Outcome.ANSWERED
    assert world.shown() == ["Hello, every"]
    assert world.stored() == ["Hello?", "Hello, every"]


async def test_why_an_answer_failed_is_said_whole() -> None:
    world = World([[ProviderRefused("It refused.", person="Please tell.")]], channel_rules=Shortened(3))
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is Outcome.REFUSED
    assert "Please tell." in world.shown()[0]
