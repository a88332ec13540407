"""What people read in commands, their menus, windows and help, on every platform. Pure."""

from collections.abc import Mapping, Sequence

from bot.texts.formatting import literal, shortened

# Help


def help_text(commands: Mapping[str, str]) -> str:
    """The commands of one platform, as written there, each with what it does."""
    return "\n".join(f"- `{command}`: {what}" for command, what in commands.items())


NEW_CONVERSATION = "What you write next begins a new conversation. What I remember about you stays."
# Discord's clients keep what they know of commands for a while.
COMMAND_CHANGED = "This command has changed: please write it again in a minute."
YOU_TYPED = "You wrote this, and the button opens the form with it:"
SETTINGS_SUMMARY = "Choose your time zone, how I answer you, and, if you manage this place, where"
ZONE_SUMMARY = "Your time zone, by its city, such as Europe/Berlin"
ZONE_NOW = "**Your time zone**: your clock shows {moment}."
ZONE_ASKED = "**Your time zone** is not known, as Discord tells none: until you choose it, I count in UTC."
ZONE_CHOOSE = "Choose your time zone"
ZONE_ANOTHER = "Another one…"
ZONE_OTHER = "For another time zone use `/settings` and begin to type a city behind `zone`, such as Europe/Vienna."
ZONE_UNKNOWN = "I know no such time zone: begin to type a city behind `zone` of `/settings`, such as Europe/Vienna."
ZONE_OF_SLACK = (
    "**Your time zone** is not known, so I count in UTC. Slack tells it when you set it under Preferences, "
    "“Language & region”."
)
ZONE_OF_MACHINE = "Your time zone is this machine's; `TZ` or the system's settings change it."
HOW_ON_DISCORD = (
    "Mention me in a channel, or write to me directly; below my answers are buttons, and a 👍, 👎 or 🗑 as a "
    "reaction does the same. “Ask about this” and “Forget this” stand in the menu of every message, under Apps."
)
PLAY_SETTINGS_SUMMARY = "Choose the model that answers you, and whether I learn from you"
HOW_ON_PLAY = "Mention me in a channel, or write to me directly; below my answers are buttons."
MISTYPED = "There is no command `/{name}`; did you mean `/{near}`? “@{bot} help” says what I can do."
NEARLY = "Nothing is done yet: did you mean `{near}`?"
STOP_IN_THREAD = "To stop an answer in a thread, write “@{name} stop” in it."
NOT_CHANGED_THERE = "You or I cannot read that channel, so nothing was changed."
EACH_BEGINS = "Each message that you write to me outside of threads begins a conversation."
HOW_ON_SLACK = "Ask me anything in a direct message, or mention @{bot} in a channel; I answer in the thread."
# Below the first reply to somebody, which stands in a thread.
NO_SLASH_IN_THREADS = "(In a thread, write that to me without the slash.)"
HOW_IN_SLACK_THREADS = (
    "In a thread, write the same to me without the slash, such as “@{bot} usage”; only you see the answer."
)

# `/channel`

SWITCH_ON = "Switch {what} on"
SWITCH_OFF = "Switch {what} off"
A_DAY = "On: {many} a day at most"
NO_CONTENT_INTENT = (
    "I do not hear here what is not said to me: my operator has to switch on Discord's Message Content Intent, and "
    "`COGENCY_DISCORD_MESSAGE_CONTENT`."
)

# What tools ask in the middle of a call

ANSWER_BUTTON = "Answer…"
ANSWER_PART = "Answer {first}–{last} of {all}…"
SEND_BUTTON = "Send"
YES_BUTTON = "Yes"
NO_BUTTON = "No"
OPENED_BUTTON = "I have opened it"
DECLINE_BUTTON = "Decline"
LATER_BUTTON = "Cancel"
WINDOW_TITLE = "For {source}"
WINDOW_TRY_AGAIN = "This took too long; please press it again."
MORE_QUESTIONS = "{questions} for you behind this one."
WRONG_FIELD = "**{field}**: {why}"
QUESTION_TIME = "I wait for it for nine minutes at most. If this is gone from your screen, `/tools` shows it again."
QUESTION_OVER = "Nobody waits for this answer any more: its time is over, or what asked for it has ended."
ANSWERED = {
    "ACCEPT": "Your answer goes to `{source}`, and to nobody else.",
    "DECLINE": "Declined: `{source}` is told that you do not want to say it.",
    "CANCEL": "Cancelled: `{source}` is told that you have not decided.",
}
NOT_ANSWERED = {
    "NOT_THEIRS": "Only the person who asked can answer this.",
    "ANSWERED_BEFORE": "You have answered this before; nothing has changed.",
    "OVER": QUESTION_OVER,
    "KEPT": QUESTION_OVER,
}


# Of each value: all of a long form fit into one message.
SENT_CHARS = 120


def sent_lines(values: Sequence[tuple[str, str]]) -> list[str]:
    """What was sent, as its person reads it once more."""
    lines = [f"- {literal(name)}: {literal(shortened(value, SENT_CHARS))}" for name, value in values]
    return ["", *lines] if lines else []


# In the terminal, field by field.
FIELD_BY_FIELD = "One field after the other; at the end you send it, or decline. Ctrl-C cancels."
FILL_CHOICE = "the number of your choice"
FILL_CHOICES = "the numbers of your choices"
DECLINED_UNSEEN = "A tool asked something, which was declined: nobody sits here who could answer."


def fill_in(
    label: str, hint: str, before: str, choices: Sequence[str], *, several: bool = False, required: bool = False
) -> str:
    """What is asked for one field. `before`: what Enter alone would fill in. `several`: of the choices."""
    number = (FILL_CHOICES if several else FILL_CHOICE) if choices else ""
    enter = f"Enter for {before}" if before else "" if required else "Enter leaves it out"
    about = ", ".join(filter(None, [number, hint, enter]))
    return "\n".join([f"**{label}**" + (f" ({about})" if about else ""), *choices])


SEND_OR_NOT = "yes (send), no (decline), or Enter (cancel)?"

# Buttons below a reply

UNDO_BUTTON = "Undo"
CHANGE_BUTTON = "Change"
CANCEL_BUTTON = "Cancel"
GOOD_BUTTON = "Good answer"
BAD_BUTTON = "Bad answer"
DELETE_BUTTON = "Delete this reply"
DELETE_TITLE = "Delete this reply?"
DELETE_TEXT = "It disappears for everybody, and I forget that I said it."

# Windows for a question

DEPTH_ADAPT = "As deep as the question needs"
DEPTH_DEEP = "Deep: take your time"
DEPTH_FAST = "Fast: a short answer"
ASK_ABOUT_MESSAGE = "Ask about this message"
QUESTION_ALONE = "Your question (only you will see the answer)"
ONLY_I_SEE = "Only I see the answer"
YOUR_QUESTION = "Your question"
WHERE_TO_ANSWER = "Where to answer"
IN_DIRECT_MESSAGES = "Empty: in your direct messages with me."
WHO_SEES = "Who sees the answer"
HOW_DEEP = "How deep"

SUMMARISE_THREAD = "Summarise this thread"
SUMMARISE_ONWARDS = "Summarise from here"
SUMMARISE_WHAT = "Read what was written there, and sum it up; only you see the answer."
SUMMARISE_THREAD_QUESTION = "Please read this whole thread, and summarise it for me: {link}"
SUMMARISE_ONWARDS_QUESTION = "Please read what was written here from this message on, and summarise it for me: {link}"

# Slack's own pages about the app

APP_DESCRIPTION = "An agent that answers in threads, remembers with care, and forgets when asked."
AGENT_DESCRIPTION = (
    "Ask me anything: I answer in the thread, use what you told me before where it may be used, and say where I have "
    "it from. What I remember about you, you can see, correct and erase at any time."
)
# Shown until the bot knows the person.
PROMPTS = (
    ("What can you do?", "What can you do for me here?"),
    ("What do you remember?", "What do you remember about me, and where do you have it from?"),
    ("Plan my day", "Help me plan my day: ask me what is on it first."),
    ("Draft a message", "Help me draft a message: ask me to whom and about what."),
)
ASK_ANYWHERE_WHAT = "Ask something from anywhere in Slack."
ASK_ABOUT_MESSAGE_WHAT = "Ask something about a message; only you see the answer."
FORGET_THREAD = "Forget this thread"
FORGET_THREAD_WHAT = "Erase what you wrote to the bot in this thread, and what came of it."
MEMORY_SHORTCUT = "What you remember"
MEMORY_SHORTCUT_WHAT = "See what the bot remembers about you; nobody else does."

# Menus of a message

ASK_ABOUT_THIS = "Ask about this"
FORGET_THIS = "Forget this"
CHOOSE_AGAIN = f"I no longer know which message you meant: please choose “{ASK_ABOUT_THIS}” again."
NOT_YOUR_MESSAGE = "You can have your own messages forgotten, and my replies to you."
WILL_FORGET = (
    "I will forget this message: what you said, the answer to it, and what I know from it. It stays on Discord until "
    "you delete it there. This cannot be undone."
)
WILL_FORGET_REPLY = "I will delete this reply, and forget what it said. This cannot be undone."
MESSAGE_FORGOTTEN = "Forgotten: the message, and what came of it. On Discord it stays until you delete it there."
REPLY_FORGOTTEN = "Forgotten: my reply is deleted, and I no longer know what it said."

# Windows for what is remembered

PAGE = "Page {page} of {pages}"
EXPORT_SENT = "I have sent it to you as a direct message."
EXPORT_NOT_SENT = "I could not send the file: the app may lack the scope `files:write`. Please tell my operator."

# Settings of a person and a place

AS_USUAL = "As usual"
IN_NEW_THREAD = "In a new thread"
AS_REPLY = "As a reply, and so on"
IN_CHANNEL = "In the channel"
LEARNS_NOTHING = "I learn nothing from what you say."
LEARNS_FROM_YOU = "I learn from what you say."
LEARNING_NOW = "**Learning**: {learning}"
WHO_SEES_COMMANDS = "**Answers to your commands{elsewhere}**: {whom}, unless you say otherwise in `/ask`."
SHOW_TO_ALL = "Show to everybody"
SHOW_TO_ME = "Show to me alone"
WHERE_I_ANSWER = "**Where I answer those who mention me in {where}**"

# Asking by a command

ASK_USAGE = (
    "Write your question after `/ask`; `/ask privately …` answers so that only you see it, "
    "and `deep:` or `fast:` before the question says how long I may think. `/ask help` says what else I can do."
)
ONLY_YOU = "I may not write in that channel, so only you see the answer. {remedy}"
INVITE_ME = "Once somebody has written `/invite @{bot}` there, everybody can see my answers there."
# A mistyped "privately" would show a private question to everybody.
NEARLY_PRIVATE = "Nothing is asked yet: by “{word}”, did you mean `/ask privately`? If not, begin with another word."
NOT_ASKED_THERE = "You cannot read that channel, so I did not ask there."
QUESTION_WAITS = "Slack does not take your question at the moment. It is not lost: I will ask it as soon as I can."
READING_UNKNOWN = "Slack does not tell me whether you can read that channel: please try again."

# Slack's Home tab

WELCOME = (
    "I am *@{bot}*: I answer questions, use tools, and find again what you told me.\n"
    "To begin, write to me in the tab *Messages*, or mention @{bot} in a channel and go on in its thread.\n"
    "I keep what you write to me, and may learn from it what helps me to help you. Below you see what that is, and can "
    "correct it, have it forgotten, or stop the learning."
)
FORGET_SECTION = "You see what it is, and how much, before anything is erased."
LEARNING_ON = "I may learn from what you write to me."
LEARNING_OFF = (
    "I do not learn from what you write to me, nor later from what you write now. What is remembered already stays."
)
TRY_AGAIN = "Try again"
STOP_LEARNING = "Stop learning"
LEARN_AGAIN = "Learn again"
HOME_MEMORY = "What I remember about you"
HOME_SCHEDULES = "At a time"
HOME_FORGET = "Forget what I told you"
HOME_USAGE = "Your usage and budget"
HOME_MODEL = "The model that answers you"
EARLIER_PAGE = "Earlier page"
NEXT_PAGE = "Next page"
HOME_POLICIES = "What holds for everybody"
HOME_OPERATORS = "For operators"
OPEN_OPERATOR_PAGE = "Open the operators' page"
EXPORT_BUTTON = "Send me all of it as a file"

# Windows and buttons for forgetting

SOMETHING_ELSE = "Something else…"

# The terminal

# What only the terminal has: how it is written, and what it does.
TERMINAL_COMMANDS = {
    "/deep TEXT": "Ask, and let the model take its time",
    "/fast TEXT": "Ask, and want an answer soon",
    "/file PATH TEXT": "Ask about a file: a document, a table, a picture, code",
    "/threads": "List your threads",
    "/threads N": "Go back to thread N of that list",
    "/quit": "Leave; so do exit, quit and Ctrl-D",
    "//TEXT": "Send text that begins with a slash; plain text is a question, too, and Ctrl-C stops its answer",
}
WRITE_QUESTION = "Write your question after `{word}`."
WRITE_ALONE = "Write `{word}` alone: it takes nothing after it."
WRITE_THREADS = "Write `/threads` for the list, or `/threads 2` to go back to its second thread."
NO_SUCH_COMMAND = "There is no command {command}: {instead}"

WRITE_FILE = "Write `/file PATH` and your question: `/file ~/report.pdf What changed?`"
NO_SUCH_FILE = "There is no file {path} that can be read: check its path, and that you may read it."
WHAT_IS_IN_IT = "What is in this file?"

ARE_YOU_SURE = "Are you sure?"
