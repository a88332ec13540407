"""The values that cross the boundary to the store: what comes in, what is kept, what is found.

Above: `agent.ports`, `agent.context`, the tools, `store`, `bot`. Below: `agent.messages`, `agent.state`,
`agent.memory`.
Every name is imported from here.

Rules: ids of people, conversations and platform messages are opaque texts made by the platform adapters and are
unique across platforms ("slack:T1:U7"). Every time is aware, in UTC.
"""

from agent.records.feedback import Answered, Verdict
from agent.records.forgetting import DELETE_REPLY, POSTED, REACHED_ONCE, Receipt, Shown, ShownPage
from agent.records.messages import (
    ATTACHED,
    Attachment,
    Author,
    Incoming,
    LastSeen,
    Person,
    Quoted,
    StoredMessage,
    Thread,
)
from agent.records.recall import Embedded, Hit, Meaning, RecallQuery, Remembered, Unembedded
from agent.records.turns import Accepted, Claim, Claiming, Closing, Job, Known, Load, Waiting

__all__ = [
    "ATTACHED",
    "DELETE_REPLY",
    "POSTED",
    "REACHED_ONCE",
    "Accepted",
    "Answered",
    "Attachment",
    "Author",
    "Claim",
    "Claiming",
    "Closing",
    "Embedded",
    "Hit",
    "Incoming",
    "Job",
    "Known",
    "LastSeen",
    "Load",
    "Meaning",
    "Person",
    "Quoted",
    "RecallQuery",
    "Receipt",
    "Remembered",
    "Shown",
    "ShownPage",
    "StoredMessage",
    "Thread",
    "Unembedded",
    "Verdict",
    "Waiting",
]
