"""What people shared about answers, and how often answers were rated, for other programs. Pure."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from agent.feedback import FeedbackItem, RatingCounts
from agent.messages import Json
from bot.chat.output import printable_json
from bot.chat.reply.attached_files import mark_formula
from bot.feedback import texts

COLUMNS: Final = (
    *("id", "time", "reason", "comment", "correction", "question", "answer", "place", "kind", "link"),
    *("person", "person_name", "state", "owner", "owner_name"),
)


def as_row(item: FeedbackItem) -> dict[str, Json]:
    """Return what is exported of a rating: `place` is the channel with its source, and `kind` who can read it."""
    return {
        "id": item.id,
        "time": item.time.isoformat(),
        "reason": item.reason or "",
        "comment": item.comment,
        "correction": item.correction,
        "question": item.question,
        "answer": item.answer,
        "place": item.place,
        "kind": item.audience.partition(":")[0],
        "link": item.link,
        "person": item.person,
        "person_name": item.person_name,
        "state": item.state,
        "owner": item.owner,
        "owner_name": item.owner_name,
    }


def csv_head() -> str:
    return _csv([COLUMNS])


def csv_text(items: Iterable[FeedbackItem]) -> str:
    """Return the rows, in which no spreadsheet runs a cell as a formula."""
    rows = (as_row(item) for item in items)
    return _csv([mark_formula("" if row[name] is None else str(row[name])) for name in COLUMNS] for row in rows)


def json_lines(items: Iterable[FeedbackItem]) -> str:
    return "".join(f"{printable_json(as_row(item))}\n" for item in items)


def counts_json(counts: RatingCounts) -> str:
    listed: dict[str, Json] = {
        by.value: [{"key": one.key, "good": one.good, "bad": one.bad} for one in counted]
        for by, counted in counts.items()
    }
    return f"{printable_json(listed)}\n"


def counts_text(counts: RatingCounts) -> str:
    return "\n".join(_count_lines(counts)) + "\n"


def _count_lines(counts: RatingCounts) -> Iterator[str]:
    for by, counted in counts.items():
        yield texts.COUNTED_BY[by]
        for one in counted:
            yield texts.COUNT_LINE.format(key=texts.count_name(by, one.key), good=one.good, bad=one.bad)
        if not counted:
            yield f"  {texts.NO_COUNTS}"


def _csv(rows: Iterable[Iterable[str]]) -> str:
    output = io.StringIO()
    csv.writer(output, lineterminator="\n").writerows(rows)
    return output.getvalue()
