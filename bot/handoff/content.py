"""What people get to read about a conversation that they are asked to take over. Pure.

Rule: it holds only what was asked and answered there, in the words of these messages, and nothing that not all readers
of the conversation may read (`agent.handoffs.HandoffContent`).
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from agent.handoffs import Handoff, HandoffContent, HandoffState
from agent.protocol.render import joined
from bot.chat.texts.formatting import counted, literal, shortened
from bot.handoff import texts
from bot.handoff.people import is_private

QUESTION_CHARS: Final = 600
ANSWER_CHARS: Final = 1_000  # The first half page: the rest is behind the link
SUMMARY_CHARS: Final = 200
LIST_CHARS: Final = 200
DIGEST_CHARS: Final = 16


def summary_of(content: HandoffContent) -> str:
    """Return what was asked and tried, as Markdown."""
    lines = [texts.QUESTION.format(text=_short(content.question, QUESTION_CHARS))]
    if content.answer is not None:
        lines.append(texts.ANSWER.format(text=_short(content.answer, ANSWER_CHARS)))
    if content.tools:
        lines.append(texts.TRIED.format(tools=", ".join(map(literal, content.tools))))
    for name, line in texts.SUMMARY_LINES.items():
        if text := getattr(content.summary, name).strip():
            lines.append(line.format(text=_short(text, SUMMARY_CHARS)))
    return "\n".join(lines)


def digest_of(summary: str, people: Iterable[str] = ()) -> str:
    """Return what stands for a summary that a person was shown, with the ids of those who would get it."""
    return hashlib.sha256("\0".join((summary, *sorted(people))).encode()).hexdigest()[:DIGEST_CHARS]


def request_text(handoff: Handoff, content: HandoffContent | None) -> str:
    """Return what one of the people is written. `content`: as it is stored now; None if it is gone."""
    private, asker = is_private(handoff.question), asker_name(handoff)
    head, link = texts.REQUEST.format(asker=asker), handoff.question.permalink
    where = texts.REQUEST_PLACE.format(link=link) if link and link.startswith("https://") else ""
    if private:
        where = texts.REQUEST_PRIVATE.format(mention=mention(handoff.person))
    note = texts.REQUEST_NOTE.format(note=_short(handoff.note, len(handoff.note))) if handoff.note else ""
    summary = "" if content is None else summary_of(content)
    if private:
        is_same = bool(summary) and digest_of(summary) == handoff.shared
        summary = "" if not handoff.shared else summary if is_same else texts.REQUEST_CHANGED
    return joined([head, where, note, summary, texts.REQUEST_HOW_PRIVATE if private else texts.REQUEST_HOW])


def outcome_text(handoff: Handoff, reader: str) -> str:
    """Return how it stands, for one of those who were asked."""
    if handoff.state is HandoffState.TAKEN and handoff.taker == reader:
        return texts.OUTCOME_YOURS.format(asker=asker_name(handoff))
    return texts.OUTCOMES[handoff.state].format(taker=taker_name(handoff), asker=asker_name(handoff))


def asker_name(handoff: Handoff) -> str:
    return literal(handoff.asker_name) or texts.SOMEBODY


def taker_name(handoff: Handoff) -> str:
    return literal(handoff.taker_name) or texts.SOMEBODY


def mention(person: str) -> str:
    """Return a person as the platform's client shows them."""
    return f"<@{person.rpartition(':')[2]}>"


def ago(then: datetime, now: datetime) -> str:
    passed = max(now - then, timedelta(0))
    if passed < timedelta(minutes=2):
        return texts.AGO_NOW
    minutes, hours = int(passed.total_seconds() // 60), int(passed.total_seconds() // 3600)
    if hours < 2:
        return texts.AGO.format(time=counted(minutes, "minute", "minutes"))
    if hours < 48:
        return texts.AGO.format(time=counted(hours, "hour", "hours"))
    return texts.AGO.format(time=counted(passed.days, "day", "days"))


def _short(text: str, chars: int) -> str:
    return literal(shortened(text, chars))
