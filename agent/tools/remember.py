"""`remember`: keep a fact that the person asked to be remembered.

Above: `bot.app` registers it. Below: the port Facts, `agent.memory`.

Rules
  The fact belongs to the person who asks and to the place where it was said, and keeps the message that it came from.
  Whose it is, where, and with which authority comes from the turn, never from the model.
  A key, or else what contradicts, supersedes; the result says what was replaced.
  What is assumed, drafted or said for now holds in this conversation only, what a task needs in this turn only.
  A secret is not kept. What binds others is set by people, with a command, and not by a model.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, assert_never

from agent.errors import ToolError
from agent.memory.audience import label
from agent.memory.facts import ConstraintType, Fact, Scope
from agent.memory.layers import WorkingItem
from agent.memory.secrets import has_secret
from agent.memory.writing import NewFact, Refusal, WriteRefused
from agent.messages import JsonObject
from agent.ports import Facts, ToolContext, ToolOutput, WorkingSet

MAX_CHARS: Final = 2_000
"""Facts stand in later contexts; a longer text is better found again by recall."""
MAX_KEY_CHARS: Final = 80
MAX_GROUNDS: Final = 10

WORKING_TIME: Final = timedelta(days=1)
"""How long a scratch value is kept: a task that is put down overnight goes on."""

FACT: Final = "fact"
REFUSED: Final = (
    "not kept: this holds a password, a key or a card number, and such things are never remembered; tell the person so"
)
NOT_A_MANAGER: Final = f'not kept: {Refusal.NOT_A_MANAGER} It can be kept as a plain fact: leave out "kind".'

_PROPERTIES: Final[JsonObject] = {
    "text": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_CHARS,
        "description": "one sentence that can be understood by itself; with a key, its value",
    },
    "key": {
        "type": "string",
        "maxLength": MAX_KEY_CHARS,
        "description": "what it is about, if it may change, e.g. deadline of Apollo; the same key replaces the value",
    },
    "kind": {
        "enum": [FACT, *map(str, ConstraintType)],
        "description": "a limit that must be kept to, or a fact (the default)",
    },
    "scope": {
        "enum": [*map(str, Scope)],
        "description": "global (the default), or only in this conversation: session, hypothetical, draft; or this task",
    },
    "depends_on": {
        "type": "array",
        "items": {"type": "string"},
        "maxItems": MAX_GROUNDS,
        "description": "keys of the facts that this one follows from",
    },
}


@dataclass(frozen=True, slots=True)
class RememberTool:
    facts: Facts
    working_set: WorkingSet | None = None
    """Keeps what is for now; None: that is a fact of its session."""
    timeout_s: float = 10.0
    name: str = "remember"
    description: str = "Keep a fact for this person's later conversations, when they ask you to remember something."
    read_only: bool = False

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": {**_PROPERTIES},
            "required": ["text"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        """Raises ToolError for what is not kept, with the reason."""
        new = fact_of(args, context)
        if has_secret(f"{new.key}: {new.value}"):
            raise ToolError(REFUSED)
        if new.scope is Scope.SESSION and self.working_set is not None:
            return await self._keep_for_now(self.working_set, new, context)
        outcome = await self.facts.write(new)
        if isinstance(outcome, WriteRefused):
            raise ToolError(NOT_A_MANAGER if outcome.why is Refusal.NOT_A_MANAGER else f"not kept: {outcome.why}")
        known = (outcome.fact, *outcome.superseded)
        sources = {one.source_message for one in known if one.source_message is not None}
        return ToolOutput(_told(outcome.fact, outcome.superseded), tuple(sorted(sources - {context.message})))

    async def _keep_for_now(self, working_set: WorkingSet, new: NewFact, context: ToolContext) -> ToolOutput:
        until = new.timestamp + WORKING_TIME
        item = WorkingItem(new.key or new.value, new.value, new.timestamp, until, context.message)
        await working_set.keep(context.conversation, new.audience, item)
        return ToolOutput(f"Kept for this conversation, for a day: {item.value}")


def fact_of(args: JsonObject, context: ToolContext) -> NewFact:
    """What the model asks to be kept, as far as the turn allows it."""
    kind, grounds = str(args.get("kind", FACT)), args.get("depends_on", [])
    scope = Scope(str(args.get("scope", Scope.GLOBAL)))
    return NewFact(
        id="",
        key=str(args.get("key", "")).strip(),
        value=str(args["text"]).strip(),
        source="user",
        timestamp=context.now,
        audience=label(context.place.audience),
        person=context.person.id,
        authority=context.authority,
        scope=scope,
        scope_id=scope_id(scope, context.conversation, context.message),
        depends_on=tuple(map(str, grounds)) if isinstance(grounds, list) else (),
        is_constraint=kind != FACT,
        constraint_type=None if kind == FACT else ConstraintType(kind),
        source_message=context.message,
    )


def scope_id(scope: Scope, conversation: str, question: int) -> str | None:
    """Within what a fact of this scope holds; a task is known by its question."""
    match scope:
        case Scope.GLOBAL:
            return None
        case Scope.TASK:
            return str(question)
        case Scope.HYPOTHETICAL | Scope.DRAFT | Scope.SESSION:
            return conversation
        case _:
            assert_never(scope)


def _told(kept: Fact, replaced: tuple[Fact, ...]) -> str:
    if not kept.is_valid:
        return f"Kept as history: {kept.said} (something newer is known already)"
    before = "; ".join(fact.said for fact in replaced)
    return f"Remembered: {kept.said}" + (f" (it replaces: {before})" if before else "")
