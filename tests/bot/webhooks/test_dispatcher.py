"""Events are posted where their hook says, when that is possible, and asked about within budgets and slots."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from agent.admission_terms import Authority
from agent.errors import CogencyError
from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import Place, TeamAudience
from agent.messages import ModelCall, Usage
from agent.ports.webhooks import ArrivedEvent, EventAdded, EventPlatform, EventTarget, NewWebhookEvent
from agent.schedules.definitions import NotAllowed
from agent.spending import Money
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Claiming, Closing
from bot.webhooks import texts
from bot.webhooks.config import Hook
from bot.webhooks.dispatcher import BURST, EVERY_S, GIVE_UP, EventDispatcher, event_kinds
from tests.fakes.clock import FakeClock
from tests.fakes.hook_senders import hooks_of
from tests.fakes.store import StoreInMemory, store_in_memory

PLACE = Place(TeamAudience("slack:T1"), within_team="slack:T1")
ASK = 'do = "ask"\nask = "Why?"\ntools = ["grafana.*"]\ndollars_per_day = 1\n'
HOOKS = hooks_of(
    plain='preset = "json"\nchannel = "slack:C0123"\nmention = ["U0ANN"]\n',
    asks=f'preset = "json"\nchannel = "slack:C0123"\n{ASK}',
    other=f'preset = "json"\nchannel = "slack:T0002:C0999"\n{ASK}',
)


@dataclass
class Workspace:
    """A platform's places. `refusal`: why nothing can be posted; `is_away`: it does not answer.
    `broken`: the webhook whose events meet a bug.
    """

    source: str = "slack:T0001"
    refusal: str = ""
    is_away: bool = False
    broken: str = ""
    targets: list[EventTarget] = field(default_factory=list[EventTarget])

    async def event(self, target: EventTarget) -> Incoming | NotAllowed:
        if target.hook == self.broken:
            raise KeyError("a bug")
        if self.is_away:
            raise CogencyError("Slack does not answer.")
        if self.refusal:
            return NotAllowed(self.refusal)
        self.targets.append(target)
        person = Person(f"{self.source}:webhook-{target.hook}", f"webhook {target.hook}")
        conversation = f"{self.source}:{target.channel}:{target.page or target.name}"
        place, name = PLACE, target.name
        return Incoming(
            self.source, name, target.channel, name, conversation, person, place, "", CLOCK.now(),
            authority=Authority.STRANGER, own=False,
        )  # fmt: skip


CLOCK = FakeClock()


@dataclass
class Desk:
    """`woken`: how often turns were begun."""

    store: StoreInMemory
    dispatcher: EventDispatcher
    workspace: Workspace
    woken: list[None]

    async def report(self, hook: str, id_: str, later: timedelta = timedelta(), **more: object) -> None:
        new = replace(NewWebhookEvent(hook, (id_,), f"**{id_}** happened"), **more)
        arrived = ArrivedEvent(new, CLOCK.now(), CLOCK.now() + later)
        assert await self.store.webhook_events.add([arrived], 100) == [EventAdded.STORED]

    async def turns(self) -> list[Claim]:
        """Claim all turns that have begun."""
        found = list[Claim]()
        while claim := await self.store.ledger.claim(Claiming("w", CLOCK.now(), timedelta(hours=1))):
            found.append(claim)
        return found

    async def finish(self, claim: Claim, *pages: str, calls: tuple[ModelCall, ...] = ()) -> None:
        closing = Closing(Outcome.ANSWERED, "x", pages=pages, calls=calls, excluded_from_learning=True)
        await self.store.ledger.finish(claim, closing, CLOCK.now())


@asynccontextmanager
async def desk(hooks: Mapping[str, Hook] = HOOKS, slots: int = 4, *more: Workspace) -> AsyncGenerator[Desk]:
    store, workspace, woken = store_in_memory(), Workspace(), list[None]()
    platforms: dict[str, EventPlatform] = {one.source: one for one in (workspace, *more)}
    wake = lambda: woken.append(None)  # noqa: E731 -- a fake
    yield Desk(
        store,
        EventDispatcher(hooks, store.webhook_events, platforms, store.spending, CLOCK, wake, slots),
        workspace,
        woken,
    )


async def test_an_event_begins_a_turn_of_nobody_with_its_text_and_who_is_mentioned() -> None:
    async with desk() as here:
        await here.report("plain", "a")
        await here.dispatcher.work()
        (claim,) = await here.turns()
        asked = claim.incoming
        assert (asked.kind, asked.text, asked.own, asked.hook) == (TurnKind.EVENT, "**a** happened", False, "plain")
        assert asked.authority is Authority.STRANGER
        (target,) = here.workspace.targets
        assert (target.channel, target.page, target.title, target.mention) == ("C0123", "", "a happened", ("U0ANN",))
        assert here.woken


async def test_an_event_that_closes_a_thread_mentions_nobody_and_is_not_asked_about() -> None:
    async with desk() as here:
        await here.report("plain", "a", closes=True)
        await here.report("asks", "b", closes=True)
        await here.dispatcher.work()
        assert [target.mention for target in here.workspace.targets] == [(), ()]
        for claim in await here.turns():
            await here.finish(claim, "1.1")
        await CLOCK.advance(5.0)
        await here.dispatcher.work()
        assert await here.turns() == []


async def test_a_question_follows_in_the_thread_with_the_event_as_quoted_data() -> None:
    async with desk() as here:
        await here.report("asks", "a")
        await here.dispatcher.work()
        (posted,) = await here.turns()
        await CLOCK.advance(1.0)
        await here.dispatcher.work()
        assert await here.turns() == [], "it is not posted yet"
        await here.finish(posted, "1.1", "1.2")
        await CLOCK.advance(1.0)
        await here.dispatcher.work()
        (question,) = await here.turns()
        asked = question.incoming
        assert (asked.kind, asked.text, asked.own) == (TurnKind.EVENT_QUESTION, "Why?", False)
        assert asked.conversation.endswith(":1.1")
        (quoted,) = asked.quoted
        assert (quoted.text, quoted.by_bot) == ("**a** happened", True)
        rule = event_kinds(HOOKS)[asked.kind]
        assert rule.tools is not None
        assert [rule.tools(asked)(tool) for tool in ("grafana.query", "remember")] == [True, False]
        assert not rule.tools(replace(asked, hook="gone"))("grafana.query"), "no hook, no tools"


async def test_an_event_that_was_not_shown_is_not_asked_about() -> None:
    async with desk() as here:
        await here.report("asks", "a")
        await here.dispatcher.work()
        (posted,) = await here.turns()
        await here.finish(posted)
        await CLOCK.advance(1.0)
        await here.dispatcher.work()
        assert await here.turns() == []
        assert await here.store.webhook_events.first_due(frozenset(HOOKS)) is None


async def test_above_its_budget_a_hook_says_so_once_a_day_and_asks_no_model() -> None:
    async with desk() as here:
        person = "slack:T0001:webhook-asks"
        spent = ModelCall("openai:gpt-5-mini", Usage(output=10_000_000))
        await here.store.spending.charge(person, "turn", [spent], CLOCK.now())
        for id_ in ("a", "b"):
            await here.report("asks", id_)
            await here.dispatcher.work()
            for claim in await here.turns():
                await here.finish(claim, f"{id_}.1")
            await CLOCK.advance(1.0)
            await here.dispatcher.work()
            notices = await here.turns()
            assert [claim.incoming.kind for claim in notices] == ([TurnKind.EVENT] if id_ == "a" else [])
            for claim in notices:
                assert claim.incoming.text == texts.OVER_BUDGET.format(name="asks")
                await here.finish(claim, "9.9")
        assert HOOKS["asks"].dollars == Money(10**9)


async def test_few_events_are_posted_and_asked_about_at_the_same_time() -> None:
    async with desk(slots=2) as here:
        for number in range(5):
            await here.report("asks", f"a{number}")
        await here.report("plain", "b")
        await here.dispatcher.work()
        first = await here.turns()
        assert sorted(claim.incoming.hook for claim in first) == ["asks", "plain"], "the hooks take turns"
        for _ in range(10):
            await here.dispatcher.work()
        assert await here.turns() == []
        for claim in first:
            await here.finish(claim, f"{claim.turn}.1")
        await CLOCK.advance(60.0)
        await here.dispatcher.work()
        assert sorted(claim.incoming.kind for claim in await here.turns()) == ["event", "event", "event_question"]


async def test_in_quiet_hours_nothing_is_posted() -> None:
    async with desk() as here:
        await here.report("plain", "a", later=timedelta(hours=8))
        await here.dispatcher.work()
        assert await here.turns() == []
        await CLOCK.advance(8 * 3600.0)
        await here.dispatcher.work()
        assert len(await here.turns()) == 1


@pytest.mark.parametrize(
    ("workspace", "why"),
    [
        (Workspace(refusal="I am not in that channel."), "I am not in that channel."),
        (Workspace(is_away=True), "Slack does not answer."),
    ],
)
async def test_what_cannot_be_posted_now_waits_and_the_log_says_why(
    workspace: Workspace, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "bot.webhooks.dispatcher")
    async with desk() as here:
        here.workspace.refusal, here.workspace.is_away = workspace.refusal, workspace.is_away
        await here.report("plain", "a")
        for _ in range(3):
            await here.dispatcher.work()
            await CLOCK.advance(10.0)
        assert await here.turns() == []
        assert [record.getMessage() for record in caplog.records] == [texts.EVENT_DELAYED % ("plain", why)]
        here.workspace.refusal, here.workspace.is_away = "", False
        await CLOCK.advance(600.0)
        await here.dispatcher.work()
        assert len(await here.turns()) == 1


async def test_an_event_that_meets_a_bug_is_put_off_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async with desk() as here:
        here.workspace.broken = "asks"
        await here.report("asks", "a")
        await here.report("plain", "b")
        for _ in range(3):
            await here.dispatcher.work()
        assert [claim.incoming.hook for claim in await here.turns()] == ["plain"]
        (record,) = [one for one in caplog.records if one.exc_info]
        assert record.getMessage() == texts.EVENT_DELAYED % ("asks", texts.UNEXPECTED)
        here.workspace.broken = ""
        await CLOCK.advance(10.0)
        await here.dispatcher.work()
        assert [claim.incoming.hook for claim in await here.turns()] == ["asks"]


async def test_a_channel_of_one_of_several_workspaces_has_to_be_named(caplog: pytest.LogCaptureFixture) -> None:
    second = Workspace("slack:T0002")
    async with desk(HOOKS, 4, second) as here:
        await here.report("plain", "a")
        await here.report("other", "b")
        await here.dispatcher.work()
        assert [claim.incoming.source for claim in await here.turns()] == ["slack:T0002"]
        assert texts.SEVERAL_WORKSPACES in caplog.text


async def test_what_waits_for_two_days_is_dropped_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async with desk() as here:
        here.workspace.refusal = "That channel is archived."
        await here.report("plain", "a")
        await here.report("gone", "b")
        await here.dispatcher.work()
        await CLOCK.advance(GIVE_UP.total_seconds() + 1)
        here.workspace.refusal = ""
        await here.dispatcher.work()
        assert await here.turns() == []
        assert texts.EVENTS_DROPPED % 2 in caplog.text


async def test_a_channel_gets_a_few_events_at_once_and_the_rest_one_after_another() -> None:
    async with desk(slots=50) as here:
        for number in range(20):
            await here.report("plain", f"a{number}")
        for _ in range(5):
            await here.dispatcher.work()
        assert [claim.incoming.hook for claim in await here.turns()].count("plain") == BURST
        await CLOCK.advance(EVERY_S / 2)
        await here.dispatcher.work()
        assert await here.turns() == []
        for _ in range(3):
            await CLOCK.advance(EVERY_S)
            await here.dispatcher.work()
            assert len(await here.turns()) == 1


async def test_questions_about_events_take_part_of_what_a_channel_gets_and_come_first() -> None:
    async with desk(slots=50) as here:
        for number in range(20):
            await here.report("asks", f"a{number}")
        await here.dispatcher.work()
        for number, posted in enumerate(await here.turns()):
            await here.finish(posted, f"1.{number}")
        kinds = list[TurnKind]()
        for _ in range(5):
            await CLOCK.advance(EVERY_S)
            await here.dispatcher.work()
            kinds += [claim.incoming.kind for claim in await here.turns()]
        assert kinds == [TurnKind.EVENT_QUESTION] * 5
