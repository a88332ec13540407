"""What people read about reminders and what is asked at a time, in Markdown."""

from collections.abc import Sequence
from datetime import datetime, time, tzinfo

from agent.schedules.definitions import ScheduleKind, ScheduleRefused
from bot.chat.texts.formatting import literal, shortened
from bot.chat.texts.replies import SCHEDULED

WORDS_CHARS = 200  # Of what is said or asked, in a list

REMIND_USAGE = (
    "Tell me when, and what: `tomorrow at 9:00 to call Ann`, `in 20 minutes the oven`, "
    "`every weekday at 8:30 standup`. With `me` before it (`me tomorrow at 9:00 …`) I write to you alone. "
    "A `|` may stand between the time and the rest."
)
ASK_USAGE = "Tell me when, and what I am to do: `/schedules ask every Monday at 8:00 | sum up the week here`."
NO_TIME = (
    "I found no time in that which I can keep. Please write it at the beginning or at the end: `tomorrow at 9:00`, "
    "`in 20 minutes`, `on 3 December at noon`, `every Monday at 8:00`, `every 2 weeks on Friday at 10:00`."
)
PARTLY_UNDERSTOOD = (
    "I understood “{understood}” as the time, but not “{left}”. Please write the time another way. If that belongs to "
    "the text, put a `|` between the time and the text."
)
NOT_UNDERSTOOD = "I did not understand “{left}” as a time. Please write it another way."
REST_IS_TEXT = "Use the rest as the text"
FOLLOWING = "\nNext{zone}: {times}."
NO_WORDS = "What is to be said then? Please write it behind the time: `tomorrow at 9:00 to call Ann`."
TOO_LONG = "Please shorten it to {most:,} characters."
WHICH = "Which time do you mean?"
PASSED = "That time is over for today. Do you mean:"
SPELL = "You may also write it so that it means one time: `{words}`."
ZONE_FIRST = "I need to know where you are before I can tell when that is."
KEPT = {
    ScheduleKind.REMINDER: "I will remind {whom}: **{when}**.{following}\n“{words}”",
    ScheduleKind.QUESTION: "I will do this {where}: **{when}**.{following}\n“{words}”",
}
YOU_ALONE, YOU_HERE = "you in a direct message", "you here, where all may read it"
IN_DIRECT, HERE = "for you in a direct message", "here"
HOW_TO_CHANGE = "`/schedules edit {id} NEW TIME | NEW WORDS` changes it, `/schedules cancel {id}` takes it back."
CHANGED = "Changed. **{when}**.{following}\n“{words}”"
PAUSED = "Paused until you resume it: “{words}”"
RESUMED = "It goes on: **{when}**.{following}\n“{words}”"
CANCELLED = "Cancelled: “{words}”"
SURE = "I will not do it any more."
NOT_ANY_MORE = "It is not scheduled any more."
WHICH_OF_THEM = "Which of these do you mean?"
NEVER_AGAIN = "It does not come any more: give it a new time."
UNKNOWN = "You have no {id} in your list: `/schedules` shows it."
NOTHING = (
    "You have no reminders, and nothing that I do at a time. "
    "`/schedules remind me tomorrow at 9:00 to call Ann` makes one."
)
NOTHING_OF_ANYBODY = "Nobody has any."
YOURS = "Your reminders, and what I do for you at a time:"
PAGE_OF = "Page {page} of {pages}; `/schedules page {another}` shows another."
OF_ALL = "What I do at a time, for everybody, without its words ({shown}):"
USAGE = (
    "`/schedules` lists them. `pause 3`, `resume 3`, `cancel 3`; `edit 3 tomorrow at 9:00 | new words`; "
    "`remind me tomorrow at 9:00 to call Ann` reminds you; "
    "`ask every Monday at 8:00 | sum up the week here` has me do something at a time, "
    "`ask if changed every hour | is the site up?` posts the answer only if it changed. "
    "Whoever manages a channel: `forbid` and `allow` there."
)
OPERATORS_ONLY = "Only operators see those of everybody."
FORBIDDEN = (
    "Whoever manages this channel has forbidden what I post here at a time. "
    "`/schedules remind me …` writes to you alone."
)
FORBID_DONE = (
    "From now on nobody can have me post here at a time. What was set before goes on: its people may cancel it."
)
ALLOW_DONE = "From now on people can have me post here at a time."
MANAGERS_ONLY = "Only whoever manages this channel can say that."
NO_CHANNEL = "That can be said in a channel only."
REFUSED = {
    ScheduleRefused.MANY_OF_PERSON: "You have as many as I keep for one person: cancel some in `/schedules` first.",
    ScheduleRefused.QUESTION_DELETED: "You have deleted the question.",
    ScheduleRefused.MANY_AT_WORK: "I am at work for you on as much as I do at once: wait for it, or stop some of it.",
    ScheduleRefused.MANY_IN_CHANNEL: "This channel has as many as I keep for one: cancel some of yours here first.",
}
KINDS = {ScheduleKind.REMINDER: "reminder", ScheduleKind.QUESTION: "question", ScheduleKind.WORK: "long work"}
AT_WORK = "at work since {since:%H:%M}"
WORK_STOPPED = "Stopped: “{words}”"
WORK_STAYS = "Long work goes on as it began, or is stopped: `/schedules cancel {id}`. To change it, ask me anew."
REST_PAUSED, REST_ENDED = "paused", "ended"
NOTHING_SEEN = "What I am to look at first cannot be seen now with `{tool}`."
IN_CHANNEL = "in <#{channel}>"
HOME_SCHEDULES = "At a time"


def entry(number: int, kind: ScheduleKind, when: str, where: str, words: str) -> str:
    """A line of the list."""
    said = f"\n“{quoted(words)}”" if words else ""
    return f"**{number}** · {KINDS[kind]} {where} · {when}{said}"


def quoted(words: str) -> str:
    return literal(shortened(words, WORDS_CHARS))


def choice_label(meant: datetime | time, zone: tzinfo) -> str:
    """ "Tue 24 Nov, 09:00"."""
    if isinstance(meant, time):
        return f"{meant:%H:%M}"
    local = meant.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M}"


def choices_text(labels: Sequence[str], spelled: str, *, passed: bool) -> str:
    lines = [PASSED if passed else WHICH, *(f"- {label}" for label in labels)]
    return "\n".join([*lines, "", SPELL.format(words=shortened(spelled.replace("`", "'"), WORDS_CHARS))])


SCHEDULE_ENDED = "What you had scheduled (“{words}”) has ended, and is not done any more. {why}"
SCHEDULE_OVER_BUDGET = "Not asked today, as you had scheduled it (“{words}”): {why} I tell you this once a day."
WORK_OVER_BUDGET = "I ended my work here, with what I have so far. {why}"
WORK_TOO_LONG = "I ended my work here, with what I have so far: {minutes} minutes is as long as I go on at a stretch."
WORK_TOO_MUCH = "I ended my work here, with what I have so far: I can keep no more of what I read in mind."
WORK_FORBIDDEN = "I ended my work here. {why}"
WORK_TAKEN_AWAY = "I have ended what I was at work on for you (“{words}”). {why}"
# Without a word of it: what calls somebody outlives their thread.
WORK_DONE = "I am done: the result of my work stands above."
WORK_ENDED = "I have ended my work; what there is of it stands above."
NO_CHECKS = "What it looks at first cannot be looked at here."


AT_A_TIME = f"{SCHEDULED}{{when}}*"  # Below the answer of the question that wanted it
# Where there are no buttons, the line says what to type.
AT_A_TIME_HOW = f"{SCHEDULED}{{when}}. `/schedules edit {{id}} NEW TIME` changes it, `cancel {{id}}` ends it.*"
