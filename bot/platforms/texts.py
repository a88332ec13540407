"""What the platforms say to operators."""

from collections.abc import Sequence
from datetime import datetime

from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.stored_messages import Author, StoredMessage, Thread
from bot.chat.texts.formatting import literal, shortened
from bot.chat.texts.replies import LEARNED_EARLIER, REMEMBERED, SCHEDULED, THINKING, TITLE_CHARS

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
NO_CONTENT_INTENT = (
    "I do not hear here what is not said to me: my operator has to switch on Discord's Message Content Intent, and "
    "`COGENCY_DISCORD_MESSAGE_CONTENT`."
)
WINDOW_TRY_AGAIN = "This took too long; please press it again."


# Panels and forms in the terminal.
FIELD_BY_FIELD = "Fill in one field after the other, then choose what to do. Ctrl-C cancels."
FILL_CHOICE = "Write the number of your choice."
FILL_CHOICES = "Write the numbers of your choices."
FILL_REQUIRED = "This field is required."
FILL_NO_CHOICE = "Choose one of the listed options."
FILL_TOO_LONG = "At most {most} characters."
BOX_CHOICES = {"yes": "Yes", "": "No"}
DECLINED_UNSEEN = "A tool asked a question. I declined it, because nobody is here to answer."


def fill_in(
    label: str, hint: str, before: str, choices: Sequence[str], *, several: bool = False, required: bool = False
) -> str:
    """What is asked for one field. `before`: what Enter alone would fill in. `several`: of the choices."""
    number = (FILL_CHOICES if several else FILL_CHOICE) if choices else ""
    enter = f"Enter for {before}." if before else "" if required else "Enter leaves it out."
    head = f"**{label}** {hint}".rstrip(" .")
    return "\n".join([" ".join(filter(None, [f"{head}.", number, enter])), *choices])


def write_for(choices: Sequence[tuple[str, str]], otherwise: str) -> str:
    """What can be typed for the buttons of a panel, with their labels. `otherwise`: the label of what else means."""
    ways = [f"`{typed}`" + (f" for “{label}”" if label.casefold() != typed else "") for typed, label in choices]
    listed = " or ".join(filter(None, [", ".join(ways[:-1]), *ways[-1:]]))
    return f"Write {listed}." + (f" Anything else means “{otherwise}”." if otherwise else "")


# Buttons below a reply

UNDO_BUTTON = "Undo"
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

# Menus of a message

ASK_ABOUT_THIS = "Ask about this"
FORGET_THIS = "Forget this"
FORGET_BUTTON = "Forget"
KEEP_BUTTON = "Keep"
CHOOSE_AGAIN = f"I no longer know which message you meant: please choose “{ASK_ABOUT_THIS}” again."
NOT_YOUR_MESSAGE = "You can forget only your own messages, and my replies to you."
WILL_FORGET = (
    "I will forget this message: what you said, the answer to it, and what I know from it. It stays on Discord until "
    "you delete it there. This cannot be undone."
)
WILL_FORGET_REPLY = "I will delete this reply, and forget what it said. This cannot be undone."
MESSAGE_FORGOTTEN = (
    "Forgotten: the message, and everything derived from it. It stays on Discord until you delete it there."
)
NOT_FORGOTTEN = "Nothing was forgotten."
REPLY_FORGOTTEN = "Forgotten: my reply is deleted, and I no longer know what it said."
EXPORT_SENT = "I have sent it to you as a direct message."
EXPORT_NOT_SENT = "I could not send the file: the app may lack the scope `files:write`. Please tell my operator."

# Settings of a person and a place

AS_USUAL = "As usual"
IN_NEW_THREAD = "In a new thread"
AS_REPLY = "As a reply, and so on"
IN_CHANNEL = "In the channel"
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
NOT_ASKED_THERE = "You cannot read that channel, so I did nothing there."
QUESTION_WAITS = "Slack does not take your question at the moment. It is not lost: I will ask it as soon as I can."
QUESTION_QUEUED = "Many people are asking here right now. I will post your question in about {seconds:.0f} seconds."
READING_UNKNOWN = "Slack does not tell me whether you can read that channel: please try again."

# Slack's Home tab

WELCOME = (
    "I am *@{bot}*: I answer questions, use tools, and find again what you told me.\n"
    "To begin, write to me in the tab *Messages*, or mention @{bot} in a channel and go on in its thread.\n"
    "I keep what you write to me, and may learn from it what helps me to help you. Below you see what that is, and can "
    "correct it, have it forgotten, or stop the learning."
)
TRY_AGAIN = "Try again"

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


# What somebody asks who presses "Continue".
GO_ON = "Please go on."


def use_command(name: str, *, direct: bool) -> str:
    """Somebody wrote a command's words as a message. `direct`: where nobody else would see its answer anyway."""
    why = "" if direct else ", so that only you see its answer"
    return f"Nothing is done yet: please use the command `/{name}`{why}."


SUGGESTIONS_TITLE = "You may want to ask"
THINKING_LINES = (THINKING, "Reading what was said…", "Weighing it up…", "Finding the words…")
MORE_THAN_FITS = "(There is more of this than fits here.)"
ANSWER_WAITS = "Slack does not take my answer at the moment. It is not lost: I will post it as soon as I can."
KEPT_WAITING = "I cannot store anything at the moment. Your message is not lost: I will answer it as soon as I can."
# What is wrong with the database, and where it lies, is for whoever runs the bot: it stands in the log.
UNAVAILABLE = "I cannot store or look up anything at the moment; please try again in a few minutes."


def failure(error: CogencyError) -> str:
    """What somebody who asked for something is told when it did not work."""
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return literal(error.reason.to_person if isinstance(error, ProviderError) else str(error))


def threads_text(threads: Sequence[Thread], now: datetime, current: str | None = None) -> str:
    """The threads as a numbered list, in the order given; dates in the time zone of `now`."""
    if not threads:
        return "There are no threads yet."
    lines = [
        f"{number}. {literal(shortened(thread.title, TITLE_CHARS))} ({_last(thread, now)}"
        f"{', this one' if thread.conversation == current else ''})"
        for number, thread in enumerate(threads, start=1)
    ]
    return "\n".join(["Your threads, the latest first:", "", *lines])


def greeting(model: str, where: str) -> str:
    """Return the start-up lines. `model`: which model answers, and why; `where`: where memory is stored."""
    return f"{model}\n\nMemory: {where}"


def going_on(question: str, conversation: str, threads: Sequence[Thread]) -> str:
    """Which question is answered now that was interrupted, and in which of the threads, as `/threads` counts them."""
    words = literal(shortened(question.strip().partition("\n")[0], TITLE_CHARS))
    for number, thread in enumerate(threads, start=1):
        if thread.conversation == conversation:
            title = literal(shortened(thread.title, TITLE_CHARS))
            return f"Going on with “{words}” (thread {number} of `/threads`, “{title}”):"
    return f"Going on with “{words}”:"


def thread_opened(thread: Thread, said: Sequence[StoredMessage] = ()) -> str:
    """`said`: its last messages, which are shown again."""
    back = f"Back in “{literal(shortened(thread.title, TITLE_CHARS))}”."
    shown = [
        one.text if one.author is Author.BOT else "\n".join(f"> {literal(line)}" for line in one.text.splitlines())
        for one in said
    ]
    return "\n\n".join([back, *shown])


def _last(thread: Thread, now: datetime) -> str:
    """The day of the last message; for today also the time, as several threads may share the day."""
    last = thread.last.astimezone(now.tzinfo)
    return f"today {last:%H:%M}" if last.date() == now.date() else last.date().isoformat()


NO_ANSWER_THERE = "I cannot answer that message where it stands."
IT_IS_TIME = "**It is time:**"
AT_IT = "**I am at it now.** Ctrl-C stops it; if this window is closed, it goes on with your next chat."
# Why something that somebody had me do at a time is not done any more.
SCHEDULE_PERSON_GONE = "Your account is no longer active there."
SCHEDULE_LEFT = "You are no longer in that channel, or cannot read it any more."
SCHEDULE_LEFT_SERVER = "You are no longer a member of that server."
SCHEDULE_ARCHIVED = "That channel or thread is archived."
SCHEDULE_PLACE_GONE = "That channel is gone, or I am no longer in it."
SCHEDULE_WITHOUT_ME = "I am no longer in that channel: invite me, and set this up anew."
SCHEDULE_WIDER = (
    "More people can read that channel than when you set this up: if all of them may read it, set it up there anew."
)
# What stands above files in the person's direct messages, where there is no answer.
FILES_BELOW = "The files of my answer:"

# When a platform refuses

# By Discord's code of a refusal, what somebody can do about it.
DISCORD_REMEDIES = {
    50001: "Let my role see that channel (View Channel), or ask me elsewhere.",
    50007: "They take no direct messages from me; in a server's privacy settings they can allow them.",
    50013: "Give my role the right to send messages there (in threads: Send Messages in Threads), or ask me elsewhere.",
    160002: "Give my role the right to read that channel's history (Read Message History).",
    160005: "The thread is locked: somebody who manages threads can unlock it.",
    50035: "That is an error of mine: please report it with the lines around this one.",
    40001: "DISCORD_TOKEN is no longer accepted: copy it again from the developer portal, and restart me.",
    0: "",
}
DISCORD_ANSWERED = "Discord answered {status} (error {code}). {remedy}"
DISCORD_LIMITED = "Discord asks to wait {seconds:.0f} s"
DISCORD_UNREACHED = "Discord could not be reached ({kind})"
THREAD_LOCKED = "I cannot answer in the thread “{name}”: it is locked."
ROLE_LACKS = (
    "I cannot answer in #{channel}: my role lacks {missing} there. Someone who manages the server can grant that."
)
SERVER_NOT_SERVED = (
    "I am not set up for this server; please ask my operator to add it (its id is {guild}, the setting "
    "COGENCY_DISCORD_SERVERS)."
)
DISCORD_WHO = "Discord did not tell me who you are, so I could not do that: please try again soon."
DISCORD_WHERE = "Discord did not tell me where this is, so I could not do that: please try again soon."
TOO_LONG_HERE = (
    "This answer is longer than I may show here, and I cannot write to you directly: open a direct message with me, or "
    "have me added to this server, and ask again."
)
DISCORD_KEPT_WAITING = (
    "Discord does not answer me at the moment. Your message is not lost: I will answer it as soon as I can."
)
INSTALL_AGAIN = "Install the app again, and set SLACK_BOT_TOKEN to its new token."
SLACK_REMEDIES = {
    "is_archived": "That channel is archived: ask in another one, or have it restored.",
    "channel_not_found": "I cannot see that channel: ask me elsewhere, or invite me there.",
    "not_in_channel": "I am not in that channel: invite me there, and ask again.",
    "cannot_reply_to_message": "That message takes no replies: ask me again in the channel.",
    "ekm_access_denied": "Your organization's administrators have suspended messages there: ask me elsewhere.",
    "restricted_action": "A setting of the workspace keeps me from writing there: ask me elsewhere, or an admin.",
    "messages_tab_disabled": "Direct messages to me are switched off in the app's settings: ask my operator.",
}
SLACK_REMEDY = "Please ask me in another place; my operator finds the reason in the log."
SLACK_LIMITED = "Slack asks to wait {seconds:g} s before {method}."
SLACK_REFUSED = "Slack refused {method}: {code}."
SLACK_UNREACHABLE = "Slack cannot be reached ({method}: {why})."
SLACK_FAILED = "Slack failed ({method}: {why})."
SLACK_WHO = "Slack did not tell me who you are, so I could not do that: please try again soon. ({why})"
SLACK_GUESTS_UNKNOWN = "Slack has not told for a while who is a guest."
SLACK_READERS_UNKNOWN = "Slack does not tell in time who reads a channel."
SLACK_TOO_MANY_PEOPLE = "The workspace has more people than are read."
SLACK_GROUPS_UNREAD = "Some of the user groups could not be read."
SLACK_KEPT_WAITING = (
    "Slack does not tell me at the moment who you are. Your message is not lost: I will answer it as soon as I know."
)

# The terminal

# A terminal has no buttons.
WRITE_CONTINUE = "*Write “continue” to go on.*"
WRITE_UNDO = "*Write `{written}` to undo that.*"
PLAIN_TERMINAL = "Answers appear as a whole and plain here, because TERM says that this terminal can do no more."
HOW_TO_LEAVE = "Press Ctrl-D, or write /quit, to leave."
EXPORT_TO_FILE = "That is too much for a screen: write `/memory export` and the name of a new file."
NO_QUESTION = "There is no question: write it after `cogency ask`, or to its standard input."
COMMAND_IN_CHAT = "That is a command of the chat: write it in `cogency chat`, or `echo {line} | cogency chat`."
QUESTION_TOO_LONG = "The question is too long: at most {limit:,} characters are read."
FILE_EXISTS = "{name} exists already, so nothing was written."
FILE_UNWRITABLE = "{name} could not be written: name a file in a folder that exists."
FILE_WRITTEN = "Written to {name}."
NEW_THREAD = "A new thread."

# The page to try it

PLAY_WORKSPACE = "Try-out"
PLAY_UNREADABLE = "The page asked for something that I do not understand: please reload it."
PLAY_FAILED = "That could not be done; the log of `cogency play` says why. Please try again."
PLAY_TOO_LONG = "That is too long: {chars:,} characters, of at most {limit:,}."
PLAY_EMPTY = "There is nothing to send."
PLAY_NOT_THERE = "There is no such place or message for you."
PLAY_NOT_YOURS = "Only its author can change a message."
PLAY_NO_CHANNEL = "There is no such channel that the asker reads."
PLAY_POSTED = "Posted in #{channel} (message {message})."
PLAY_POSTED_FOR = "posted for {name}"
# What a place is, above its messages: who reads it, and where what is said in it may be used.
PLAY_PUBLIC = "**Everybody** in this workspace reads this. What is said here may be used everywhere in it."
PLAY_PRIVATE = (
    "**{readers} alone** reads this channel. What is said here is used here, and in {readers}'s direct messages."
)
PLAY_DIRECT = "**Only {person}** can read this. The bot never shows it to {others}."

# After a button below a reply

NOTED = "Thank you, I have noted that. The other button changes it."
NO_SUCH_REPLY = "I do not know this reply any more."
ONLY_THIS_PAGE = "Forgotten. I can take away only this page of it: please dismiss the others yourself."
ASKED_ALREADY = "I have been asked this already; the answer stands below, or is on its way."


# What stands in its place once that is taken back.
UNDONE = "*Undone: I no longer remember this.*"
UNSCHEDULED = "*Cancelled: I will not do this.*"


_KEPT_LINES = (REMEMBERED, LEARNED_EARLIER)


def undone(text: str) -> str:
    """A reply whose last "Remembered …" is said to be taken back; its words stand there no more."""
    lines = text.split("\n")
    of = [n for n, line in enumerate(lines) if line.startswith(_KEPT_LINES) and line.endswith("*")]
    return "\n".join(UNDONE if n == of[-1] else line for n, line in enumerate(lines)) if of else text


def unscheduled(text: str) -> str:
    """A reply whose last lines about times are said to be cancelled."""
    lines = text.split("\n")
    last = max((n for n, line in enumerate(lines) if _is_scheduled(line)), default=-1)
    first = last
    while first > 0 and _is_scheduled(lines[first - 1]):
        first -= 1
    return text if last < 0 else "\n".join([*lines[:first], UNSCHEDULED, *lines[last + 1 :]])


def _is_scheduled(line: str) -> bool:
    return line.startswith(SCHEDULED) and line.endswith("*")


STOP_BY_KEYS = "Ctrl-C stops it."
AMBIENT_MUTED = "I am silent here until tomorrow, unless somebody mentions me. `/channel ambient off` ends it for good."


# The pages by which a workspace installs the app.

INSTALL_ASKS = (
    "<h1>Add Cogency to your workspace</h1><p>The next page is Slack's own: it shows what Cogency may read and do "
    "there, and asks you to agree. Some workspaces ask an admin first.</p><p>Go on only if you came here to install "
    "it.</p>"
    '<form method="post"><input type="hidden" name="browser" value="{browser}"><button>Go on to Slack</button></form>'
)
INSTALL_CLOSED = (
    "<h1>Cogency cannot be installed here now</h1><p>Whoever runs it has not said which workspaces may. Ask them to "
    "name yours.</p>"
)
INSTALL_DONE = (
    "<h1>Cogency is installed in {name}</h1><p>It answers within a few seconds. Invite it to a channel and mention it, "
    'or write to it directly.</p><p><a href="{link}">Open Slack</a></p>'
)
INSTALL_DENIED = (
    "<h1>Nothing was installed</h1><p>You did not agree, so Cogency has been given nothing. If you did not mean that, "
    '<a href="{address}">begin anew</a>.</p>'
)
INSTALL_NOT_DONE = (
    "<h1>Nothing was installed</h1><p>Slack did not go on with it. If your workspace asks an admin first, wait until "
    'they have agreed, and then <a href="{address}">begin anew</a>.</p>'
)
INSTALL_FAILED = '<h1>Nothing was installed</h1><p>{why}</p><p><a href="{address}">Begin anew</a></p>'
INSTALL_USED = (
    "<h1>This page is over</h1><p>It works once. If Cogency does not answer in your workspace, "
    '<a href="{address}">begin anew</a>.</p>'
)
INSTALL_HASTY = (
    "<h1>Please try again in a minute</h1><p>Many workspaces install Cogency at this moment. Nothing was installed. "
    '<a href="{address}">Begin anew</a></p>'
)
INSTALL_OTHER_BROWSER = (
    "<h1>Nothing was installed</h1><p>This was not begun in this browser, or more than ten minutes ago. Allow cookies, "
    'and <a href="{address}">begin anew</a>.</p>'
)
INSTALL_NOT_LISTED = (
    "<h1>{name} may not install Cogency</h1><p>Nothing was kept of it. Whoever runs Cogency has not named your "
    "workspace: send them its id, <code>{team}</code>.</p>"
)
INSTALL_ORGANIZATION = (
    "<h1>Nothing was installed</h1><p>Cogency is installed in one workspace at a time, not in a whole organization. "
    '<a href="{address}">Begin anew</a>, and choose a workspace on Slack\'s page.</p>'
)
INSTALL_UNREADABLE = "Slack's answer was not what it should be. Please try again."
INSTALL_REFUSED = "Slack refused it ({code})."
SLACK_SILENT = "Slack could not be reached. Please try again in a minute."
INSTALLATION_SEALED = (
    "its tokens cannot be opened with COGENCY_ACCOUNT_KEY: set the key with which they were encrypted, behind the new "
    "one."
)
INSTALLED_NOWHERE = "no workspace has installed the app yet: that is done at {address}."
REFRESH_LOST = (
    "Slack takes its refresh token no more, so it is served until its token ends; somebody there has to install the "
    "app again, at {address}."
)


PLAY_PORT_TAKEN = "Nothing can listen at port {port} of this machine: end what does, or name another with --port."
PLAY_NO_FILE = "{file} cannot be used to keep messages: name another file with --keep."
CLOCK_REFUSED = "; every request of Slack is refused"
REACH_UNDER = (
    "up to {users:,} users can see the bot{part}, of {limit:,} from which on Discord reviews the message content intent"
)
REACH_GRANTED = (
    "up to {users:,} users can see the bot{part}, and Discord has granted the message content intent after a review"
)
REACH_PART = " in its first {servers} servers"
REACH_RENEW = "Apply again each year, when Discord asks for it in the developer portal."
REACH_OVER = (
    "up to {users:,} users can see the bot{part}; from {limit:,} on Discord gives the message content intent only "
    "after a review"
)
REACH_APPLY = (
    "Apply in the developer portal, or set COGENCY_DISCORD_MESSAGE_CONTENT=off. (Who is in two servers is "
    "counted twice here.) https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review"
)
EMPTY_ENDPOINT = "Clear “Interactions Endpoint URL” {portal}, page General Information."
SWITCH_CODE_GRANT_OFF = "Switch “Requires OAuth2 Code Grant” off {portal}, page Bot."
SWITCH_PUBLIC_OFF = (
    "Switch “Public Bot” off {portal}, page Bot (first set “Install Link” to None on the page Installation)."
)
SWITCH_CONTENT_ON = "Switch it on {portal}, page Bot, or set COGENCY_DISCORD_MESSAGE_CONTENT=off."
ALLOW_GUILD_INSTALL = "Allow “Guild Install” {where}."
ALLOW_USER_INSTALL = "To change that, allow “User Install” {where}."
OPEN_LINK = "Open {link}"
GIVE_RIGHTS = "Give them to its role in the server's settings, or open {link}"
SERVE_SERVER = (
    "To serve it, add {number} to COGENCY_DISCORD_SERVERS; if it is none of yours, set "
    "COGENCY_DISCORD_OTHER_SERVERS=leave."
)
DO_NOT_RESTART = "Do not start the bot again and again before then."
SHARDS_RECOMMENDED = "Discord recommends {recommended} connections at once, COGENCY_DISCORD_SHARDS is {chosen}"
SHARDS_UNNAMED = "no server is named: of several processes each sees its part of the servers alone"
NAME_SERVERS = "With several processes name in COGENCY_DISCORD_SERVERS the servers whose members may write directly."
SHARDS_AUTO = "Set COGENCY_DISCORD_SHARDS=auto."
TRY_LATER = "Try again later."
TAKE_OVER_MANIFEST = (
    'Run `cogency slack manifest`, paste it under "App Manifest" on the app\'s page, and install it again.'
)
SOCKET_MODE_ON = (
    'Switch on "Socket Mode" on the app\'s page, and make an app-level token with the scope connections:write under '
    "Basic Information."
)
INVITE_BOT = "Invite it with /invite wherever it should be mentioned; direct messages work without that."
CHECK_GROUPS = "Check the id in COGENCY_SLACK_MANAGERS, COGENCY_ALLOW, COGENCY_DENY and COGENCY_MODEL_ACCESS."
COMPARE_CONFIG = "To compare them, set SLACK_CONFIG_TOKEN to a token from https://api.slack.com/apps."
RENEW_CONFIG = "Make a new SLACK_CONFIG_TOKEN on https://api.slack.com/apps: each lives for twelve hours."
HTTP_OR_SOCKETS = "Run `cogency slack manifest --http URL` and take it over, or set SLACK_APP_TOKEN instead."
COPY_SLACK_AGAIN = "Copy it again from the app's page, OAuth & Permissions; the app must be installed."
CHECK_NETWORK = "Check the network, proxies and SLACK_API_BASE_URL. {error}"
HTTP_MANIFEST = "Run `cogency slack manifest --http URL` and take it over."

# Discord

APPLICATION_UNKNOWN = "Discord did not say which application the token belongs to: try again later."
COPY_DISCORD_AGAIN = "Copy DISCORD_TOKEN again from the developer portal, page Bot."
DISCORD_SILENT = "Discord does not answer at {address}: check the network, or DISCORD_API_BASE_URL."
WITHOUT_CONTENT = (
    "Discord: the message content intent is missing, so in threads I only see messages that mention me; "
    "switch it on in the developer portal (Bot, Message Content Intent) and restart."
)
INTENTS_REFUSED = "Discord refuses even the intents that need no permission."
LOGIN_LIMITED = "Discord asks to wait {seconds:.0f} s before the login."
LOGIN_FAILED = (
    "Discord answered the login with {status}: look at https://discordstatus.com, or check DISCORD_API_BASE_URL."
)
DISCORD_UNREACHABLE = "Discord cannot be reached at {address}: check the network, or DISCORD_API_BASE_URL."
GATEWAY_UNREACHABLE = "Discord's gateway cannot be reached at {address}: check the network, or DISCORD_GATEWAY_URL."
DISCORD_ENDED = "Discord ended the connection without a reason."
TOO_MANY_SERVERS = "The bot is in too many servers for its connections: set COGENCY_DISCORD_SHARDS=auto."
GATEWAY_REFUSED = (
    "Discord's gateway at {address} does not take this bot (code {code}): look it up in Discord's documentation."
)
GATEWAY_ENDED = "Discord's gateway at {address} ended the connection (code {code})."
DISCORD_LOGIN_REFUSED = (
    "DISCORD_TOKEN is not accepted by Discord: copy the token again from the developer portal, page Bot."
)
SERVERS_NOT_SERVED = (
    "Discord: not among the servers that I serve, so {done}: {named}. To serve one, add its id to "
    "COGENCY_DISCORD_SERVERS; to keep others from adding me, switch “Public Bot” off in the developer portal."
)
LEAVES_THEM = "I leave them"
ANSWERS_NOBODY = "I answer nobody there"
GATEWAY_LOST = "Discord's gateway ended the connection; the bot connects again by itself."
FOR_SERVER = "For a server: {link}"
FOR_YOURSELF = "For yourself: {link}"

# Slack

HTTPS_ADDRESS = "Slack needs an address that begins with https://, without ? or #"
SOCKET_UNREACHABLE = "Slack's socket cannot be reached."
SOCKETS_CLOSED = "Its sockets have closed, and the next one is not open yet."
SCOPES_LACKING = "{setting} lacks scopes ({names}): take over manifests/slack.yaml and install the app again."
SLACK_APP_NOT_SERVED = (
    "a request for the app %s was not taken: name it as app_id in the file of COGENCY_SLACK_APPS, or have Slack "
    "send its requests to an address that ends in %s/NAME"
)
SLACK_APP_REVOKED = (
    "it was uninstalled, or its token was revoked: what was said there is erased after COGENCY_REMOVAL_GRACE_DAYS days."
    " To keep it, install the app again, write its new token down, and start it again."
)
SLACK_SIGN_IN_DOUBTED = "Slack refused the bot token for a moment, and accepts it again."
SLACK_SIGN_IN_CHECKED = "%s: Slack refuses the bot token. It is checked for a minute before it counts as revoked."
SLACK_APP_BROKE = "It ended by a mistake of this program, which the log tells: start the bot again, and report it."
SLACK_LOGIN_REFUSED = "{setting} is not accepted by Slack ({code}): copy it again from the app's page."


STILL_WAITS = "It waits for a day; `/tools` shows it."
DECIDE_BUTTON = "Approve or deny…"
SLACK_NO_ANSWER = "Slack does not answer at {address} (SLACK_API_BASE_URL): check the network. {error}"
