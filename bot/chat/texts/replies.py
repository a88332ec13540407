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
# The answer to a command that stops: how far the answers had come is known only where they are made.
STOPPING = f"{STOPPED} An answer that was already complete may still appear."
NOTHING_RUNNING = "Nothing is running here."
OFTEN_ENOUGH = "I have already answered this question as often as I can. Ask it again in a new message."
# Of a question that is to be asked once more.
MORE_PUBLIC = "More people can read this channel now than when you asked. Ask again if they may see the answer."
NOT_YOURS = "Only the person who asked can do that."
COMMAND_ONLY = "You cannot do that with a message. Use the slash command."
NOT_SAID_THERE = "I could not post that in the channel. Add me to the channel and let me post there."
# How the lines below a reply begin that say what was kept of it, what was learned in the background since the last one,
# what it scheduled, and that something it scheduled lapses. Their buttons change them.
REMEMBERED = "*Remembered: "
LEARNED_EARLIER = "*Learned from your earlier messages: "
SCHEDULED = "*Scheduled: "
LAPSES = "*Keep it for another six months"
# Below a reply that has scheduled something, and below a tool's question; panels have the same buttons.
CHANGE_BUTTON = "Change"
CANCEL_BUTTON = "Cancel"
CODE_BUTTON = "Show code"
WHY_BUTTON = "Why this answer?"
NO_FOLLOW_UP = "I no longer have this question. Please type it instead."
SOLVED_BUTTON = "Mark as solved"
HUMAN_BUTTON = "Ask a human"
HAND_BACK_BUTTON = "Hand back"
NUMBERS_BUTTON = "Show numbers"
KEEP_BUTTON = "Keep it"
END_BUTTON = "End it"
CANCEL_CONSEQUENCE = "It will no longer run."
ANSWER_BUTTON = "Answer…"


NOT_SHOWN = "I cannot post my answer where you asked. {why}"
SHOWN_ELSEWHERE = "I cannot post my answer where you asked, so I am sending it to you in a direct message. {why}"
TEXT_REFUSED = "The platform did not accept its text. Try rephrasing your question."
REPLY_DELETED = "My answer was deleted while I was writing it, so I stopped. Ask again if you still need it."
GIVEN_UP = "I could not finish this answer after {attempts} attempts (turn {turn}). Try rephrasing your question."
ANSWERED_ELSEWHERE = "Another process answered this question. The reply is in its thread."
NO_ANSWER_FROM_FIRST = "that model did not answer."
# Stands for a question that the operator's hook refused, wherever it would be read again.
QUESTION_WITHHELD = "(A rule of the operator withheld this question.)"
ASK_OTHERWISE = "One of the operator's rules withheld this question, so I no longer have it. Please rephrase it."
UNEXPECTED = "Something went wrong on my side. Try again; the operator can find the reason in the log."
BROKEN = "Something went wrong on my side (turn {turn}). Ask again; the operator can find the reason in the log."
THINKING = "Thinking…"
WAITS_FOR_CONSENT = "*I need approval to use {tools}. Only the person who asked can approve it, within 24 hours.*"
WAITS_FOR_PERSON = (
    "*This question is from my language model. Only the person who asked me can answer, with the button or with their "
    "next message to me here, within 24 hours. Never answer with a password, key, or card number.*"
)
WAITS_FOR_OTHERS = "*I need approval to use {tools}. I am asking {people} in direct messages (24 hours).*"


def waits_for(tools: Mapping[str, str], asked: Mapping[str, Sequence[str]]) -> str:
    """Return what a reply says that waits, "" if nobody is asked. `tools`: of its calls, by their ids; `asked`: see
    `events.TurnPutAside`.
    """
    by_people = dict[tuple[str, ...], set[str]]()
    for id_, tool in tools.items():
        people = tuple(asked.get(id_, ()))
        if people or id_ not in asked:
            by_people.setdefault(people, set()).add(f"`{tool}`")
    lines = [
        (WAITS_FOR_OTHERS if people else WAITS_FOR_CONSENT).format(
            tools=", ".join(sorted(names)), people=", ".join(map(literal, people))
        )
        for people, names in by_people.items()
    ]
    return "\n\n".join(lines)


WAITS_FOR_ANSWER = "`{tool}` has a question for the person who asked. I will wait up to nine minutes for the answer."
ASKING_STATUS = "Waiting for an answer to {tool}…"
STATUS_LINES = {
    "add_bookmark": "Adding a bookmark…",
    "add_reaction": "Adding a reaction…",
    "ask_a_human": "Checking who can help…",
    "background": "Starting the task…",
    "recall": "Searching past threads…",
    "chart": "Drawing a chart…",
    "close_poll": "Closing a poll…",
    "create_canvas": "Creating a canvas…",
    "create_event": "Scheduling an event…",
    "create_poll": "Posting a poll…",
    "create_thread": "Starting a thread…",
    "delete_post": "Deleting a post…",
    "edit_canvas": "Editing a canvas…",
    "edit_event": "Changing an event…",
    "edit_post": "Editing a post…",
    "pin_message": "Pinning a message…",
    "post_message": "Posting…",
    "python": "Running Python…",
    "remember": "Saving a note…",
    "remove_bookmark": "Removing a bookmark…",
    "set_topic": "Setting the topic…",
    "share_file": "Preparing a file…",
    "present": "Arranging the answer…",
    "read_channel": "Reading messages…",
    "search_slack": "Searching Slack…",
    "tools": "Looking for the right tool…",
    "web_fetch": "Reading a page…",
    "web_search": "Searching the web…",
}
USING_TOOL = "Using {tool}…"
PROGRESS = "{doing} {percent:.0f}%"
TIMED = "{doing} {done:,.0f} s"
COUNTED = "{doing} {done:,.0f} of about {total:,.0f} {unit}"
OUTPUTS: Mapping[ResultStatus, str] = {
    ResultStatus.SUCCESS: "Done.",
    ResultStatus.FAILURE: "That did not work.",
    ResultStatus.UNKNOWN: "I do not know whether that worked.",
}
UNFINISHED = "Not finished."
DONE_BY_TOOL: Mapping[str, str] = {
    "add_bookmark": "added a bookmark",
    "add_reaction": "added a reaction",
    "ask_a_human": "checked who can help",
    "background": "started the task",
    "recall": "searched past threads",
    "chart": "drew a chart",
    "close_poll": "closed a poll",
    "create_canvas": "created a canvas",
    "create_event": "scheduled an event",
    "create_poll": "posted a poll",
    "create_thread": "started a thread",
    "delete_post": "deleted a post",
    "edit_canvas": "edited a canvas",
    "edit_event": "changed an event",
    "edit_post": "edited a post",
    "pin_message": "pinned a message",
    "post_message": "posted a message",
    "python": "ran Python",
    "remember": "saved a note",
    "remove_bookmark": "removed a bookmark",
    "set_topic": "set the topic",
    "share_file": "prepared a file",
    "present": "arranged the answer",
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
UNSTORED = "I cannot reach my database right now. I will continue as soon as I can."


TOO_MUCH_AT_ONCE = "Too many requests arrived at once. Try again."

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
        return f"{answers} There is no other model to choose."
    names = ", ".join(f"`{name}`" for name in allowed)
    return f"{answers}\nChoose with `{command}`: {names}. `{USUAL}` restores the default."


def model_in_use(current: str, why: str) -> str:
    """Which model answers somebody, and why."""
    return f"`{current}` answers you here: {literal(why).rstrip('.')}."


def model_not_allowed(allowed: Collection[str]) -> str:
    """`allowed`: what may be chosen instead."""
    if not allowed:
        return "You cannot choose that model, because only one is available here."
    return f"You cannot choose that model. Choose one of {', '.join(allowed)}."


# Who may ask, and how much

CLOSED_TO = {
    Authority.GUEST: "Guests cannot use me here. Ask my operator for access.",
    Authority.STRANGER: (
        "I can only answer members of the workspaces and servers I work for, and I could not find you among them. "
        "Ask my operator for access."
    ),
}
NOT_ALLOWED: Mapping[str, str] = {
    "channel": "I cannot answer in this channel. Ask me in another one, or ask my operator to add this one.",
    "team": "I cannot answer in this workspace or server. Ask my operator to add it.",
    "role": "Your role does not have access to me. Ask my operator for access.",
    "person": "You do not have access to me. Ask my operator for access.",
}
CLOSED_HERE = "The managers of this channel limited who can ask me here. Ask me in another channel, or ask a manager."
PLACE_UNREADABLE = (
    "I cannot read the settings of this channel. Ask my operator to check the channel's stored preference “{name}”."
)

BACKLOG_FULL = "I already have {questions} waiting, so I could not accept yours. Ask again in a few minutes."
CLOSED = "I am not accepting questions right now. Ask again later."


TOO_MANY = "The limit is {messages} {within} {whose}, so I did not read this message. Ask again after {moment}."
WITHIN_MINUTE = "a minute"
WITHIN_HOUR = "an hour"
WHOSE_RATE = {
    Whose.PERSON: "from one person",
    Whose.CHANNEL: "in one channel",
    Whose.WORKSPACE: "in one workspace",
    Whose.EVERYONE: "in total",
}

# Files and voice messages

CANNOT_LISTEN = (
    "I cannot listen to voice messages yet. Write to me instead. (My operator can turn on voice messages with "
    "COGENCY_TRANSCRIPTION.)"
)
CANNOT_LISTEN_NOW = "I could not listen to your voice message: {reason}. Try again, or write to me."
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


A_MANAGER = "A manager of this channel"
NOT_SWITCHED = "I did not turn this on, because I have to announce it in the channel first. {why}"


FORGOTTEN = "(forgotten)"
AT_START = "(at the start)"
POLICY = "(policy)"
FEEDBACK = "(feedback)"
TOKEN = "(token)"  # noqa: S105 -- a word of the audit
NEWEST_CALLS = "**Tools**, latest calls"
NO_SUCH_TOOL = "(no such tool)"
BY_DOOR = "via {door}"
NO_END = "started, no end recorded"
# What the audit calls a decision, where the stored word is not plain.
DECISIONS: Mapping[str, str] = {"unasked": "no approval needed", "allowed": "approved", "answered": "answered"}
