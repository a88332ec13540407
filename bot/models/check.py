"""`cogency check-model`: how well the configured model keeps the protocol, in twenty probes.

Above: `bot.app`. Below: `agent.probes`, `agent.protocol.parser`, the Provider port.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from agent.ports import Clock, Provider, TokensArrived
from agent.probes import PROBES, Heard, Probe, messages_of
from agent.protocol.parser import Parser
from agent.tools.registry import Registry

GOOD = 18
"""Of twenty: such a model carries out nearly every turn at the first try."""
USABLE = 12
"""Of twenty: corrections will be needed, and show as waiting."""


@dataclass(frozen=True, slots=True)
class Verdict:
    probe: Probe
    passed: bool
    seconds: float


async def check_model(provider: Provider, tools: Registry, clock: Clock) -> AsyncGenerator[Verdict, None]:
    """One verdict after the other. Raises ProviderError when the model cannot answer at all."""
    for probe in PROBES:
        began = clock.monotonic()
        heard = await _ask(provider, probe, tools, clock)
        yield Verdict(probe, probe.judge(heard), clock.monotonic() - began)


async def _ask(provider: Provider, probe: Probe, tools: Registry, clock: Clock) -> Heard:
    parser = Parser(tool_names=tools.names)
    async with aclosing(provider.stream(messages_of(probe, tools, clock.now()))) as stream:
        raw = "".join([event.text async for event in stream if isinstance(event, TokensArrived)])
    events = (*parser.feed(raw), *parser.close())
    return Heard(events, raw, lambda call: tools.check(call) is None)


def line(verdict: Verdict) -> str:
    """One verdict as one line."""
    return f"{'yes' if verdict.passed else 'NO ':3} {verdict.seconds:6.1f} s  The model can {verdict.probe.ability}."


def is_usable(verdicts: list[Verdict]) -> bool:
    return sum(verdict.passed for verdict in verdicts) >= USABLE


def conclusion(name: str, verdicts: list[Verdict]) -> str:
    """What the verdicts mean for somebody who wants to run this model."""
    passed = sum(verdict.passed for verdict in verdicts)
    if passed >= GOOD:
        meaning = "it is a good choice."
    elif passed >= USABLE:
        meaning = "it is usable; expect corrections, which show as longer waiting."
    else:
        meaning = "choose a larger model: this one will often fail to use its tools."
    return f"{name} passed {passed} of {len(verdicts)} probes: {meaning}"
