"""What an answer was drawn from, as it was stored with its turn. Ids have the forms of `agent.incoming`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class UsedFact:
    """A fact of memory that was in the context. `link`: to the message that it came from, "" if it has none.
    `is_valid`: no newer fact has replaced it since.
    """

    text: str
    audience: str
    person: str
    time: datetime
    link: str = ""
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class UsedMessage:
    """A message of another conversation. `given`: a tool found it; else the profile or an earlier thread rests on it.
    `drawn_from`: see `agent.memory.audience`.
    """

    text: str
    audience: str
    person: str
    conversation: str
    time: datetime
    drawn_from: str
    given: bool
    by_bot: bool
    link: str = ""


@dataclass(frozen=True, slots=True)
class UsedDocument:
    name: str
    audience: str
    link: str
    time: datetime


@dataclass(frozen=True, slots=True)
class UsedTool:
    """A call, as the audit has it (`agent.ports.tool_audit.AuditedCall`)."""

    tool: str
    outcome: str
    decision: str
    account: str


@dataclass(frozen=True, slots=True)
class UsedModel:
    """`cost`: in nano-dollars; None if a call has no price."""

    name: str
    calls: int
    cost: int | None


@dataclass(frozen=True, slots=True)
class Grounds:
    """All that an answer was drawn from.

    `gone`: how many messages, facts and documents of it were forgotten or deleted since. `here`: how many messages of
    its own conversation it had read. `more`: how many messages elsewhere are not listed, because they are too many.
    `asked_model`: the name of the model that should have answered; "" if that is not known.
    """

    facts: Sequence[UsedFact] = ()
    messages: Sequence[UsedMessage] = ()
    documents: Sequence[UsedDocument] = ()
    tools: Sequence[UsedTool] = ()
    models: Sequence[UsedModel] = ()
    gone: int = 0
    here: int = 0
    more: int = 0
    asked_model: str = ""
