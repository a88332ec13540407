"""The agent as a library: a model, tools of your own and a memory, in a program of your own.

    agent = Agent(model="openai:gpt-6.1-terra", tools=[weather])
    print(await agent("Will it rain in Kiel?"))
    async for event in agent("And tomorrow?", conversation="weather"):
        ...

It is what the bot does, without a platform: the same context, protocol, loop and tools (`agent.turn_setup`).

Rules
  Everything that it needs is an argument with a default. Without a store its memory ends with the process.
  Without a conversation each question begins one; in a conversation questions are answered one after the other.
  What a tool may do without asking anybody is said once, by `effects`; a tool that does more is refused at once.
  Nothing is learned about people: that is the bot's.
"""

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Final, Self, cast
from weakref import WeakValueDictionary

from agent import texts
from agent.context import LANGUAGE, PERSONA, WITHOUT_TOOLS, ContextBudget, Persona
from agent.errors import LeaseLost, ProviderError, SettingsError, StoreError
from agent.events import AgentEvent, Outcome, TurnEnded
from agent.in_process import InProcessStore
from agent.machine import CLOCK, fresh_word, new_id
from agent.memory.audience import PersonAudience, Place
from agent.messages import Depth
from agent.ports import AgentStore, Clock, Provider, Tool, ToolEffect
from agent.progress import Progress, decode, encode
from agent.providers.catalog import ENDPOINTS, Mode
from agent.providers.faults import RetryPolicy
from agent.providers.rehearsal import RehearsalProvider
from agent.records import Claim, Claiming, Closing, Incoming, Person
from agent.state import SituationSummary
from agent.tools.recall import RecallTool, recollect
from agent.tools.registry import RESERVED, UNASKED, FixedTools, Toolbox
from agent.tools.remember import RememberTool
from agent.turn import Turn, TurnLimits
from agent.turn_setup import ContextConfig, asker_of, closed, known_context, loop_of

# Of the sources and people of programs; each agent has a source of its own: none claims another's questions.
FAMILY: Final = "python"
LEASE: Final = timedelta(seconds=60)
POLL_S: Final = 0.2  # Between two looks whether another process has ended its answer in the same conversation
TOOL_TIMEOUT_S: Final = 20.0


# What of the environment counts where a program gives neither key nor address.
MODEL_ENVIRON: Final = frozenset(
    {one for each in ENDPOINTS.values() for one in (each.key_setting, each.url_setting) if one}
)


YOU: Final = "you"  # Who asks, where a program does not say
NAMELESS: Final = "the user"  # What the model calls them: "you" is itself
MAX_SHOWN_CHARS: Final = 80


@dataclass(eq=False, slots=True)
class AgentRun:
    """One question to an agent: `await` it for the text of the answer, or go through its events with `async for`.

    Awaited, it raises ProviderError (ProviderUnavailable, ProviderRefused, StreamBroken) where there is no answer, or
    not the whole of one. Its events end with TurnEnded, which says that by its outcome and text. Both raise StoreError.
    """

    events: Callable[["AgentRun"], AsyncGenerator[AgentEvent]]
    incoming: Incoming
    failure: ProviderError | None = None
    """Why the model gave no answer, or not the whole of one."""
    _asked: bool = False

    def __repr__(self) -> str:
        return texts.NO_AWAIT.format(question=self.incoming.text[:MAX_SHOWN_CHARS])

    def __aiter__(self) -> AsyncGenerator[AgentEvent]:
        if self._asked:
            raise RuntimeError(texts.ASKED_TWICE)
        self._asked = True
        return self.events(self)

    def __await__(self) -> Generator[object, None, str]:
        return self._text().__await__()

    async def _text(self) -> str:
        ended = TurnEnded(Outcome.REFUSED, texts.NO_ANSWER)
        async with aclosing(aiter(self)) as events:
            async for event in events:
                if isinstance(event, TurnEnded):
                    ended = event
        if ended.outcome in (Outcome.REFUSED, Outcome.CUT):
            raise self.failure or ProviderError(ended.text)
        return ended.text


class Agent:
    """Answers questions. Use it as an async context manager, or `close` it."""

    def __init__(
        self,
        model: str | Provider = "rehearsal",
        *,
        tools: Sequence[Tool] = (),
        store: AgentStore | None = None,
        persona: str = PERSONA,
        language: str = LANGUAGE,
        effects: Collection[ToolEffect] = UNASKED,
        api_key: str | None = None,
        base_url: str | None = None,
        limits: TurnLimits = TurnLimits(),  # noqa: B008 -- frozen
        budget: ContextBudget = ContextBudget(),  # noqa: B008 -- frozen
        clock: Clock = CLOCK,
    ) -> None:
        """`model`: "rehearsal", which needs nothing, "provider:name", or a Provider of your own, which stays yours.

        `store`: what `store.open_store` opens; it stays yours to close. `effects`: what tools may do without asking.
        `api_key` and `base_url`: of the model's service; without them those of the environment count.
        Raises SettingsError for a model that is none, or a tool that may not be offered.
        """
        _check_arguments(store, tools)
        kept = InProcessStore() if store is None else store
        for tool in tools:
            if tool.effect not in effects:
                raise SettingsError(texts.TOOL_NEEDS_ASKING.format(name=tool.name, effect=tool.effect))
        core = (
            RecallTool(kept.memories, TOOL_TIMEOUT_S),
            RememberTool(kept.facts, kept.working_set, TOOL_TIMEOUT_S),
        )
        taken = {*RESERVED, *(tool.name for tool in core)}
        for tool in tools:
            if tool.name in taken:
                raise SettingsError(texts.TOOL_NAME_TAKEN.format(setting="tools", source="it", name=tool.name))
        self._store = kept
        self._clock = clock
        self._toolbox = Toolbox(core, [FixedTools(tuple(tools))], effects=effects)
        self._persona = Persona(persona, f"Answer in {language}.", commands=WITHOUT_TOOLS)
        finds = partial(recollect, kept.memories, kept.conversations)
        self._config = ContextConfig(fresh_word, limits, budget, finds)
        self._provider, self._close_provider = _opened(model, api_key, base_url, clock)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(
        self, question: str, *, conversation: str | None = None, person: str = YOU, depth: Depth = Depth.ADAPT
    ) -> AgentRun:
        """Ask. `conversation`: a name of yours; None: a new one. `person`: who asks; what is remembered is theirs.

        Raises TypeError for what is no text: kept as one, it would break every later question of this person.
        """
        _check_texts(question=question, person=person, conversation="" if conversation is None else conversation)
        event = new_id()
        asker = Person(f"{FAMILY}:{person}", NAMELESS if person == YOU else person)
        here = f"{FAMILY}:{new_id() if conversation is None else f'{_bare(person)}:{conversation}'}"
        return AgentRun(
            self._events,
            Incoming(
                source=f"{FAMILY}:{event}",  # nobody else is given its turn
                event_id=event,
                channel=here,
                message_id=event,
                conversation=here,
                person=asker,
                place=Place(PersonAudience(asker.id)),
                text=question,
                time=self._clock.now(),
                depth=depth,
            ),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop what runs, and close every connection to the model; a store that was given stays open."""
        self._closed = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._close_provider()

    async def _events(self, run: AgentRun) -> AsyncGenerator[AgentEvent]:
        """Leaving it stops the model and the tools, and waits for them."""
        if self._closed:
            raise RuntimeError(texts.AGENT_CLOSED)
        self._loop = self._loop or asyncio.get_running_loop()
        if self._loop is not asyncio.get_running_loop() and self._close_provider is not _nothing:
            raise RuntimeError(texts.OTHER_LOOP)
        events: asyncio.Queue[AgentEvent | None] = asyncio.Queue()  # bounded by what a turn may write
        answering = asyncio.create_task(self._answer(run, events.put))
        self._running.add(answering)
        answering.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            if answering.cancelled():
                raise RuntimeError(texts.AGENT_CLOSED)
            await answering
        finally:
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            self._running.discard(answering)

    async def _answer(self, run: AgentRun, emit: Callable[[AgentEvent], Awaitable[None]]) -> None:
        lock = self._locks.setdefault(run.incoming.conversation, asyncio.Lock())
        async with lock:
            claim = await self._claimed(run.incoming)
            holding = asyncio.create_task(self._hold(claim))
            try:
                await self._think(run, claim, emit)
            finally:
                holding.cancel()
                await asyncio.gather(holding, return_exceptions=True)

    async def _claimed(self, incoming: Incoming) -> Claim:
        """The question's turn. What a process that is gone left of this person is ended: nobody waits for it."""
        ledger, source = self._store.ledger, incoming.source
        now = self._clock.now()
        claiming = Claiming(source, now, LEASE, sources=frozenset({source}), waits=True)
        claim, held = (await ledger.accept(incoming, None, claiming)).claim, now
        try:
            while claim is None or claim.incoming.event_id != incoming.event_id:
                if claim is not None:
                    await ledger.finish(claim, Closing(Outcome.STOPPED, ""), self._clock.now())
                await self._clock.sleep(POLL_S)
                now = self._clock.now()
                if now - held >= LEASE / 3:
                    held = now
                    if not await ledger.hold_place(source, now + LEASE):
                        raise LeaseLost(texts.QUESTION_GONE)
                await ledger.take_over_turns(incoming.person.id, FAMILY, source, now, LEASE)
                claim = await ledger.claim(replace(claiming, now=now))
        except asyncio.CancelledError:  # whoever asks next need not wait for it
            await asyncio.shield(ledger.hold_place(source, self._clock.now()))
            raise
        return claim

    async def _hold(self, claim: Claim) -> None:
        with suppress(StoreError):  # a lease that is lost shows at the next write
            while True:
                await self._clock.sleep(LEASE.total_seconds() / 3)
                await self._store.ledger.renew(claim, self._clock.now(), LEASE)

    async def _think(self, run: AgentRun, claim: Claim, emit: Callable[[AgentEvent], Awaitable[None]]) -> None:
        tools = self._toolbox.registry(asker_of(claim.incoming))
        turn = Turn(tools.check, tools.repeatable, self._config.turn_limits, decode(claim.progress))

        def failed(error: ProviderError) -> str:
            run.failure = error
            return error.reason.to_operator

        async def save(progress: Progress) -> None:
            await self._store.ledger.save(claim, progress=encode(progress))

        closing = Closing(Outcome.STOPPED, "")
        try:
            context, _ = await known_context(
                self._config,
                self._persona,
                tools,
                self._store.knowledge,
                claim,
                frozenset(),
                turn.progress,
                reasons=self._provider.capabilities.reasons,
            )
            turn.record_sources(context.sources)
            closing = replace(closing, context_messages=context.message_ids, context_facts=context.fact_ids)
            loop = loop_of(
                claim,
                turn,
                tools,
                context,
                frozenset(),
                self._provider,
                self._clock,
                emit=emit,
                save=save,
                explain=failed,
            )
            ended = await loop.run()
            assert isinstance(ended, TurnEnded)  # noqa: S101 -- nothing is asked for: see `effects`
            written = turn.progress.summary
            summary = SituationSummary().merged(written) if written else None
            closing = replace(closing, outcome=ended.outcome, reply=ended.text, summary=summary)
        finally:  # what was said stands, also when nobody listens any more
            if closing.outcome is Outcome.STOPPED:
                closing = replace(closing, reply=turn.text)
            await asyncio.shield(
                self._store.ledger.finish(claim, closed(closing, turn, claim.incoming.place), self._clock.now())
            )


def _bare(person: str) -> str:
    """In the name of a conversation, where a colon ends it."""
    return person.replace("%", "%25").replace(":", "%3A")


def _check_arguments(store: object, tools: object) -> None:
    """Raises SettingsError, which says what belongs there: no type checker has to have looked at the program."""
    if store is not None and not hasattr(store, "ledger"):
        raise SettingsError(texts.NO_STORE.format(what=_shown(store)))
    if not isinstance(tools, list | tuple):
        raise SettingsError(texts.NO_TOOL_LIST.format(what=_shown(tools)))
    names = set[str]()
    for tool in cast("Sequence[object]", tools):
        if not hasattr(tool, "effect"):
            raise SettingsError(texts.NOT_A_TOOL.format(what=_shown(tool)))
        if (name := cast("Tool", tool).name) in names:
            raise SettingsError(texts.TWO_TOOLS.format(name=name))
        names.add(name)


def _check_texts(**arguments: object) -> None:
    for argument, value in arguments.items():
        if not isinstance(value, str):
            raise TypeError(texts.NOT_A_TEXT.format(argument=argument, what=_shown(value)))


def _shown(value: object) -> str:
    return repr(value)[:MAX_SHOWN_CHARS]


async def _nothing() -> None:
    pass


def _opened(
    model: str | Provider, api_key: str | None, base_url: str | None, clock: Clock
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """The provider, and what closes it."""
    forms = ", ".join(f"{one}:<model>" for one in ENDPOINTS)
    if not isinstance(model, str):
        if not hasattr(model, "stream"):
            raise SettingsError(texts.NO_SUCH_MODEL.format(forms=forms))
        return model, _nothing
    provider, _, name = (part.strip() for part in model.partition(":"))
    if provider == "rehearsal" and not name:
        return RehearsalProvider(sleep=clock.sleep), _nothing
    endpoint = ENDPOINTS.get(provider.lower())
    if endpoint is None or not name:
        raise SettingsError(texts.NO_SUCH_MODEL.format(forms=forms))
    environ: Mapping[str, str] = os.environ  # noqa: TID251 -- a program's own, where it gives no argument
    if address := base_url or environ.get(endpoint.url_setting):
        if not address.startswith(("http://", "https://", "ws://", "wss://")):
            raise SettingsError(texts.NO_ADDRESS.format(what=_shown(address)))
        endpoint = endpoint.at(address)
    key = api_key or environ.get(endpoint.key_setting) or None
    if endpoint.key_required and key is None:
        raise SettingsError(texts.MODEL_KEY_MISSING.format(key=endpoint.key_setting, model=model))
    from agent.providers.factory import ProviderWorld, open_provider  # noqa: PLC0415 -- a rehearsal does without a client
    from agent.providers.replay import ModelTimeouts  # noqa: PLC0415 -- as above

    world = ProviderWorld(clock, random.random, ModelTimeouts(180.0, 60.0), RetryPolicy(2))
    opened = open_provider(endpoint, name, key, world, Mode.AUTO)
    return opened, opened.aclose
