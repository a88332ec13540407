"""Jobs: durable work outside of turns."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final


@dataclass(frozen=True, slots=True)
class Job:
    """Work outside of turns that this worker does: learning, a reminder, a clean-up. Later writes carry `epoch`.

    `kind` is the name of its handler ("learn"), `key` its subject, `owner` the worker's id, and `payload` the input of
    the handler, which names messages by their ids and does not repeat their text. It is forgotten with `person` and
    with `conversation` ("" for none). `attempts` counts claims, this one included.
    """

    id: int
    epoch: int
    owner: str
    kind: str
    key: str
    payload: str
    run_at: datetime
    person: str = ""
    conversation: str = ""
    attempts: int = 1


INDEXING: Final = "indexing"  # The kind of job whose steps `Memories.index_more` does
