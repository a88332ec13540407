"""Which replies are shown, and how a question reaches the model."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from agent import texts
from agent.errors import StoreError, StoreUnavailable
from agent.events import Outcome
from agent.incoming import Quoted
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing, Waiting
from bot.chat.feature import Feature
from bot.chat.kinds import NO_REPORT, Report, TurnRule
from bot.chat.notes import EndedTurn, NoteLine
from bot.chat.turns.turn_features import TurnFeatures, closing_shown, question_for_model
from tests.fakes.incoming import said

SILENT_KIND = TurnRule(may_be_silent=True)
UNASKED = TurnRule(may_be_silent=True, is_unasked=True)
NOTHING = Closing(Outcome.ANSWERED, f" {texts.NOTHING_TO_REPORT}\n")


def shown(closing: Closing, rule: TurnRule, report: Report = NO_REPORT, *, shows_nothing_yet: bool = True) -> Closing:
    return closing_shown(closing, rule, report, shows_nothing_yet=shows_nothing_yet)


def test_nothing_to_report_is_not_shown_where_silence_is_allowed() -> None:
    assert shown(NOTHING, SILENT_KIND).reply == ""
    assert shown(NOTHING, TurnRule()) == NOTHING


def test_a_report_posts_only_what_it_accepts() -> None:
    report = Report(posts=lambda answer: answer != "the same")
    assert shown(Closing(Outcome.ANSWERED, "the same"), SILENT_KIND, report).reply == ""
    assert shown(Closing(Outcome.ANSWERED, "changed"), SILENT_KIND, report).reply == "changed"


def test_a_failure_is_shown_to_a_person_who_asked_even_if_the_report_would_not_post_it() -> None:
    failed = Closing(Outcome.REFUSED, "The model does not answer.")
    assert shown(failed, SILENT_KIND, Report(posts=lambda _: False)) == failed


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.REFUSED])
def test_a_failed_answer_that_nobody_asked_for_is_shown_only_if_it_had_begun_to_appear(outcome: Outcome) -> None:
    failed = Closing(outcome, "The model does not answer.")
    assert shown(failed, UNASKED) == Closing(Outcome.ANSWERED, "")
    assert shown(failed, UNASKED, shows_nothing_yet=False) == failed


def test_a_silent_end_leaves_the_messages_that_had_joined_to_be_answered() -> None:
    assert shown(replace(NOTHING, joined=(Waiting(7, 8, "and now?"),)), SILENT_KIND).joined == ()


def test_the_model_reads_the_instructions_of_the_kind_and_of_the_report_after_the_question() -> None:
    question = said("Is the build green?")
    report = Report("Only what changed.", quoted=(Quoted("the last report", "Cogency", "green"),))
    asked = question_for_model(question, TurnRule(instruction="Be short."), report)
    assert asked.text.index(question.text) < asked.text.index("Be short.") < asked.text.index("Only what changed.")
    assert asked.quoted == (*question.quoted, *report.quoted)
    assert asked.conversation == question.conversation


def test_each_kind_is_answered_by_the_rule_of_the_feature_that_begins_it() -> None:
    rule = TurnRule(posts_text=True, offers_actions=False)
    features = TurnFeatures([Feature(name="schedules", kinds={TurnKind.REMINDER: rule})])
    question = said("Stand-up")
    assert features.rule(replace(question, kind=TurnKind.REMINDER)) == rule
    assert features.rule(question) == TurnRule()


@dataclass(frozen=True)
class Note:
    """Says its words, or fails."""

    words: str | Exception
    is_private: ClassVar[bool] = False

    async def line(self, ended: EndedTurn) -> NoteLine:  # noqa: ARG002 -- the protocol's
        if isinstance(self.words, Exception):
            raise self.words
        return NoteLine(self.words)


class PrivateNote(Note):
    is_private: ClassVar[bool] = True


ENDED = EndedTurn(7, said("Which colour?"), Closing(Outcome.ANSWERED, "Blue."))
FAILURES = [StoreError("It is odd."), RuntimeError("a bug")]


async def lines(*words: str | Exception, private: bool) -> list[str]:
    """Return the lines of a turn with notes that say `words`."""
    note = PrivateNote if private else Note
    features = TurnFeatures([Feature(name="memory", notes=[note(word) for word in words])])
    if private:
        return await features.private_lines(ENDED)
    return [line.text for line in await features.lines_below(ENDED)]


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("failure", FAILURES)
async def test_a_note_that_fails_takes_no_other_with_it(
    failure: Exception, caplog: pytest.LogCaptureFixture, *, private: bool
) -> None:
    assert await lines("before", failure, "after", private=private) == ["before", "after"]
    assert [record.message for record in caplog.records if "turn 7" in record.message and "Note" in record.message]


async def test_while_the_store_is_away_an_answer_waits_for_its_notes_and_one_that_has_ended_does_not() -> None:
    away = StoreUnavailable("It is away.")
    with pytest.raises(StoreUnavailable):
        await lines("before", away, private=False)
    assert await lines("before", away, "after", private=True) == ["before", "after"]
