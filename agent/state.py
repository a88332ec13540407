"""The agent's state, in the shapes of seed 001 (state v5.0) and seed 002 (semantic summary), reconciled.

Conversation    in the store: its messages, read for each turn, and its summary (`SituationSummary`)
Workspace       of one task; part of the turn's progress
Execution       never persisted
State           not a type here: a turn is a state machine (`agent.turn`), its results so far are a `Progress`, and the
                input of its context is `ContextParts`
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Final

from agent.messages import ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the model keeps in mind during one task: exactly four fields (seed 001)."""

    objective: str = ""
    understanding: str = ""
    approach: str = ""
    discoveries: str = ""


@dataclass(frozen=True, slots=True)
class SituationSummary:
    """Stands in for the messages of a conversation that are older than the history window (seed 002)."""

    goal: str = ""
    progress: str = ""
    current_approach: str = ""
    key_findings: str = ""
    next_focus: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, field_.name).strip() for field_ in fields(self))

    def merged(self, update: Mapping[str, object]) -> "SituationSummary":
        """Return a copy with each known, non-empty text of `update`, cut to the limit of its field; ignore everything
        else (seed 002, "State Update Logic").
        """
        known = {field_.name for field_ in fields(self)}
        texts = {k: bounded(k, v) for k, v in update.items() if k in known and isinstance(v, str) and v.strip()}
        return replace(self, **texts)


FIELD_CHARS: Final = 350
FINDINGS_CHARS: Final = 1_000  # Together some 600 tokens in every later context of the conversation


def bounded(name: str, text: str) -> str:
    """The text of a summary's field, cut to the limit of that field."""
    limit = FINDINGS_CHARS if name == "key_findings" else FIELD_CHARS
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


@dataclass(frozen=True, slots=True)
class ActionRecord:
    """The actions of one iteration, for debugging and for the summary's fallback only (seed 002).

    Each result holds up to 1,000 characters.
    """

    iteration: int
    time: datetime
    thinking: str
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class LastActions:
    """The last actions, oldest first, used where there is no summary (seed 002).

    `sources`: the ids of the messages in the contexts of those turns.
    """

    records: tuple[ActionRecord, ...] = ()
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """The position of a running turn. Iterations count from 1."""

    iteration: int = 1
    max_iterations: int = 10
