"""What features decide about turns: how those of their kinds are answered and end, and the lines below replies."""

import logging
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from agent import texts
from agent.errors import CogencyError, StoreUnavailable
from agent.events import Outcome
from agent.incoming import Incoming
from agent.messages import Provenance
from agent.progress import decode
from agent.protocol.render import joined
from agent.schedules.long_work import asked_in
from agent.turn_kinds import TurnKind
from agent.turn_records import Claim, Closing
from agent.turn_setup import ANSWERED
from bot.chat.feature import Feature
from bot.chat.kinds import ASKED, NO_REPORT, Report, TurnRule
from bot.chat.logs import severity
from bot.chat.notes import NO_LINE, EndedTurn, NoteLine, ReplyNote
from bot.chat.texts import replies as reply_texts

log = logging.getLogger(__name__)

FAILED: Final = "turn %d: the line of %s is left out: %s"


class TurnFeatures:
    """Applies the features' rules and notes to turns."""

    def __init__(self, features: Sequence[Feature] = ()) -> None:
        self._rules: Mapping[TurnKind, TurnRule] = dict(
            ChainMap(*(dict(feature.kinds) for feature in features), dict(ASKED))
        )
        self._notes: Sequence[ReplyNote] = [note for feature in features for note in feature.notes]

    def rule(self, question: Incoming) -> TurnRule:
        """Return how the question is answered."""
        return self._rules[question.kind]

    async def report(self, question: Incoming) -> Report:
        """Return what its turn is to report. Raises StoreError."""
        reporter = self.rule(question).reporter
        return NO_REPORT if reporter is None else await reporter.report(question)

    async def lines_below(self, ended: EndedTurn) -> tuple[NoteLine, ...]:
        """Return the lines to show below the reply, those with buttons first: the buttons stand together at its end.
        Raises StoreUnavailable: the turn cannot be stored then, either.
        """
        if _is_silent(ended.closing):
            return ()
        lines = [await _line(note, ended) for note in self._notes if not note.is_private]
        return tuple(sorted((line for line in lines if line.text or line.actions), key=lambda line: not line.actions))

    async def private_lines(self, ended: EndedTurn) -> list[str]:
        """Return what the person alone is shown after the turn has ended, without what cannot be read now."""
        if ended.closing.outcome not in ANSWERED or _is_silent(ended.closing):
            return []
        lines = list[str]()
        for note in self._notes:
            if note.is_private:
                try:
                    lines.append((await _line(note, ended)).text)
                except StoreUnavailable as error:
                    log.log(severity(error), FAILED, ended.number, type(note).__name__, error)
        return [line for line in lines if line]

    async def final_message(self, ended: EndedTurn) -> Incoming | None:
        """Return the message to accept as a turn, now that this one has ended; None for none. Raises StoreError."""
        watcher = self.rule(ended.question).watcher
        return None if watcher is None else await watcher.ended(ended.question, ended.closing)


NO_FEATURES: Final = TurnFeatures()


async def _line(note: ReplyNote, ended: EndedTurn) -> NoteLine:
    """Return the note's line, none if it fails: a turn ends, and has the other lines, whatever one feature does.
    Raises StoreUnavailable.
    """
    try:
        return await note.line(ended)
    except StoreUnavailable:
        raise
    except CogencyError as error:
        log.log(severity(error), FAILED, ended.number, type(note).__name__, error)
    except Exception:  # a bug in one feature costs its own line only
        log.exception("turn %d: a bug in %s: its line is left out", ended.number, type(note).__name__)
    return NO_LINE


def question_for_model(question: Incoming, rule: TurnRule, report: Report) -> Incoming:
    """Return the question as the model reads it."""
    text = joined([question.text, rule.instruction, report.instruction])
    conversation = asked_in(question.conversation) if rule.runs_beside else question.conversation
    return replace(question, text=text, conversation=conversation, quoted=(*question.quoted, *report.quoted))


def posted(claim: Claim, stopped: Callable[[], bool]) -> Closing:
    """Return the end of a turn that was begun with its reply, so that no model is asked."""
    if stopped():
        return Closing(Outcome.STOPPED, "")
    progress = decode(claim.progress)
    words = claim.incoming.text if progress.reply is None else progress.reply
    return Closing(
        Outcome.ANSWERED,
        words,
        excluded_from_learning=True,
        words=Provenance.OWN if progress.own else Provenance.FOREIGN,
    )


def closing_shown(closing: Closing, rule: TurnRule, report: Report, *, shows_nothing_yet: bool) -> Closing:
    """Return the end of the turn as it is shown: without words if there is nothing to report, or if an answer that
    nobody asked for failed. `shows_nothing_yet`: no part of the reply is shown yet.
    """
    fails = rule.is_unasked and not rule.shows_failures and closing.outcome not in ANSWERED and shows_nothing_yet
    silent = fails or (rule.may_be_silent and not is_reported(closing, report))
    return _without_words(closing) if silent else closing


def _without_words(closing: Closing) -> Closing:
    """Return the end of a turn without a reply. Messages that had joined it are answered by themselves."""
    return replace(closing, reply="", files=(), presentation=None, summary=None, joined=(), outcome=Outcome.ANSWERED)


def is_reported(closing: Closing, report: Report) -> bool:
    """Whether a reply that may be silent is shown. A failure is."""
    if says_nothing(closing):
        return False
    if report.posts is None or closing.outcome is not Outcome.ANSWERED:
        return True
    return report.posts(reply_texts.without_sources(closing.reply))


def says_nothing(closing: Closing) -> bool:
    """Whether the model answered that there is nothing to report."""
    return closing.reply.strip() == texts.NOTHING_TO_REPORT


def _is_silent(closing: Closing) -> bool:
    """Whether there was nothing to report."""
    return closing.outcome is Outcome.ANSWERED and not closing.reply
