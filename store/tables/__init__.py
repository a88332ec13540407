"""The tables. Portable to PostgreSQL: text, integers, aware times; states are text; JSON is kept as text.

Above: everything in `store`; every name is imported from here. Below: one module for each room, `store.columns`.
`store/migrations` follows these tables (a test compares them).

Rules
  Ids of rows are never used again (AUTOINCREMENT): they stand in contexts, claims and the search index long after
  their row is gone. Ids of people, conversations and platform messages are the platform's own texts.
  Whatever holds somebody's words names the person, the turn or the conversation by which `store.forgetting.erase` finds
  it.
"""

from store.tables.memory import (
    Fact,
    FactGround,
    FactTerm,
    Profile,
    ProfileEntry,
    ProfileSource,
    WorkingItem,
    fact,
    fact_ground,
    fact_term,
    profile,
    profile_entry,
    profile_source,
    working_item,
)
from store.tables.naming import metadata
from store.tables.talk import (
    Conversation,
    Embedding,
    Message,
    Participant,
    Person,
    conversation,
    embedding,
    message,
    participant,
    person,
)
from store.tables.upkeep import (
    Erased,
    Meta,
    ModelCall,
    Preference,
    erased,
    meta,
    model_call,
    preference,
)
from store.tables.work import (
    DONE,
    RUNNING,
    WAITING,
    ActionRecord,
    Job,
    Page,
    TaskWorkspace,
    Turn,
    Verdict,
    action_record,
    job,
    page,
    turn,
    verdict,
    workspace,
)

__all__ = [
    "DONE",
    "RUNNING",
    "WAITING",
    "ActionRecord",
    "Conversation",
    "Embedding",
    "Erased",
    "Fact",
    "FactGround",
    "FactTerm",
    "Job",
    "Message",
    "Meta",
    "ModelCall",
    "Page",
    "Participant",
    "Person",
    "Preference",
    "Profile",
    "ProfileEntry",
    "ProfileSource",
    "TaskWorkspace",
    "Turn",
    "Verdict",
    "WorkingItem",
    "action_record",
    "conversation",
    "embedding",
    "erased",
    "fact",
    "fact_ground",
    "fact_term",
    "job",
    "message",
    "meta",
    "metadata",
    "model_call",
    "page",
    "participant",
    "person",
    "preference",
    "profile",
    "profile_entry",
    "profile_source",
    "turn",
    "verdict",
    "working_item",
    "workspace",
]
