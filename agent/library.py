"""The agent as a library: a model, your own tools and a memory, in your own program.

    agent = Agent(model="openai:gpt-6.1-terra", tools=[weather])
    print(await agent("Will it rain in Kiel?"))
    async for event in agent("And tomorrow?", conversation="weather"):
        ...

It works like the bot without a platform: the same context, protocol, loop and tools (`agent.turn_setup`).

Rules
  Every dependency is an argument with a default. Without a store, memory ends with the process.
  Without a conversation, each question begins one; in a conversation, questions are answered one after the other.
  `effects` is the policy: what tools may do without consent, by default read and write here. The constructor refuses a
  tool with another effect, and one that declares none. Nobody is asked later: unlike in the bot, a tool whose effect is
  allowed also runs where a text that the model has read wants it, with whatever arguments.
  Nothing is learned about people: only the bot does that.
"""

import asyncio
import logging
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
from agent.context import LANGUAGE, PERSONA, WITHOUT_TOOLS, Persona
from agent.context_composer import LIBRARY, ContextComposer, ContextConfig
from agent.errors import LeaseLost, ProviderError, ProviderRefused, SettingsError, StoreError
from agent.events import AgentEvent, NoticeArrived, Outcome, ReplyEnded, TextArrived, TurnEnded
from agent.hooks.models import HookedProvider
from agent.hooks.module import hooks_of
from agent.hooks.running import Hooks
from agent.hooks.thread import HookThread
from agent.hooks.turns import TurnHooks
from agent.hooks.values import HookPoint, Refuse
from agent.in_process import InProcessStore
from agent.incoming import Incoming, Person
from agent.loop import TurnCallbacks
from agent.machine import CLOCK, fresh_word, new_id
from agent.memory.audience import PersonAudience, Place
from agent.messages import Depth
from agent.ports.agent_store import AgentStore
from agent.ports.clock import Clock
from agent.ports.model import Provider
from agent.ports.tools import Tool, ToolEffect
from agent.progress import Progress, decode, encode
from agent.providers.catalog import (
    AZURE,
    BEDROCK,
    ENDPOINTS,
    Endpoint,
    Mode,
    azure_at,
    bedrock_in,
    is_aws_region,
    missing_needs,
    region_of_arn,
    vertex_at,
)
from agent.providers.credentials import Key
from agent.providers.faults import RetryPolicy
from agent.providers.identities import IdentitySettings, identity
from agent.providers.keys import split_keys
from agent.providers.rehearsal import RehearsalProvider
from agent.state import SituationSummary
from agent.toolbox.registry import UNASKED, FixedTools, Toolbox
from agent.toolbox.tool_search import RESERVED
from agent.tools.recall import RecallTool, recollect
from agent.tools.remember import RememberTool
from agent.turn import Turn
from agent.turn_records import Claim, Claiming, Closing
from agent.turn_setup import asker_of, closed, loop_of

log = logging.getLogger(__name__)

LEASE: Final = timedelta(seconds=60)
POLL_S: Final = 0.2  # Between two checks whether another process has finished its answer in the same conversation
TOOL_TIMEOUT_S: Final = 20.0

YOU: Final = "you"  # The asker, where a program names none
NAMELESS: Final = "the user"  # The name of that asker for the model, for which "you" would be itself
MAX_SHOWN_CHARS: Final = 80
TEXTS: Final = (TextArrived, NoticeArrived, ReplyEnded)  # The events with text of an answer


@dataclass(eq=False, slots=True)
class AgentRun:
    """One question to an agent: `await` it for the text of the answer, or iterate over its events with `async for`.

    Awaited, it raises ProviderError (ProviderUnavailable, ProviderRefused, StreamBroken) if there is no answer or only
    part of one. Its events end with TurnEnded, whose outcome and text report the same. Both raise StoreError.
    """

    events: Callable[["AgentRun"], AsyncGenerator[AgentEvent]]
    incoming: Incoming
    failure: ProviderError | None = None
    """Why the model gave no answer, or only part of one."""
    _is_started: bool = False

    def __repr__(self) -> str:
        return texts.NO_AWAIT.format(question=self.incoming.text[:MAX_SHOWN_CHARS])

    def __aiter__(self) -> AsyncGenerator[AgentEvent]:
        if self._is_started:
            raise RuntimeError(texts.ASKED_TWICE)
        self._is_started = True
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
    """Answers questions. Use it as an async context manager, or call `close`."""

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
        hooks: object | None = None,
        clock: Clock = CLOCK,
    ) -> None:
        """`model`: "rehearsal", which needs no service, "provider:name", or your own Provider, which is not closed.

        `store`: the result of `store.open_store`, which is not closed. `effects`: what tools may do without consent;
        with more than the default, a text that a tool brings can have the model act.
        `api_key` and `base_url`: of the model's service; without them the environment variables are read.
        `hooks`: a module or object with async functions that see questions, calls, answers and what goes to the model.
        Raises SettingsError for an unknown model, a tool that may not be offered, or hooks that cannot be used.
        """
        _check_arguments(store, tools)
        self._store: AgentStore = InProcessStore() if store is None else store
        for tool in tools:
            if tool.effect not in effects:
                raise SettingsError(texts.TOOL_NEEDS_ASKING.format(name=tool.name, effect=tool.effect))
        core = (
            RecallTool(self._store.memories, TOOL_TIMEOUT_S),
            RememberTool(self._store.facts, self._store.working_set, TOOL_TIMEOUT_S),
        )
        reserved = {*RESERVED, *(tool.name for tool in core)}
        for tool in tools:
            if tool.name in reserved:
                raise SettingsError(texts.TOOL_NAME_TAKEN.format(setting="tools", source="the list", name=tool.name))
        self._clock = clock
        self._toolbox = Toolbox(core, [FixedTools(tuple(tools))], effects=effects)
        self._persona = Persona(persona, f"Answer in {language}.", commands=WITHOUT_TOOLS)
        recall = partial(recollect, self._store.memories, self._store.conversations)
        self._config = ContextConfig(fresh_word, recollect=recall)
        self._provider, self._close_provider = _open_model(model, api_key, base_url, clock)
        self._hooks = None if hooks is None else Hooks(hooks_of(hooks, _name_of(hooks), "hooks"), HookThread(), clock)
        if self._hooks is not None and self._hooks.has(HookPoint.BEFORE_MODEL):
            self._provider = HookedProvider(self._provider, self._hooks)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(
        self, question: str, *, conversation: str | None = None, person: str = YOU, depth: Depth = Depth.ADAPT
    ) -> AgentRun:
        """Ask a question. `conversation`: any name; None: a new one. `person`: the asker, who owns what is remembered.

        Raises TypeError if an argument is not a string: stored, it would break every later question of this person.
        """
        _check_texts(question=question, person=person, conversation="" if conversation is None else conversation)
        event = new_id()
        asker = Person(f"{LIBRARY}:{person}", NAMELESS if person == YOU else person)
        conversation_id = f"{LIBRARY}:{new_id() if conversation is None else f'{_escape(person)}:{conversation}'}"
        return AgentRun(
            self._events,
            Incoming(
                source=f"{LIBRARY}:{event}",  # no other agent claims its turn
                event_id=event,
                channel=conversation_id,
                message_id=event,
                conversation=conversation_id,
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
        """Stop running turns and close every connection to the model. A given store and Provider stay open."""
        self._closed = True
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._hooks is not None:
            self._hooks.thread.close()
        await self._close_provider()

    async def _events(self, run: AgentRun) -> AsyncGenerator[AgentEvent]:
        """Run the turn and yield its events. Closing the generator stops the model and tools, and waits for them."""
        if self._closed:
            raise RuntimeError(texts.AGENT_CLOSED)
        self._loop = self._loop or asyncio.get_running_loop()
        if self._loop is not asyncio.get_running_loop() and self._close_provider is not _close_nothing:
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
            hooks = TurnHooks(run.incoming, self._hooks)
            checked = await hooks.before_question(run.incoming.text, ())
            if isinstance(checked, Refuse):
                run.failure = ProviderRefused(checked.sentence)
                await emit(TurnEnded(Outcome.REFUSED, checked.sentence))
                return
            claim = await self._claim(replace(run.incoming, text=checked[0]))
            renewing = asyncio.create_task(self._renew(claim))
            try:
                await self._run_turn(run, claim, hooks, emit)
            finally:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)

    async def _claim(self, incoming: Incoming) -> Claim:
        """Claim the question's turn. Open turns of this person that dead processes left are ended: no caller waits."""
        ledger, source = self._store.ledger, incoming.source
        now = self._clock.now()
        claiming = Claiming(source, now, LEASE, sources=frozenset({source}), waits=True)
        claim, last_held = (await ledger.accept(incoming, None, claiming)).claim, now
        try:
            while claim is None or claim.incoming.event_id != incoming.event_id:
                if claim is not None:
                    await ledger.finish(claim, Closing(Outcome.STOPPED, ""), self._clock.now())
                await self._clock.sleep(POLL_S)
                now = self._clock.now()
                if now - last_held >= LEASE / 3:
                    last_held = now
                    if not await ledger.hold_place(source, now + LEASE):
                        raise LeaseLost(texts.QUESTION_GONE)
                await ledger.take_over_turns(incoming.person.id, LIBRARY, source, now, LEASE)
                claim = await ledger.claim(replace(claiming, now=now))
        except asyncio.CancelledError:  # the next question need not wait for this one
            await asyncio.shield(ledger.hold_place(source, self._clock.now()))
            raise
        return claim

    async def _renew(self, claim: Claim) -> None:
        with suppress(StoreError):  # the next write raises if the lease is lost
            while True:
                await self._clock.sleep(LEASE.total_seconds() / 3)
                await self._store.ledger.renew(claim, self._clock.now(), LEASE)

    async def _run_turn(
        self, run: AgentRun, claim: Claim, hooks: TurnHooks, emit: Callable[[AgentEvent], Awaitable[None]]
    ) -> None:
        tools = self._toolbox.registry(asker_of(claim.incoming))
        turn = Turn(
            tools.check,
            tools.repeatable,
            self._config.turn_limits,
            decode(claim.progress),
            question=claim.incoming.text,
        )

        def explain(error: ProviderError) -> str:
            run.failure = error
            return error.reason.to_operator

        async def save(progress: Progress) -> None:
            await self._store.ledger.save(claim, progress=encode(progress))

        async def show(event: AgentEvent) -> None:
            is_checked_first = isinstance(event, TurnEnded) and hooks.checks_answer
            if not (is_checked_first or (isinstance(event, TEXTS) and hooks.holds_answer)):
                await emit(event)

        closing = Closing(Outcome.STOPPED, "")
        try:
            composer = ContextComposer(self._config, self._store.knowledge)
            capabilities = self._provider.capabilities
            context, _ = await composer.compose(claim, self._persona, tools, frozenset(), capabilities, turn.progress)
            turn.record_sources(context.sources)
            closing = replace(
                closing,
                context_messages=context.message_ids,
                context_facts=context.fact_ids,
                used_entries=context.used_entries,
            )
            loop = loop_of(
                claim,
                turn,
                tools,
                context,
                frozenset(),
                self._provider,
                self._clock,
                TurnCallbacks(show, save, before_call=hooks.before_call(tools), explain=explain),
            )
            ended = await loop.run()
            assert isinstance(ended, TurnEnded)  # noqa: S101 -- no call needs consent: see `effects`
            checked = await hooks.after_answer(ended.text, claim.incoming.text)
            if isinstance(checked, Refuse):
                run.failure = ProviderRefused(checked.sentence)
                ended = replace(ended, outcome=Outcome.REFUSED, text=checked.sentence)
            elif checked is not None:
                ended = replace(ended, text=checked)
            if hooks.checks_answer:
                await emit(ended)
            update = turn.progress.summary
            summary = SituationSummary().merged(update) if update and checked is None else None
            closing = replace(closing, outcome=ended.outcome, reply=ended.text, summary=summary)
        finally:  # the text so far is stored, also when the caller has stopped reading
            if closing.outcome is Outcome.STOPPED:
                closing = replace(closing, reply="" if hooks.checks_answer else turn.text)
            await asyncio.shield(
                self._store.ledger.finish(claim, closed(closing, turn, claim.incoming.place), self._clock.now())
            )


def _escape(person: str) -> str:
    """Escape the person for a conversation id, where a colon ends the name."""
    return person.replace("%", "%25").replace(":", "%3A")


def _check_arguments(store: object, tools: object) -> None:
    """Raises SettingsError that says what is expected: the calling program may not have been type-checked."""
    if store is not None and not hasattr(store, "ledger"):
        raise SettingsError(texts.NO_STORE.format(what=_format_value(store)))
    if not isinstance(tools, list | tuple):
        raise SettingsError(texts.NO_TOOL_LIST.format(what=_format_value(tools)))
    names = set[str]()
    for tool in cast("Sequence[object]", tools):
        if not hasattr(tool, "effect"):
            raise SettingsError(texts.NOT_A_TOOL.format(what=_format_value(tool)))
        if (name := cast("Tool", tool).name) in names:
            raise SettingsError(texts.TWO_TOOLS.format(name=name))
        names.add(name)


def _check_texts(**arguments: object) -> None:
    for argument, value in arguments.items():
        if not isinstance(value, str):
            raise TypeError(texts.NOT_A_TEXT.format(argument=argument, what=_format_value(value)))


def _name_of(hooks: object) -> str:
    name: object = getattr(hooks, "__name__", None)
    return name if isinstance(name, str) else type(hooks).__name__


def _format_value(value: object) -> str:
    return repr(value)[:MAX_SHOWN_CHARS]


async def _close_nothing() -> None:
    pass


def _open_model(
    model: str | Provider, api_key: str | None, base_url: str | None, clock: Clock
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """Open the model. Returns the provider and the function that closes it."""
    forms = ", ".join(f"{provider}:<model>" for provider in ENDPOINTS)
    if not isinstance(model, str):
        if not hasattr(model, "stream"):
            raise SettingsError(texts.NO_SUCH_MODEL.format(forms=forms))
        return model, _close_nothing
    provider, _, name = (part.strip() for part in model.partition(":"))
    # The model of the demo has no service, address or key.
    if provider == "rehearsal" and not name:
        return RehearsalProvider(sleep=clock.sleep), _close_nothing
    endpoint = ENDPOINTS.get(provider.lower())
    if endpoint is None or not name:
        raise SettingsError(texts.NO_SUCH_MODEL.format(forms=forms))
    environ: Mapping[str, str] = os.environ  # noqa: TID251 -- the calling program's environment, where it gives no argument
    if endpoint.needs:
        return _open_in_cloud(endpoint, name, api_key, base_url, environ, clock)
    if address := _address(endpoint, base_url, environ, "http://", "https://", "ws://", "wss://"):
        endpoint = endpoint.at(address)
    key = api_key or environ.get(endpoint.key_setting) or None
    if endpoint.key_required and key is None:
        raise SettingsError(texts.MODEL_KEY_MISSING.format(key=endpoint.key_setting, model=model))
    return _opened(endpoint, name, _keys_of(endpoint, key, api_key), None, clock)


def _address(endpoint: Endpoint, base_url: str | None, environ: Mapping[str, str], *schemes: str) -> str:
    """Return the address of the model's server; "" for the usual one. Raises SettingsError for another scheme: the
    client's own error would name neither the setting nor the form.
    """
    address = base_url or environ.get(endpoint.url_setting, "")
    if address and not address.startswith(schemes):
        name = "base_url" if base_url else endpoint.url_setting
        raise SettingsError(texts.NO_ADDRESS.format(name=name, what=_format_value(address)))
    return address


def _open_in_cloud(
    endpoint: Endpoint, name: str, api_key: str | None, base_url: str | None, environ: Mapping[str, str], clock: Clock
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """Open a model of a cloud, by its keys, or else by this machine's identity."""
    values = dict(environ)
    values[endpoint.url_setting] = address = _address(endpoint, base_url, environ, "http://", "https://")
    region = region_of_arn(name) or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or ""
    values["AWS_REGION"] = region if is_aws_region(region) else ""
    key = api_key or environ.get(endpoint.key_setting) or None
    if missing := missing_needs(endpoint, name, values, has_key=key is not None):
        raise SettingsError(texts.CLOUD_SETTING_MISSING.format(name=missing[0], model=f"{endpoint.name}:{name}"))
    if endpoint.name == AZURE.name:
        endpoint = azure_at(address, environ.get("AZURE_OPENAI_API_VERSION", ""))
    elif endpoint.name == BEDROCK.name:
        endpoint = bedrock_in(region, address)
    else:
        project, location = environ.get("GOOGLE_CLOUD_PROJECT", ""), environ.get("GOOGLE_CLOUD_LOCATION", "")
        endpoint = vertex_at(project, location, address)
    keys = _keys_of(endpoint, key, api_key)
    return _opened(endpoint, name, keys, None if keys else identity(endpoint, IdentitySettings(), clock), clock)


def _keys_of(endpoint: Endpoint, key: str | None, api_key: str | None) -> tuple[str, ...]:
    try:
        return split_keys(key) if key else ()
    except ValueError as problem:
        raise SettingsError(f"{endpoint.key_setting if key != api_key else 'api_key'} {problem}.") from None


def _opened(
    endpoint: Endpoint, name: str, keys: Sequence[str], credentials: Key, clock: Clock
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    from agent.providers.factory import ProviderWorld, open_with_keys  # noqa: PLC0415 -- a rehearsal needs no client
    from agent.providers.key_pool import KeyRing  # noqa: PLC0415 -- a rehearsal needs no client
    from agent.providers.replay import ModelTimeouts  # noqa: PLC0415 -- a rehearsal needs no client

    world = ProviderWorld(clock, random.random, ModelTimeouts(180.0, 60.0), RetryPolicy(2))
    ring = KeyRing(endpoint, keys, clock, log.warning) if keys else None
    opened = open_with_keys(endpoint, name, ring, world, Mode.AUTO, credentials=credentials)
    return opened, opened.aclose
