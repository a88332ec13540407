"""One model with several keys of its service, for example of several organizations with a rate limit each.

Rules
  A key is used as long as it works, not one after the other: services cache prompts for each organization, so a change
  of the key costs the cache. Each process starts with the first key and learns by its own requests which keys work.
  A key with a rate limit rests for this model as long as the service asks for. A key that is refused or without credit
  is set aside for all models, and operators read it once, by its last four characters. Later it is tried again.
  Another key is tried only before the first event of an answer, so that nobody reads a text twice.
  What a service keeps of a turn belongs to the key: sockets, stored responses, and answers in the service's own form.
  A turn stays with its key; if it has to change, the next key gets the whole context, and earlier answers as text.
  A stored response is deleted with the key that stored it: its handle ends with a mark of that key.
"""

import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from hashlib import blake2s
from typing import Final, Protocol

from agent import texts
from agent.errors import KeyTrouble, ProviderError, ProviderRefused, ProviderUnavailable, StreamBroken
from agent.messages import Message, NativeContent
from agent.model_sessions import SessionProvider, open_session
from agent.ports.clock import Clock
from agent.ports.model import (
    CallOptions,
    Capabilities,
    HandleKept,
    KeepingProvider,
    ModelSession,
    Provider,
    ProviderEvent,
    ResponseEnded,
    SizedProvider,
    WarningProvider,
)
from agent.providers.catalog import Endpoint
from agent.providers.faults import RetryPolicy
from agent.providers.keys import KEY_MARK, OWN_KEY_MARK, key_end, own_mark

# A key that was refused is tried again after this time: services refuse good keys, too, while they have a problem.
SET_ASIDE_S: Final = 3_600.0
LIMITED_S: Final = 5.0  # How long a key rests if the service does not say it: limits are by the second or the minute
WORKS_S: Final = 3_600.0  # After this time it is noted again that a channel's own key works
MAX_LIMITED_S: Final = 86_400.0  # The longest limits are by the day


@dataclass(slots=True)
class _KeyState:
    trouble: KeyTrouble | None = None
    aside_until: float = -math.inf
    limited_until: dict[str, float] = field(default_factory=dict[str, float])  # By model
    is_reported: bool = False


class KeyRing:
    """The keys of one service, and which of them may be used now: shared by all models of the service.

    A key is known by its index. `warn` receives a sentence for operators. There must be at least one key.
    """

    is_own: bool = False
    """Whether a channel, and not the operator, has given the keys."""

    def __init__(self, endpoint: Endpoint, keys: Sequence[str], clock: Clock, warn: Callable[[str], None]) -> None:
        self._endpoint = endpoint
        self.keys = tuple(keys)
        self._clock = clock
        self._warn = warn
        self._states = [_KeyState() for _ in keys]
        self._current: dict[str, int] = {}  # By model

    def __repr__(self) -> str:
        return f"KeyRing({self._endpoint.key_setting}, {len(self.keys)} keys)"

    @property
    def is_single(self) -> bool:
        """Whether a model can be asked with its key directly: there is no other, and nothing has to be known of it."""
        return len(self.keys) == 1

    def current(self, model: str) -> int:
        """Return the key that answered last."""
        return self._current.get(model, 0)

    def usable(self, model: str) -> list[int]:
        """Return the keys that may be used now for this model, the one that answered last first.

        If all are set aside, this is the one that has been for the longest time: it may work again.
        """
        now, first = self._clock.monotonic(), self.current(model)
        order = [(first + offset) % len(self.keys) for offset in range(len(self.keys))]
        accepted = [index for index in order if self._states[index].aside_until <= now]
        if not accepted:
            return [min(order, key=lambda index: self._states[index].aside_until)]
        return [index for index in accepted if self._limited_until(index, model) <= now]

    def wait_s(self, model: str) -> float | None:
        """Return the seconds until the first key may be used again; None if all are set aside."""
        now = self._clock.monotonic()
        accepted = [index for index, state in enumerate(self._states) if state.aside_until <= now]
        return min((max(0.0, self._limited_until(index, model) - now) for index in accepted), default=None)

    def worked(self, index: int, model: str) -> None:
        self._current[model] = index
        self._states[index].limited_until.pop(model, None)
        self._states[index].trouble, self._states[index].is_reported = None, False
        self._states[index].aside_until = -math.inf

    def failed(self, index: int, model: str, error: ProviderError) -> None:
        """Note what an error says of the key, if anything."""
        state, now = self._states[index], self._clock.monotonic()
        match error.key_trouble:
            case None:
                return
            case KeyTrouble.LIMITED:
                state.limited_until[model] = now + min(error.retry_after_s or LIMITED_S, MAX_LIMITED_S)
            case KeyTrouble.REFUSED | KeyTrouble.NO_CREDIT:
                state.trouble, state.aside_until = error.key_trouble, now + SET_ASIDE_S
                if not state.is_reported:
                    state.is_reported = True
                    self._warn(self._sentence(index, error.key_trouble))

    def set_aside(self) -> list[str]:
        """Return a sentence for each key that is set aside now."""
        now = self._clock.monotonic()
        return [
            self._sentence(index, state.trouble)
            for index, state in enumerate(self._states)
            if state.trouble is not None and state.aside_until > now
        ]

    def exhausted(self, model: str) -> ProviderError:
        """Return the error if no key can answer: with the earliest time if any only has to wait."""
        label, setting = self._endpoint.label, self._endpoint.key_setting
        wait_s = self.wait_s(model)
        if wait_s is None:
            if all(state.trouble is KeyTrouble.NO_CREDIT for state in self._states):
                return ProviderRefused(texts.NO_CREDIT.format(label=label), person=texts.ASK_OPERATOR)
            ends = ", ".join(map(key_end, self.keys))
            sentence = texts.KEYS_REFUSED.format(label=label, count=len(self.keys), ends=ends, setting=setting)
            return ProviderRefused(sentence, person=texts.ASK_OPERATOR)
        time = (self._clock.now() + timedelta(seconds=wait_s)).strftime("%H:%M:%S")
        sentence = texts.KEYS_LIMITED.format(label=label, setting=setting, span=_span(wait_s), time=time)
        error = ProviderUnavailable(sentence, person=texts.KEYS_LIMITED_PERSON.format(label=label, span=_span(wait_s)))
        error.retry_after_s = wait_s
        return error

    def mark(self, index: int) -> str:
        """Return what ends the handles that this key stored."""
        return f"#key-{blake2s(self.keys[index].encode(), digest_size=4).hexdigest()}"

    def marked(self, handle: str) -> tuple[str, Sequence[int]]:
        """Return a handle without the mark of its key, and the key; all keys if it has no mark, or that of another."""
        found = KEY_MARK.search(handle)
        bare = handle[: found.start()] if found else handle
        own = [index for index in range(len(self.keys)) if found and self.mark(index) == found[0]]
        return bare, own or range(len(self.keys))

    def _limited_until(self, index: int, model: str) -> float:
        return self._states[index].limited_until.get(model, -math.inf)

    def _sentence(self, index: int, trouble: KeyTrouble) -> str:
        sentence = texts.KEY_WITHOUT_CREDIT if trouble is KeyTrouble.NO_CREDIT else texts.KEY_SET_ASIDE
        return sentence.format(
            label=self._endpoint.label,
            number=index + 1,
            count=len(self.keys),
            end=key_end(self.keys[index]),
            setting=self._endpoint.key_setting,
        )


class OwnKeyRing(KeyRing):
    """The only key that a channel has for a service. No other key takes its place, neither the operator's nor that of
    another channel, and what the service keeps is deleted with it alone: `mark`, in hexadecimal, ends its handles.

    `heard` receives what is wrong with the key whenever that is noticed, and None when it works, at most once an hour:
    other processes may have noticed something else meanwhile.
    """

    is_own = True

    def __init__(
        self, endpoint: Endpoint, key: str, mark: str, clock: Clock, heard: Callable[[KeyTrouble | None], None]
    ) -> None:
        super().__init__(endpoint, [key], clock, lambda _: None)
        self._mark = mark
        self._heard = heard
        self._works_until = -math.inf

    @property
    def is_single(self) -> bool:
        return False

    def worked(self, index: int, model: str) -> None:
        super().worked(index, model)
        if (now := self._clock.monotonic()) >= self._works_until:
            self._works_until = now + WORKS_S
            self._heard(None)

    def failed(self, index: int, model: str, error: ProviderError) -> None:
        super().failed(index, model, error)
        if error.key_trouble in (KeyTrouble.REFUSED, KeyTrouble.NO_CREDIT):
            self._works_until = -math.inf
            self._heard(error.key_trouble)

    def exhausted(self, model: str) -> ProviderError:
        label, end = self._endpoint.label, key_end(self.keys[0])
        match self._states[0].trouble:
            case None | KeyTrouble.LIMITED:
                wait_s = self.wait_s(model) or 0.0
                sentence = texts.OWN_KEY_LIMITED.format(label=label, end=end, span=_span(wait_s))
                person = texts.KEYS_LIMITED_PERSON.format(label=label, span=_span(wait_s))
                error = ProviderUnavailable(sentence, person=person)
                error.retry_after_s = wait_s
                return error
            case KeyTrouble.REFUSED:
                sentence = texts.OWN_KEY_REFUSED.format(label=label, end=end)
                return ProviderRefused(sentence, person=texts.OWN_KEY_REFUSED_PERSON.format(label=label))
            case KeyTrouble.NO_CREDIT:
                sentence = texts.OWN_KEY_NO_CREDIT.format(label=label, end=end)
                return ProviderRefused(sentence, person=texts.OWN_KEY_NO_CREDIT_PERSON.format(label=label))

    def mark(self, index: int) -> str:  # noqa: ARG002 -- there is one key
        return f"#own-{self._mark}"

    def marked(self, handle: str) -> tuple[str, Sequence[int]]:
        """Return a handle without its mark, and the key if it is the one that stored it."""
        return OWN_KEY_MARK.sub("", handle), [0] if own_mark(handle) == self._mark else []


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, math.ceil(seconds))} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{math.ceil(minutes / 60)} hours"


class OpenedProvider(Provider, Protocol):
    async def aclose(self) -> None: ...


class KeyPoolProvider(SessionProvider):
    """Answers with the first usable key of `ring`. `providers`: the model with each key, in the order of the ring.

    They must not wait for rate limits themselves. `retry`: for how long to wait if all keys have to.
    """

    def __init__(self, providers: Sequence[OpenedProvider], ring: KeyRing, clock: Clock, retry: RetryPolicy) -> None:
        self.providers = tuple(providers)
        self.ring = ring
        self.clock = clock
        self.retry = retry

    @property
    def name(self) -> str:
        return self.providers[0].name

    @property
    def _current(self) -> OpenedProvider:
        return self.providers[self.ring.current(self.name)]

    @property
    def capabilities(self) -> Capabilities:
        """Those of the model, with `resume`: each turn's session stays with its key."""
        return replace(self._current.capabilities, resume=True)

    @property
    def warning(self) -> str:
        return self._current.warning if isinstance(self._current, WarningProvider) else ""

    @property
    def context_tokens(self) -> int:
        return self._current.capabilities.context_tokens

    @context_tokens.setter
    def context_tokens(self, tokens: int) -> None:
        for provider in self.providers:
            if isinstance(provider, SizedProvider):
                provider.context_tokens = tokens

    def connect(self, options: CallOptions) -> "KeyPoolSession":
        return KeyPoolSession(self, options)

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Delete these at the service with the keys that stored them. Returns those that may still exist there."""
        kept: list[str] = []
        for handle in handles:
            bare, keys = self.ring.marked(handle)
            if not (keys and await self._forget(bare, [self.providers[index] for index in keys])):
                kept.append(handle)
        return tuple(kept)

    async def aclose(self) -> None:
        for provider in self.providers:
            await provider.aclose()

    async def _forget(self, handle: str, providers: Sequence[OpenedProvider]) -> bool:
        """Return whether it does not exist any more for any of these keys."""
        keeping = [provider for provider in providers if isinstance(provider, KeepingProvider)]
        return not any([await provider.forget_handles([handle]) for provider in keeping])


class KeyPoolSession:
    """One turn, with one key as long as that works."""

    def __init__(self, pool: KeyPoolProvider, options: CallOptions) -> None:
        self._pool = pool
        self._options = options
        self._index = -1
        self._session: ModelSession | None = None
        self._natives: list[NativeContent] = []
        self._foreign: list[NativeContent] = []
        self._kept: tuple[str, ...] = ()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        ring, model, retry = self._pool.ring, self._pool.name, self._pool.retry
        waits, waited_s = 0, 0.0
        while True:
            for index in self._in_order(ring.usable(model)):
                begun = False
                try:
                    async with aclosing(self._ask(index, messages)) as events:
                        async for event in events:
                            if not (begun or isinstance(event, HandleKept)):
                                begun = True
                                ring.worked(index, model)
                            yield event
                except ProviderError as error:
                    ring.failed(index, model, error)
                    # After the first event, another key would repeat words that the person has already seen.
                    if begun or error.key_trouble is None or isinstance(error, StreamBroken):
                        raise
                    await self._leave()
                else:
                    return
            wait_s = ring.wait_s(model)
            if wait_s is None or waits >= retry.max_retries or waited_s + wait_s > retry.max_total_wait_s:
                raise ring.exhausted(model)
            waits, waited_s = waits + 1, waited_s + wait_s
            await self._pool.clock.sleep(wait_s)

    async def close(self) -> tuple[str, ...]:
        await self._leave()
        return self._kept

    def _in_order(self, usable: Sequence[int]) -> list[int]:
        """Return the keys to try: the one of this turn first, because the service keeps the earlier rounds for it."""
        return sorted(usable, key=lambda index: index != self._index)

    async def _ask(self, index: int, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        if self._session is None or index != self._index:
            await self._leave()
            self._index, self._session = index, open_session(self._pool.providers[index], self._options)
        async with aclosing(self._session.answer([self._readable(message) for message in messages])) as events:
            async for event in events:
                if isinstance(event, ResponseEnded) and event.native is not None:
                    self._natives.append(event.native)
                marked = isinstance(event, HandleKept)
                yield HandleKept(event.handle + self._pool.ring.mark(index)) if marked else event

    def _readable(self, message: Message) -> Message:
        """Return the message without what a service wrote in its own form for another key: it may be sealed for that
        key's organization.
        """
        return replace(message, native=None) if message.native in self._foreign else message

    async def _leave(self) -> None:
        """Close the session of the key so far."""
        if self._session is None:
            return
        session, self._session = self._session, None
        mark = self._pool.ring.mark(self._index)
        self._foreign, self._natives = [*self._foreign, *self._natives], []
        self._index = -1
        self._kept += tuple(handle + mark for handle in await session.close())
