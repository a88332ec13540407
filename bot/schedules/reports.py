"""What the answer to a scheduled question has to be to be posted, each as one value. A new one is added here.

Rules
  A rule decides with the last answer at hand that the schedule posted, and that still exists: an answer that was
  deleted or forgotten, or that failed, is none.
  The last answer is data for the model: it may repeat what a web page said.
  A failure is always posted: who waits for a report has to learn that there will be none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent import texts
from agent.incoming import Incoming, Quoted
from agent.schedules.port import Schedules
from bot.chat.kinds import Report
from bot.chat.texts import replies

LAST: Final = "your last answer that was posted"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRule:
    """When the answer to a scheduled question is posted. By default that is left to the model."""

    name: str
    """As it is stored, and as the tool `schedule` takes it."""
    words: str
    """What is written for it behind `/schedules ask`; "" for the rule of schedules that name none."""
    summary: str
    """What it is for, as the model reads it that chooses one."""
    shown: str = ""
    """What stands behind the time in confirmations and lists, such as "only if it changed"."""
    instruction: str = ""
    """Stands behind the question, for the model."""
    reads_last: bool = False
    """The model reads the last answer, too."""
    posts: Callable[[str, str], bool] | None = None
    """Returns whether an answer is posted, given it and the last one that was, "" for none. Both are what the model
    wrote, without the sources that are listed below. The answer is not shown before that is known. None: always, except
    for an answer that there is nothing to report.
    """


WORTH_TELLING: Final = ReportRule(name="", words="", summary="", instruction=texts.SCHEDULED_QUESTION)


def _differs(answer: str, last: str) -> bool:
    """Compare as people read: without regard to letters in capitals, spaces and the ends of sentences."""
    return _plain(answer) != _plain(last)


def _plain(answer: str) -> str:
    return " ".join(answer.casefold().split()).rstrip(".!")


CHANGED: Final = ReportRule(
    name="changed",
    words="if changed",
    summary="only if the answer has changed since the last time",
    shown="only if it changed",
    instruction=texts.REPORT_CHANGES,
    reads_last=True,
    posts=_differs,
)

REPORT_RULES: Final = (WORTH_TELLING, CHANGED)


def rule_named(name: str, rules: Sequence[ReportRule] = REPORT_RULES) -> ReportRule:
    """Return the rule of this name. One of another release of the bot is taken for the usual one."""
    return next((rule for rule in rules if rule.name == name), WORTH_TELLING)


def rule_asked(words: str) -> tuple[ReportRule, str]:
    """Return the rule with whose words these begin, and what follows them."""
    for rule in REPORT_RULES:
        if rule.words and words.casefold().startswith(f"{rule.words} "):
            return rule, words[len(rule.words) :].strip()
    return WORTH_TELLING, words


def choices() -> Mapping[str, str]:
    """Return what the tool `schedule` offers: summaries, by the names of rules."""
    return {rule.name: rule.summary for rule in REPORT_RULES if rule.name}


@dataclass(frozen=True, slots=True)
class ScheduleReporter:
    """Implements `bot.chat.kinds.TurnReporter`."""

    schedules: Schedules
    rules: Sequence[ReportRule] = REPORT_RULES

    async def report(self, question: Incoming) -> Report:
        schedule = None if question.schedule is None else await self.schedules.by_id(question.schedule)
        rule = WORTH_TELLING if schedule is None else rule_named(schedule.definition.report, self.rules)
        posts, is_read = rule.posts, rule.reads_last or rule.posts is not None
        last = await self.schedules.last_answer(question.schedule) if is_read and question.schedule is not None else ""
        quoted = (Quoted(LAST, "", last, by_bot=True),) if last and rule.reads_last else ()
        before = replies.without_sources(last)
        return Report(rule.instruction, quoted, posts=None if posts is None else lambda answer: posts(answer, before))
