"""The tables of places' documents, and of what processes share, by the rules of `store.tables`."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, false
from sqlmodel import Field

from store.databases.database import StorableText, UtcDateTime
from store.tables import NEVER_REUSED, Row, metadata


class PlaceRow(Row, table=True):
    """An audience with documents or shared messages. `number` identifies its range of the indexes."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    number: int | None = Field(default=None, primary_key=True)
    audience: str = Field(sa_type=StorableText, unique=True)


class DocumentRow(Row, table=True):
    """A document of a place. `audience` is the label of those who may find it; `person` added it, or is "" after they
    were forgotten. `state`: see `store.search.passages`. From `address` on: columns of a web page (see
    `agent.memory.documents.LinkedPage`), which is fetched again at `due`.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_document_audience", "audience", "name"),
        Index("ix_document_channel", "channel"),
        Index("ix_document_person", "person"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    source: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    name: str = Field(sa_type=StorableText)
    link: str = Field(sa_type=StorableText, default="")
    time: datetime = Field(sa_type=UtcDateTime)
    pages: int = 0
    passages: int
    state: str = Field(sa_type=StorableText)
    address: str = Field(sa_type=StorableText, default="")
    etag: str = Field(sa_type=StorableText, default="")
    modified: str = Field(sa_type=StorableText, default="")
    digest: str = Field(sa_type=StorableText, default="")
    seen: datetime | None = Field(sa_type=UtcDateTime, default=None)
    since: datetime | None = Field(sa_type=UtcDateTime, default=None)
    fault: str = Field(sa_type=StorableText, default="")
    is_own: bool = False
    due: datetime | None = Field(sa_type=UtcDateTime, default=None, index=True)


class PassageRow(Row, table=True):
    """A passage of a document. `number`: its position, from 1. `words`: the `length` index words of its text, then
    those of the document's name and the headings above it. `place`: in whose range of the index it is, if it is
    indexed.
    """

    __table_args__: ClassVar[Any] = (Index("ix_passage_document", "document", "number"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    document: int = Field(foreign_key="document.id")
    number: int
    page: int | None = None
    heading: str = Field(sa_type=StorableText, default="")
    text: str = Field(sa_type=StorableText)
    words: str = Field(sa_type=StorableText)
    length: int
    place: int | None = None


place, document, passage = (metadata.tables[name] for name in ("place", "document", "passage"))


# Shards of Discord's gateway, and how they are divided among processes.


class ShardLeaseRow(Row, table=True):
    """A connection to Discord's gateway: its owner and `since` when, the session with which another process can resume,
    and until when all events were `heard`; `behind`: messages from before the session are still to be caught up on.
    """

    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    shards: int
    owner: str | None = Field(sa_type=StorableText, default=None)
    epoch: int = Field(sa_type=BigInteger)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    session: str = Field(sa_type=StorableText, default="")
    resume_url: str = Field(sa_type=StorableText, default="")
    sequence: int = Field(sa_type=BigInteger, default=0)
    heard: datetime | None = Field(sa_type=UtcDateTime, default=None)
    since: datetime | None = Field(sa_type=UtcDateTime, default=None)
    behind: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


class ShardProcessRow(Row, table=True):
    """A process that takes part until `lease_until`, and the number of shards that it wants there to be."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    lease_until: datetime = Field(sa_type=UtcDateTime)
    wanted: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class ShardIdentifyRow(Row, table=True):
    """When a session of a bucket was last begun."""

    bucket: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UtcDateTime)


class SharedRateRow(Row, table=True):
    """How often something was done recently by all processes. `name` is a hash under the database's own key; `made`
    counts by moment, and lists who wants to do more; `next`, in microseconds: when the next call is free.
    """

    name: str = Field(sa_type=StorableText, primary_key=True)
    made: str = Field(sa_type=StorableText, default="")
    next: int = Field(sa_type=BigInteger, default=0)
    until: int = Field(sa_type=BigInteger, index=True)


shard_lease, shard_process, shard_identify, shared_rate = map(
    metadata.tables.__getitem__, ("shard_lease", "shard_process", "shard_identify", "shared_rate")
)
