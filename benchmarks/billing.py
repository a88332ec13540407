"""What vendors bill for the input of a turn's calls, by their rules for prompt caches. Pure.

The input of a call begins with the whole input of the call before, so a cache can hold that much of it. This is the
best case: the cache always hits, and was empty at the start of the turn. Whether the client sent these tokens or the
vendor kept them makes no difference to the bill.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.messages import ModelCall, Usage
from agent.spending import NANO, cost


@dataclass(frozen=True, slots=True)
class CacheRule:
    """`minimum`: the shortest cached input in tokens. `writes_cost`: writing to the cache has its own price."""

    vendor: str
    model: str
    minimum: int
    writes_cost: bool


RULES = (
    CacheRule("openai", "openai:gpt-6.1-terra", 1_024, writes_cost=True),
    CacheRule("anthropic", "anthropic:claude-sonnet-5-5", 512, writes_cost=True),
    CacheRule("gemini", "gemini:gemini-3.8-flash", 4_096, writes_cost=False),
)


def billed(rule: CacheRule, inputs: Sequence[int]) -> Usage:
    """Return the billed input of all calls, by kind. `inputs`: the tokens of each call's whole input, in order."""
    usage, held = Usage(), 0
    for tokens in inputs:
        new = tokens - held
        kept = tokens >= rule.minimum
        written = new if kept and rule.writes_cost else 0
        usage += Usage(input_uncached=new - written, input_cached=held, input_written=written)
        held = tokens if kept else 0
    return usage


def input_tokens(usage: Usage) -> int:
    return usage.input_uncached + usage.input_cached + usage.input_written


def input_dollars(rule: CacheRule, usage: Usage) -> float:
    """Return the list price. Raises LookupError for a model without one."""
    if (price := cost(ModelCall(rule.model, usage))) is None:
        raise LookupError(rule.model)
    return price / NANO
