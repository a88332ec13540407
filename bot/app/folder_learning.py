"""`cogency learn`: an operator adds files of this machine to the documents of a place, also while a bot serves.

Rules
  Each run has its row in the audit before it starts; at its end the row says how many documents it was.
  Files are read as those that people attach, in processes of their own, with the same limits.
"""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from agent.errors import Refused
from agent.memory.audience import PersonAudience, TeamAudience
from agent.memory.documents import DocumentPlace
from agent.messages import Json, ResultStatus
from agent.ports.clock import Clock
from agent.ports.tool_audit import CallEnd
from bot.app import texts as app_texts
from bot.app.settings import Settings
from bot.app.subject_requests import Kind, Operator, find_subject
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.audit import operator_act
from bot.knowledge.folder_learning import FILE_SOURCE, FileEnd, FileOutcome, FolderLearner
from bot.knowledge.folders import FoundFiles
from bot.platforms.terminal.attachments import fetch
from store.subject_access import SqlDataSubjects, open_beside

# The counts in the audit, by their names there.
COUNTED = {FileEnd.LEARNED: "learned", FileEnd.UPDATED: "updated", FileEnd.REMOVED: "removed"}


@dataclass(frozen=True, slots=True)
class LearningRun:
    """`readers`: the sentence that says who finds the documents."""

    readers: str
    outcomes: AsyncGenerator[FileOutcome]


@asynccontextmanager
async def open_learning(
    settings: Settings, id_: str, found: FoundFiles, operator: Operator, clock: Clock, *, remove_missing: bool = False
) -> AsyncGenerator[LearningRun]:
    """Add the found files to the documents of the place with this id. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view:
        place = await _place(view.data_subjects, id_)
        learner = FolderLearner(
            documents=view.documents,
            forgetting=view.forgetting,
            fetch=fetch,
            read=AttachmentReader({FILE_SOURCE: fetch}).document,
            clock=clock,
            place=lambda: view.data_subjects.document_place(id_),
        )
        outcomes = learner.learn(found, remove_missing=remove_missing)
        async with aclosing(_audited(view.data_subjects, place, id_, outcomes, operator, clock)) as audited:
            yield LearningRun(readers_text(place, id_), audited)


async def _place(data_subjects: SqlDataSubjects, id_: str) -> DocumentPlace:
    place = await data_subjects.document_place(id_)
    if place is not None:
        return place
    try:
        await find_subject(data_subjects, Kind.PLACE, id_)
    except Refused as unknown:
        raise Refused(f"{unknown} {app_texts.PLACE_NEW}") from None
    raise Refused(app_texts.NO_DOCUMENTS_THERE.format(of=id_))


def readers_text(place: DocumentPlace, id_: str) -> str:
    match place.audience:
        case PersonAudience():
            return app_texts.FOUND_BY_PERSON.format(of=id_)
        case TeamAudience():
            return app_texts.FOUND_BY_TEAM
        case _:
            return app_texts.FOUND_BY_READERS.format(of=id_)


async def _audited(
    data_subjects: SqlDataSubjects,
    place: DocumentPlace,
    id_: str,
    outcomes: AsyncGenerator[FileOutcome],
    operator: Operator,
    clock: Clock,
) -> AsyncGenerator[FileOutcome]:
    kind = Kind.PERSON if isinstance(place.audience, PersonAudience) else Kind.PLACE
    row: dict[str, Json] = {"act": "learn", "kind": kind.value, "of": id_, "account": operator.account}
    number = await data_subjects.add(operator_act(clock.now(), operator.name, row, "alone"))
    started, ended, counts = clock.monotonic(), CallEnd.STOPPED.value, Counter[str]()
    try:
        async with aclosing(outcomes):
            async for outcome in outcomes:
                if outcome.end in COUNTED:
                    counts[COUNTED[outcome.end]] += 1
                yield outcome
        ended = ResultStatus.SUCCESS.value
    finally:
        rows: dict[str, Json] = dict(counts)
        ms = round(1000 * (clock.monotonic() - started))
        await data_subjects.close(number, {"rows": rows}, ended, ms, 0)
