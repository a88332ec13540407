"""What each family of models on Amazon Bedrock takes of Converse, by the ids of its models. Pure.

From Amazon's documentation in November 2026: "Supported models and model features" (Converse), "Prompt caching",
"Inference parameters" and the models' cards. Converse refuses what a model does not take, in words that name it, and
the dialect then leaves it out. This table saves that first request.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

# The longest name of a model that Converse takes.
MAX_MODEL_CHARS: Final = 2_048


class EffortField(Enum):
    """Where the effort of reasoning stands in a request."""

    NONE = auto()
    OUTPUT = auto()
    """`outputConfig.effort`"""
    REASONING_EFFORT = auto()
    """`reasoning_effort`, of models of OpenAI"""
    NOVA = auto()
    """`reasoningConfig`, of Nova 2, which does not reason without it"""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """`system`: system prompts; `caching`: cache points; `tools`: native calls in a stream; `stop`: stop sequences.

    `max_tokens`: the longest answer that is asked for; None: the model's own maximum, all of which counts towards the
    account's quota of tokens per minute until the answer is complete.
    """

    images: bool = True
    system: bool = True
    caching: bool = False
    tools: bool = True
    stop: bool = True
    effort: EffortField = EffortField.NONE
    max_tokens: int | None = None


# As for Anthropic's own service: it leaves room for deep reasoning.
_LONG: Final = 32_000

# The first row that occurs in the model's id decides. Names of inference profiles begin with a region ("us.",
# "global."), and ARNs contain the id, or nothing that says which model it is.
_ROWS: Final = (
    # claude-3-haiku, claude-3-sonnet, claude-3-opus, claude-v2
    (r"anthropic\.claude-(?:3-[a-z]|v|instant)", ModelTraits(max_tokens=4_096)),
    (r"anthropic\.claude-3-5-sonnet", ModelTraits(max_tokens=8_192)),
    (r"anthropic\.claude-3-5-haiku", ModelTraits(images=False, caching=True, max_tokens=8_192)),
    (r"anthropic\.claude-(?:3-7|[a-z]+-4-(?:20|1-))", ModelTraits(caching=True, max_tokens=_LONG)),
    (r"anthropic\.claude-(?:sonnet|haiku)-4-5", ModelTraits(caching=True, max_tokens=_LONG)),
    (r"anthropic\.claude", ModelTraits(caching=True, effort=EffortField.OUTPUT, max_tokens=_LONG)),
    (r"amazon\.nova-2", ModelTraits(caching=True, effort=EffortField.NOVA, max_tokens=_LONG)),
    (r"amazon\.nova-micro", ModelTraits(images=False, caching=True, max_tokens=5_000)),
    (r"amazon\.nova", ModelTraits(caching=True, max_tokens=5_000)),
    (r"amazon\.titan", ModelTraits(images=False, system=False, tools=False)),
    (r"meta\.llama(?:3-2-(?:11|90)b|4)", ModelTraits(tools=False, max_tokens=8_192)),
    (r"meta\.llama", ModelTraits(images=False, tools=False, max_tokens=2_048)),
    (r"mistral\.(?:pixtral|mistral-large-3|ministral-3)", ModelTraits(max_tokens=8_192)),
    (r"mistral\.(?:mistral-7b|mixtral)", ModelTraits(images=False, system=False, tools=False, max_tokens=4_096)),
    (r"mistral\.", ModelTraits(images=False, max_tokens=8_192)),
    (r"openai\.gpt-oss", ModelTraits(images=False, stop=False, effort=EffortField.REASONING_EFFORT)),
    (r"qwen\.[a-z0-9-]*-vl-", ModelTraits(stop=False)),
    (r"qwen\.", ModelTraits(images=False, stop=False)),
    (r"deepseek\.r1", ModelTraits(images=False, tools=False)),
    (r"deepseek\.", ModelTraits(images=False)),
)
_TABLE: Final = tuple((re.compile(pattern), traits) for pattern, traits in _ROWS)
_UNKNOWN: Final = ModelTraits(caching=True)  # Such as an application's inference profile: it may be any model


def traits_of(model: str) -> ModelTraits:
    """Return what a model takes, by its id, the id of an inference profile, or an ARN."""
    name = model[:MAX_MODEL_CHARS].lower()
    return next((traits for pattern, traits in _TABLE if pattern.search(name)), _UNKNOWN)


_GEOGRAPHY: Final = re.compile(r"(?:[a-z]{2,6}|us-gov)\.(?=[a-z0-9]+\.)")


def foundation_model(model: str) -> str:
    """Return the id of a model without the region of its inference profile and the rest of an ARN."""
    name = model.rpartition("/")[2]
    return _GEOGRAPHY.sub("", name, count=1) if _GEOGRAPHY.match(name) else name
