"""What people read while they are answered: notices, refusals, failures, threads, models. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from agent.admission_terms import Authority, Whose
from agent.citations import Cited
from agent.messages import Reference, ResultStatus
from agent.protocol.render import excerpt
from bot.chat.texts.formatting import literal

# While an answer is made, and below it

# The end of a reply that somebody stopped.
STOPPED = "*Stopped.*"
# What whoever stops by a command is told: how far its answers had come is known where they are made.
STOPPING = f"{STOPPED} An answer that was complete by then may still appear."
NOTHING_RUNNING = "Nothing is running here."
OFTEN_ENOUGH = "I have answered this as often as I can: please ask it as a new question."
# Of a question that is to be asked once more.
MORE_PUBLIC = "More people read this channel than when you asked: please ask again, if they may read it."
NOT_YOURS = "Only the person who asked can do this."
COMMAND_ONLY = "A message cannot do this. Use the command with a slash."
NOT_SAID_THERE = "I could not say so in the channel: please add me to it, and let me write there."
# How the lines below a reply begin that say what was kept of it, what was learned in the background since the last one,
# and what it scheduled. Undo and Cancel change them.
REMEMBERED = "*Remembered: "
LEARNED_EARLIER = "*Learned from your earlier messages: "
SCHEDULED = "*At a time: "
# Below a reply that has scheduled something, and below a tool's question; panels have the same buttons.
CHANGE_BUTTON = "Change"
CANCEL_BUTTON = "Cancel"
ANSWER_BUTTON = "Answer…"


NOT_SHOWN = "I may not show my answer where you asked. {why}"
SHOWN_ELSEWHERE = "I may not show my answer where you asked, so it is in your direct messages with me. {why}"
TEXT_REFUSED = "The text of my answer was not accepted: ask again in other words."
REPLY_DELETED = "My answer was deleted while I was writing it, so I stopped. Ask again if you still need it."
GIVEN_UP = "I could not finish this answer after {attempts} attempts (turn {turn}). Please ask again in other words."
STEPS_BEFORE = "{count} before"
ANSWERED_ELSEWHERE = "Another process has answered this question; the reply stands in its thread."
NO_ANSWER_FROM_FIRST = "it could not answer."
BROKEN = "Something went wrong on my side (turn {turn}). Please ask again; the operator finds the reason in the log."
THINKING = "Thinking…"
WAITS_FOR_CONSENT = "*I wait to be allowed to use {tools}: whoever asked me can allow or refuse it, for a day.*"
WAITS_FOR_ANSWER = "`{tool}` asks whoever asked me something; I wait for their answer, nine minutes at most."
ASKING_STATUS = "Waiting for an answer to {tool}…"
STATUS_LINES = {
    "background": "Beginning the work…",
    "recall": "Searching past threads…",
    "remember": "Making a note…",
    "share_file": "Preparing a file…",
    "read_channel": "Reading messages…",
    "search_slack": "Searching Slack…",
    "tools": "Looking for the right tool…",
    "web_fetch": "Reading a page…",
    "web_search": "Searching the web…",
}
USING_TOOL = "Using {tool}…"
PROGRESS = "{doing} {percent:.0f} %"
COUNTED = "{doing} {done:,.0f} of about {total:,.0f} {unit}"
OUTPUTS: Mapping[ResultStatus, str] = {
    ResultStatus.SUCCESS: "Done.",
    ResultStatus.FAILURE: "That did not work.",
    ResultStatus.UNKNOWN: "Whether that worked is not known.",
}
UNFINISHED = "Not finished."
DONE_BY_TOOL: Mapping[str, str] = {
    "background": "began the work",
    "recall": "searched past threads",
    "remember": "made a note",
    "share_file": "prepared a file",
    "read_channel": "read messages",
    "search_slack": "searched Slack",
    "tools": "looked for a tool",
    "web_fetch": "read a page",
    "web_search": "searched the web",
}
SOURCES = "**Sources**"
SOURCES_READ = "**Read for this answer**"

# When the store, a model or a tool fails

# While an answer waits for the store.
CONTINUING = "Continuing my answer…"
WAITS_TO_POST = "Waiting to post the answer…"
UNSTORED = "I cannot store anything at the moment; I will go on as soon as I can."


TOO_MUCH_AT_ONCE = "Too much is asked at the same moment; please ask again."

# Threads

# A thread's title in a list: it stays on one or two lines of a phone.
TITLE_CHARS = 60


# Models

# What somebody writes as a model's name to go back to the usual one.
USUAL = "usual"


def model_text(current: str, why: str, allowed: Sequence[str], command: str) -> str:
    """Which model answers somebody, why, and what they may write after `command` to choose another."""
    answers = model_in_use(current, why)
    if not allowed:
        return f"{answers} There is no other to choose."
    names = ", ".join(f"`{name}`" for name in allowed)
    return f"{answers}\nYou may choose with `{command}`: {names}; `{USUAL}` goes back to the usual one."


def model_in_use(current: str, why: str) -> str:
    """Which model answers somebody, and why."""
    return f"`{current}` answers you here: {literal(why).rstrip('.')}."


def model_not_allowed(allowed: Collection[str]) -> str:
    """`allowed`: what may be chosen instead."""
    others = f"choose one of {', '.join(allowed)}" if allowed else "there is only one here"
    return f"That model cannot be chosen: {others}."


# Who may ask, and how much

CLOSED_TO = {
    Authority.GUEST: "I am not open to guests here; please ask my operator to let you in.",
    Authority.STRANGER: (
        "I talk to members only, and could not find you among them; please ask my operator to let you in."
    ),
}
NOT_ALLOWED: Mapping[str, str] = {
    "channel": ("I may not answer in this place; please ask me in another channel, or ask my operator to add it."),
    "team": "I may not answer in this workspace or server; please ask my operator to add it.",
    "role": "Your role may not use me; please ask my operator to let you in.",
    "person": "I may not answer you; please ask my operator to let you in.",
}
CLOSED_HERE = "Who manages this channel has chosen who may ask me here; please ask me in another one, or them."
PLACE_UNREADABLE = (
    "What was chosen for this channel cannot be read: an operator has to take out its preference “{name}”."
)

BACKLOG_FULL = "I have {questions} to answer already, so I could not take yours; please ask again in a few minutes."
CLOSED = "I take no questions at the moment; please ask again later."


TOO_MANY = "I take {messages} {within} {whose}, so I did not read this one; please ask again after {moment}."
WITHIN_MINUTE = "a minute"
WITHIN_HOUR = "an hour"
WHOSE_RATE = {
    Whose.PERSON: "from one person",
    Whose.CHANNEL: "in one channel",
    Whose.WORKSPACE: "in one workspace",
    Whose.EVERYONE: "in all",
}

# Files and voice messages

CANNOT_LISTEN = (
    "I cannot listen to voice messages yet: please write to me instead. (My operator can switch it on with "
    "COGENCY_TRANSCRIPTION.)"
)
CANNOT_LISTEN_NOW = "I could not listen to your voice message: {reason}. Please try again, or write to me."
BY_PERSON = "By person"
BY_MODEL = "By model"


def sources_text(cited: Cited) -> str:
    """What stands below an answer, "" for nothing: each source with its number, its title and its address."""
    head = SOURCES if cited.is_cited else SOURCES_READ
    return "\n".join([head, *map(_source, cited.sources)]) if cited.sources else ""


def without_sources(answer: str) -> str:
    """Return an answer without what `sources_text` has put below it."""
    for head in (SOURCES, SOURCES_READ):
        text, found, listed = answer.rpartition(f"{head}\n")
        if found and (not text or text.endswith("\n")) and all(_SOURCE.match(line) for line in listed.splitlines()):
            return text.rstrip("\n")
    return answer


_SOURCE: Final = re.compile(r"- \[\d{1,9}\] ")
SOURCE_TITLE_CHARS = 120  # One line on a usual screen, two on a phone


def _source(one: Reference) -> str:
    title = literal(excerpt(one.title, SOURCE_TITLE_CHARS))
    return f"- [{one.number}] {f'[{title}]({one.address})' if title else one.address}"


A_MANAGER = "Somebody who manages this channel"
NOT_SWITCHED = "It is not switched on, as everybody there has to know. {why}"


FORGOTTEN = "(forgotten)"
AT_START = "(at the start)"
POLICY = "(policy)"
NEWEST_CALLS = "**Tools**, the newest calls"
NO_SUCH_TOOL = "(no such tool)"
NO_END = "began, no end recorded"
