"""`cogency check-model`: how well the configured model keeps the protocol, in twenty probes, and what that takes."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.completion import complete
from agent.messages import ModelCall, Usage, estimate_tokens
from agent.ports import CallOptions, Clock, Provider
from agent.probes import PROBES, Probe, ProbeReading, messages_of
from agent.protocol.parser import Parser
from agent.spending import cost
from agent.tools.registry import Registry
from bot.texts import setup_texts
from bot.texts.formatting import money

KIND: Final = "check"
"""What its calls are for, in the account."""
ANSWER_TOKENS: Final = 200
"""Of one probe, with what a model thinks before it: they ask for a few words each."""

GOOD = 18
"""Of twenty: such a model carries out nearly every turn at the first try."""
USABLE = 12
"""Of twenty: corrections will be needed, and show as waiting."""


@dataclass(frozen=True, slots=True)
class ProbeVerdict:
    probe: Probe
    passed: bool
    seconds: float


def announcement(name: str, tools: Registry, now: datetime) -> str:
    """What checking this model will take, before the first question."""
    read = sum(estimate_tokens(message.text) for probe in PROBES for message in messages_of(probe, tools, now))
    written = len(PROBES) * ANSWER_TOKENS
    price = cost(ModelCall(name, Usage(input_uncached=read, output=written)))
    dollars = "" if price is None else f", {money(price)} at list prices"
    return setup_texts.CHECK_BEGINS.format(probes=len(PROBES), tokens=read + written, dollars=dollars)


async def check_model(
    provider: Provider, tools: Registry, clock: Clock, count: Callable[[ModelCall], Awaitable[None]]
) -> AsyncGenerator[ProbeVerdict, None]:
    """One verdict after the other; `count` is told what each took. Raises ProviderError if the model cannot answer."""
    for probe in PROBES:
        began = clock.monotonic()
        heard = await _ask(provider, probe, tools, clock, count)
        yield ProbeVerdict(probe, probe.judge(heard), clock.monotonic() - began)


async def _ask(
    provider: Provider, probe: Probe, tools: Registry, clock: Clock, count: Callable[[ModelCall], Awaitable[None]]
) -> ProbeReading:
    parser = Parser(tool_names=tools.names)
    able = provider.capabilities
    messages = messages_of(probe, tools, clock.now(), reasons=able.reasons)
    raw = await complete(provider, messages, count, CallOptions(tools=tools.specs))
    events = (*parser.feed(raw), *parser.close())
    return ProbeReading(events, raw, lambda call: tools.check(call) is None, able.native_calls)


def verdict_line(verdict: ProbeVerdict) -> str:
    """One verdict as one line."""
    return setup_texts.CHECKED_ONE.format(
        passed="yes" if verdict.passed else "NO ", seconds=verdict.seconds, ability=verdict.probe.ability
    )


def is_usable(verdicts: list[ProbeVerdict]) -> bool:
    return sum(verdict.passed for verdict in verdicts) >= USABLE


def conclusion(name: str, verdicts: list[ProbeVerdict]) -> str:
    """What the verdicts mean for somebody who wants to run this model."""
    passed = sum(verdict.passed for verdict in verdicts)
    if passed >= GOOD:
        meaning = "it is a good choice."
    elif passed >= USABLE:
        meaning = "it is usable; expect corrections, which show as longer waiting."
    else:
        meaning = "choose a larger model: this one will often fail to use its tools."
    return f"{name} passed {passed} of {len(verdicts)} probes: {meaning}"
