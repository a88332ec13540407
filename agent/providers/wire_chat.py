"""Chat Completions on the wire: our messages → request body, the stream's data → our events. Pure.

Above: `agent.providers.chat`. Below: `agent.ports`, `agent.protocol.grammar`, `faults`, `reading`.

Rules, learned from the servers that speak this protocol (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, the vendors):
- `usage`, `finish_reason`, `index`, ids and `[DONE]` are optional. Usage may come in any chunk; the last one counts.
- Reasoning arrives as `reasoning`, as `reasoning_content`, or as parts of `content`.
- A whole answer (`message` in place of `delta`) reads as one chunk: some servers ignore `stream`.
- Unknown fields and unreadable data are ignored and counted.
- Chat templates are strict: the system message comes first and once, a user message follows, then roles alternate.
- No `temperature`: current models refuse it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from agent.messages import Json, Message, Role, Usage
from agent.ports import ProviderEvent, ReasoningArrived, ResponseEnded, StopReason, TokensArrived
from agent.protocol.grammar import STOP_SEQUENCE
from agent.providers.faults import Fault, read_error
from agent.providers.reading import as_count, as_list, as_object, as_text, read_json

MISSING_QUESTION = "(The beginning of this conversation is not shown.)"
"""Stands where history begins with an answer: strict templates want a user message first."""

DONE = "[DONE]"

_REASONS = {"length": StopReason.LENGTH, "content_filter": StopReason.FILTERED}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request. `stop` and `include_usage` are left out for servers that refuse them."""

    model: str
    messages: Sequence[Message]
    stop: bool = True
    include_usage: bool = True

    def encoded(self) -> bytes:
        """The body, as UTF-8. Half surrogates, which UTF-8 cannot hold, become question marks."""
        body: dict[str, Json] = {
            "model": self.model,
            "messages": [{"role": str(message.role), "content": message.text} for message in merged(self.messages)],
            "stream": True,
        }
        if self.include_usage:
            body["stream_options"] = {"include_usage": True}
        if self.stop:
            body["stop"] = [STOP_SEQUENCE]
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def merged(messages: Sequence[Message]) -> list[Message]:
    """The system message first, then user and assistant in turns; what was apart is joined by a blank line."""
    system = [message for message in messages if message.role is Role.SYSTEM]
    spoken = [message for message in messages if message.role is not Role.SYSTEM]
    if spoken and spoken[0].role is Role.ASSISTANT:
        spoken.insert(0, Message(Role.USER, MISSING_QUESTION))
    return [
        Message(role, "\n\n".join(message.text for message in run))
        for role, run in groupby([*system, *spoken], key=lambda message: message.role)
    ]


ChatEvent: TypeAlias = ProviderEvent | Fault


class ChatReader:
    """Reads one answer: `receive` each piece of data, then `close` once.

    `begun` is true after the first piece that reads as a chat completion; `finished` after a finish reason or
    `[DONE]`: from then on only usage may come. `ignored` counts what could not be read.
    """

    def __init__(self) -> None:
        self.begun = False
        self.finished = False
        self.ignored = 0
        self._reason = StopReason.END
        self._usage: dict[str, object] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def receive(self, data: str) -> list[ChatEvent]:
        """The events of one `data` field, in order. A Fault is the last that will be of use."""
        if data.strip() == DONE:
            self.begun = self.finished = True
            return []
        chunk = as_object(read_json(data))
        if error := chunk.get("error"):
            return [read_error(error)]
        if "choices" not in chunk and "usage" not in chunk:
            self.ignored += 1
            return []
        self.begun = True
        self._usage = as_object(chunk.get("usage")) or self._usage
        choices = [as_object(choice) for choice in as_list(chunk.get("choices"))]
        return [event for choice in choices if not choice.get("index") for event in self._choice(choice)]

    def close(self, messages: Sequence[Message], bytes_up: int, estimate: Callable[[str], int]) -> ResponseEnded:
        """The end of the answer to `messages`, with its usage: as reported, or else estimated."""
        if self._usage:
            return ResponseEnded(self._reason, read_usage(self._usage, bytes_up))
        return ResponseEnded(
            self._reason,
            Usage(
                input_uncached=sum(estimate(message.text) for message in messages),
                output=estimate("".join(self._text)),
                reasoning=estimate("".join(self._reasoning)),
                bytes_up=bytes_up,
                estimated=True,
            ),
        )

    def _choice(self, choice: dict[str, object]) -> list[ChatEvent]:
        events: list[ChatEvent] = []
        if error := choice.get("error"):
            return [read_error(error)]
        delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
        text, reasoning = _content(delta.get("content"))
        reasoning = as_text(delta.get("reasoning")) or as_text(delta.get("reasoning_content")) or reasoning
        text = text or as_text(delta.get("refusal"))
        if reasoning:
            self._reasoning.append(reasoning)
            events.append(ReasoningArrived(reasoning))
        if text:
            self._text.append(text)
            events.append(TokensArrived(text))
        if reason := as_text(choice.get("finish_reason")):
            self.finished = True
            halted = bool(as_text(choice.get("stop_reason")))
            self._reason = _REASONS.get(reason, StopReason.HALTED if halted else StopReason.END)
        return events


def _content(content: object) -> tuple[str, str]:
    """Text and reasoning of a `content` that is a text, or a list of parts that are either."""
    texts, thoughts = [as_text(content)], [""]
    for part in map(as_object, as_list(content)):
        texts.append(as_text(part.get("text")))
        thinking = part.get("thinking")
        thoughts.append(as_text(thinking) or "".join(as_text(as_object(p).get("text")) for p in as_list(thinking)))
    return "".join(texts), "".join(thoughts)


def read_usage(usage: dict[str, object], bytes_up: int) -> Usage:
    """Token counts as parts that do not overlap: cached, written and other input; reasoning and other output.

    Most vendors count reasoning among the completion tokens; where the total shows that it comes on top, it is not
    taken off.
    """
    prompt, completion = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    inputs = as_object(usage.get("prompt_tokens_details"))
    cached, written = as_count(inputs.get("cached_tokens")), as_count(inputs.get("cache_write_tokens"))
    reasoning = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    on_top = as_count(usage.get("total_tokens")) == prompt + completion + reasoning
    return Usage(
        input_uncached=max(0, prompt - cached - written),
        input_cached=cached,
        input_written=written,
        output=completion if on_top else max(0, completion - reasoning),
        reasoning=reasoning,
        bytes_up=bytes_up,
    )
