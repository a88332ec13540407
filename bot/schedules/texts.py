"""What people read about reminders and scheduled tasks, in Markdown."""

from collections.abc import Sequence
from datetime import datetime, time, tzinfo

from agent.schedules.definitions import ScheduleKind, ScheduleRefused, Timing
from agent.schedules.times import day_and_year_in_words, zone_of
from bot.chat.texts.formatting import literal, shortened
from bot.chat.texts.replies import LAPSES, SCHEDULED

WORDS_CHARS = 200  # Of what is said or asked, in a list

REMIND_USAGE = (
    "Write the time first, then the text: `tomorrow at 9:00 to call Ann`, `in 20 minutes the oven`, `every weekday at "
    "8:30 standup`. Start with `me` (`me tomorrow at 9:00 …`) to get the reminder in a direct message. You can put a "
    "`|` between the time and the text."
)
ASK_USAGE = "Write the time first, then what to do: `/schedules ask every Monday at 8:00 | sum up the week here`."
NO_TIME = (
    "I could not find a time in that. Write it at the beginning or at the end: `tomorrow at 9:00`, "
    "`in 20 minutes`, `on December 3 at noon`, `every Monday at 8:00`, `every 2 weeks on Friday at 10:00`."
)
PARTLY_UNDERSTOOD = (
    "I understood “{understood}” as the time, but I did not understand “{left}”. Write the time differently. If those "
    "words belong to the text, put a `|` between the time and the text."
)
NOT_UNDERSTOOD = "I did not understand “{left}” as a time. Write it differently."
REST_IS_TEXT = "Use the remaining words as the text"
FOLLOWING = "\nNext{zone}: {times}."
NO_WORDS = "After the time, add what the reminder should say: `tomorrow at 9:00 to call Ann`."
TOO_LONG = "Shorten the text to {most:,} characters."
WHICH = "Which time do you mean?"
PASSED = "That time has passed today. Do you mean:"
SPELL = "Or write the time in full: `{words}`."
ZONE_FIRST = "I need your time zone to know when that is."
KEPT = {
    ScheduleKind.REMINDER: "I will remind {whom}: **{when}**.{following}\n“{words}”",
    ScheduleKind.QUESTION: "Scheduled {where}: **{when}**.{following}\n“{words}”",
}
YOU_ALONE, YOU_HERE = "you in a direct message", "you here, where everyone can read it"
IN_DIRECT, HERE = "in a direct message", "here"
HOW_TO_CHANGE = (
    "Change it with `/schedules edit {id} NEW TIME | NEW WORDS`, or cancel it with `/schedules cancel {id}`."
)
CHANGED = "Changed. **{when}**.{following}\n“{words}”"
PAUSED = "Paused until you resume it: “{words}”"
RESUMED = "Resumed: **{when}**.{following}\n“{words}”"
CANCELLED = "Canceled: “{words}”"
NOT_ANY_MORE = "This is no longer scheduled."
WHICH_OF_THEM = "Which one do you mean?"
NEVER_AGAIN = "This schedule has ended. To use it again, choose a new time."
UNKNOWN = "Number {id} is not on your list. To see the list, use `/schedules`."
NOTHING = (
    "You have no reminders or scheduled tasks. To create one, try `/schedules remind me tomorrow at 9:00 to call Ann`."
)
NOTHING_OF_ANYBODY = "Nobody has any reminders or scheduled tasks."
YOURS = "Your reminders and scheduled tasks:"
PAGE_OF = "Page {page} of {pages}. For another page, use `/schedules page {another}`."
OF_ALL = "Everyone's reminders and scheduled tasks, without their text ({shown} shown):"
USAGE = (
    "`/schedules` lists your reminders and scheduled tasks. You can add `pause 3`, `resume 3`, `cancel 3`, or `edit 3 "
    "tomorrow at 9:00 | new words`. `remind me tomorrow at 9:00 to call Ann` sets a reminder. `ask every Monday at "
    "8:00 | sum up the week here` schedules a task. `ask if changed every hour | is the site up?` posts the answer "
    "only if it changed. Channel managers can use `forbid` and `allow` in their channel."
)
OPERATORS_ONLY = "Only operators can see everyone's schedules."
FORBIDDEN = (
    "The managers of this channel do not allow scheduled posts here. "
    "For a reminder in a direct message, use `/schedules remind me …`."
)
FORBID_DONE = (
    "Nobody can schedule new posts here from now on. Existing schedules keep running. The people who created them, and "
    "operators, can cancel them."
)
ALLOW_DONE = "People can schedule posts here again."
MANAGERS_ONLY = "Only channel managers and operators can change that."
NO_CHANNEL = "Use this command in a channel."
REFUSED = {
    ScheduleRefused.MANY_OF_PERSON: (
        "You have reached the maximum number of schedules. Cancel some with `/schedules` first."
    ),
    ScheduleRefused.QUESTION_DELETED: "Nothing was scheduled, because you deleted the question.",
    ScheduleRefused.MANY_AT_WORK: (
        "You have reached the maximum number of running tasks. Wait for one to finish, or stop one."
    ),
    ScheduleRefused.MANY_IN_CHANNEL: (
        "This channel has reached the maximum number of schedules. Cancel some of yours here first."
    ),
}
KINDS = {ScheduleKind.REMINDER: "reminder", ScheduleKind.QUESTION: "task", ScheduleKind.WORK: "long task"}
AT_WORK = "running since {since:%H:%M}"
WORK_STOPPED = "Stopped: “{words}”"
WORK_STAYS = "You cannot change a long task while it runs. Stop it with `/schedules cancel {id}`, then ask again."
REST_PAUSED, REST_ENDED = "paused", "ended"
NOTHING_SEEN = "I cannot run this task's check, because `{tool}` is not available right now."
IN_CHANNEL = "in <#{channel}>"
HOME_SCHEDULES = "Reminders and scheduled tasks"


def entry(number: int, kind: ScheduleKind, when: str, where: str, words: str) -> str:
    """A line of the list."""
    said = f"\n“{quoted(words)}”" if words else ""
    return f"**{number}** · {KINDS[kind]} {where} · {when}{said}"


def last_day(timing: Timing, now: datetime) -> str:
    """ "May 24, 2027", in the schedule's zone. `now` is used if it has no end."""
    local = (timing.until or now).astimezone(zone_of(timing.zone or "UTC"))
    return day_and_year_in_words(local)


def quoted(words: str) -> str:
    return literal(shortened(words, WORDS_CHARS))


def choice_label(meant: datetime | time, zone: tzinfo) -> str:
    """ "Tue, Nov 24, 2026, 09:00"."""
    if isinstance(meant, time):
        return f"{meant:%H:%M}"
    local = meant.astimezone(zone)
    return f"{local:%a}, {local:%b} {local.day}, {local:%Y, %H:%M}"


def choices_text(labels: Sequence[str], spelled: str, *, passed: bool) -> str:
    lines = [PASSED if passed else WHICH, *(f"- {label}" for label in labels)]
    return "\n".join([*lines, "", SPELL.format(words=shortened(spelled.replace("`", "'"), WORDS_CHARS))])


LAPSES_SOON = (
    "Your {kind} “{words}” ends on {day}. It was scheduled without an end date, so it runs for six months. You can "
    "keep it for another six months."
)
LAPSED = (
    "Your {kind} “{words}” is paused, because it has run for six months and was scheduled without an end date. You can "
    "keep it for another six months."
)
LAPSE_LINE = f"{LAPSES}, or end it? Only the person who scheduled it can use these buttons.*"
LAPSE_LINE_HOW = f"{LAPSES} with `/schedules resume {{id}}`, or end it with `/schedules cancel {{id}}`.*"
HOW_TO_GO_ON = "To run it for another six months, resume it: `/schedules resume {id}`."
SCHEDULE_ENDED = "Your {kind} “{words}” has ended. {why}"
SCHEDULE_OVER_BUDGET = "Your scheduled task “{words}” did not run: {why} You get this notice at most once a day."
WORK_TOO_LONG = (
    "I stopped early, because I reached the limit of {minutes} minutes for one task. This is what I have so far."
)
WORK_TOO_MUCH = (
    "I stopped early, because I reached the limit on the text that I can read for one task. This is what I have so far."
)
WORK_FORBIDDEN = "I stopped here. {why}"
WORK_TAKEN_AWAY = "I stopped your task “{words}”. {why}"
# Without a word of it: what calls somebody outlives their thread.
WORK_DONE = "Done. The result is above."
WORK_ENDED = "I stopped early. What I have so far is above."
NO_CHECKS = "This task's check is not available here."


AT_A_TIME = f"{SCHEDULED}{{when}}*"  # Below the answer of the question that wanted it
# Where there are no buttons, the line says what to type.
AT_A_TIME_HOW = (
    f"{SCHEDULED}{{when}}. To change it, use `/schedules edit {{id}} NEW TIME`. To cancel it, use `/schedules cancel "
    "{id}`.*"
)
