"""What the platforms say to operators."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from agent.errors import CogencyError, ProviderError, StoreUnavailable
from agent.stored_messages import Author, StoredMessage, Thread
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts.formatting import literal, sentence_of, shortened
from bot.chat.texts.replies import LAPSES, LEARNED_EARLIER, REMEMBERED, SCHEDULED, THINKING, TITLE_CHARS

NEW_CONVERSATION = "Your next message starts a new conversation. I still remember what you told me before."
# Discord's clients keep what they know of commands for a while.
COMMAND_CHANGED = "This command was updated. Please try it again in a minute."
ANSWERED_TOGETHER = "I answered this together with your earlier question."
YOU_TYPED = "To open the form again, press the button. It still contains what you wrote:"
SETTINGS_SUMMARY = "Choose your time zone, how I answer you, and, if you manage this place, where I answer"
ZONE_SUMMARY = "A city in your time zone, such as Europe/Berlin"
ZONE_NOW = "**Your time zone**: your local time is {moment}."
ZONE_ASKED = "**Your time zone** is not set. Discord does not share your time zone, so I use UTC until you choose one."
ZONE_CHOOSE = "Choose your time zone"
ZONE_ANOTHER = "Another time zone…"
ZONE_OTHER = "To choose another time zone, use `/settings` and start typing a city after `zone`, such as Europe/Vienna."
ZONE_UNKNOWN = (
    "I do not know that time zone. Use `/settings` and start typing a city after `zone`, such as Europe/Vienna."
)
ZONE_OF_SLACK = (
    "**Your time zone** is not set in Slack, so I use UTC. You can set it in Slack under Preferences, “Language & "
    "region”."
)
ZONE_OF_MACHINE = "I use this machine's time zone. To change it, set `TZ` or the system's time zone."
HOW_ON_DISCORD = (
    "Mention me in a channel or send me a direct message. You can use the buttons below my answers, or react with 👍, "
    "👎, or 🗑. Each message has “Ask about this” and “Forget this” in its menu, under Apps."
)
PLAY_SETTINGS_SUMMARY = "Choose the model that answers you, and whether I learn from you"
HOW_ON_PLAY = "Mention me in a channel or send me a direct message. Use the buttons below my answers."
MISTYPED = "There is no command `/{name}`. Did you mean `/{near}`? Write “@{bot} help” to see what I can do."
NEARLY = "I have not run anything yet. Did you mean `{near}`?"
STOP_IN_THREAD = "To stop an answer in a thread, write “@{name} stop” there."
NOT_CHANGED_THERE = "Nothing was changed, because you or I cannot read that channel."
EACH_BEGINS = "Each message that you send me outside a thread starts a new conversation."
HOW_ON_SLACK = "Send me a direct message, or mention @{bot} in a channel. I answer in a thread below your message."
# Below the first reply to somebody, which stands in a thread.
NO_SLASH_IN_THREADS = "(In a thread, write the command to me without the slash.)"
HOW_IN_SLACK_THREADS = (
    "In a thread, write commands to me without the slash, such as “@{bot} usage”. Only you see the answer."
)
NO_CONTENT_INTENT = (
    "Here, I see only messages that mention me. To change that, my operator has to turn on Discord's Message Content "
    "Intent and `COGENCY_DISCORD_MESSAGE_CONTENT`."
)
WINDOW_TRY_AGAIN = "This took too long. Please press the button again."


# Panels and forms in the terminal.
FIELD_BY_FIELD = "Fill in the fields one by one, then choose what to do. Press Ctrl-C to cancel."
FILL_CHOICE = "Type the number of your choice."
FILL_CHOICES = "Type the numbers of your choices."
FILL_REQUIRED = "This field is required."
FILL_NO_CHOICE = "Choose only from the listed options."
FILL_TOO_LONG = "Use at most {most} characters."
BOX_CHOICES = {"yes": "Yes", "": "No"}
DECLINED_UNSEEN = "A tool asked a question. Nobody is here to answer, so I declined."


def fill_in(
    label: str, hint: str, before: str, choices: Sequence[str], *, several: bool = False, required: bool = False
) -> str:
    """What is asked for one field. `before`: what Enter alone would fill in. `several`: of the choices."""
    number = (FILL_CHOICES if several else FILL_CHOICE) if choices else ""
    enter = f"Press Enter for {before}." if before else "" if required else "Press Enter to skip it."
    head = f"**{label}** {hint}".rstrip(" .")
    return "\n".join([" ".join(filter(None, [f"{head}.", number, enter])), *choices])


def write_for(choices: Sequence[tuple[str, str]], otherwise: str) -> str:
    """What can be typed for the buttons of a panel, with their labels. `otherwise`: the label of what else means."""
    ways = [f"`{typed}`" + (f" for “{label}”" if label.casefold() != typed else "") for typed, label in choices]
    comma = "," if len(ways) > 2 else ""
    listed = f"{comma} or ".join(filter(None, [", ".join(ways[:-1]), *ways[-1:]]))
    return f"Write {listed}." + (f" Anything else means “{otherwise}”." if otherwise else "")


# Buttons below a reply

UNDO_BUTTON = "Undo"
GOOD_BUTTON = "Good answer"
BAD_BUTTON = "Bad answer"
DELETE_BUTTON = "Delete this reply"
DELETE_TITLE = "Delete this reply?"
DELETE_TEXT = "It disappears for everyone, and I forget what it said."

# Windows for a question

DEPTH_ADAPT = "Automatic: decide how long to think"
DEPTH_DEEP = "Deep: think longer"
DEPTH_FAST = "Fast: answer briefly"
ASK_ABOUT_MESSAGE = "Ask about this message"
QUESTION_ALONE = "Your question (only you will see the answer)"
ONLY_I_SEE = "Only I see the answer"
YOUR_QUESTION = "Your question"
WHERE_TO_ANSWER = "Where to answer"
IN_DIRECT_MESSAGES = "Leave empty to get the answer in a direct message."
WHO_SEES = "Who can see the answer"
HOW_DEEP = "Depth"

# Slack's own pages about the app

APP_DESCRIPTION = "An AI agent that answers in threads, remembers what you allow, and forgets on request."
AGENT_DESCRIPTION = (
    "Ask me anything. I answer in a thread, use what you told me earlier where that is allowed, and cite my sources. "
    "You can see, correct, and delete what I remember about you at any time."
)
# Shown until the bot knows the person.
PROMPTS = (
    ("What can you do?", "What can you do for me here?"),
    ("What do you remember?", "What do you remember about me, and where did you learn it?"),
    ("Plan my day", "Help me plan my day. Start by asking me what is on it."),
    ("Draft a message", "Help me draft a message. Start by asking me who it is for and what it is about."),
)
ASK_ANYWHERE_WHAT = "Ask a question from anywhere in Slack."
ASK_ABOUT_MESSAGE_WHAT = "Ask a question about a message. Only you see the answer."

# Menus of a message

ASK_ABOUT_THIS = "Ask about this"
FORGET_THIS = "Forget this"
FORGET_BUTTON = "Forget"
KEEP_BUTTON = "Keep"
CHOOSE_AGAIN = f"I no longer know which message you meant. Please choose “{ASK_ABOUT_THIS}” again."
NOT_YOUR_MESSAGE = "You can ask me to forget only your own messages and my replies to you."
WILL_FORGET = (
    "I will forget this message: what you said, my answer, and everything I learned from it. The message stays on "
    "Discord until you delete it there. You cannot undo this."
)
WILL_FORGET_REPLY = "I will delete this reply and forget what it said. You cannot undo this."
MESSAGE_FORGOTTEN = (
    "I erased this message from my memory, with everything I learned from it. The message stays on Discord until you "
    "delete it there."
)
NOT_FORGOTTEN = "Nothing was forgotten."
REPLY_FORGOTTEN = "I deleted my reply and forgot what it said."
EXPORT_SENT = "I sent it to you in a direct message."
EXPORT_NOT_SENT = "I could not send the file. The app may lack the `files:write` scope. Please tell my operator."

# Settings of a person and a place

AS_USUAL = "As usual"
IN_NEW_THREAD = "In a new thread"
AS_REPLY = "As a reply, without a thread"
IN_CHANNEL = "In the channel"
WHO_SEES_COMMANDS = (
    "**Who sees the answers when you use `/ask`{elsewhere}**: {whom}. You can override this for each question."
)
SHOW_TO_ALL = "Show to everyone"
SHOW_TO_ME = "Show only to me"
WHERE_I_ANSWER = "**Where I answer mentions in {where}**"

# Asking by a command

ASK_USAGE = (
    "Write your question after `/ask`. With `/ask privately …`, only you see the answer. Put `deep:` before the "
    "question to let me think longer, or `fast:` for a short answer. `/ask help` lists what else I can do."
)
ONLY_YOU = "I cannot post in that channel, so only you will see the answer. {remedy}"
INVITE_ME = "To let everyone there see my answers, use `/invite @{bot}` in the channel."
# A mistyped "privately" would show a private question to everybody.
NEARLY_PRIVATE = (
    "I did not send your question. Did you mean `/ask privately` instead of “{word}”? If not, start your question with "
    "another word."
)
NOT_ASKED_THERE = "I did not do anything in that channel, because you cannot read it."
QUESTION_WAITS = "I cannot accept your question right now. It is not lost. I will answer it as soon as I can."
QUESTION_QUEUED = (
    "Many people are asking questions here right now. I will post your question in about {seconds:.0f} seconds."
)
TAKES_LONGER = "This is taking longer than usual. I will show you the result as soon as I have it."
READING_UNKNOWN = "Slack did not say whether you can read that channel. Please try again."

# Slack's Home tab

WELCOME = (
    "I am *@{bot}*. I answer questions, use tools, and remember what you tell me.\nTo start, write to me in the "
    "*Messages* tab, or mention @{bot} in a channel and continue in the thread.\nI store what you write to me and "
    "may learn from it to help you better. Below you can see what I learned, correct it, delete it, or turn learning "
    "off."
)
TRY_AGAIN = "Try again"

# The terminal

# What only the terminal has: how it is written, and what it does.
TERMINAL_COMMANDS = {
    "/deep TEXT": "Ask, and let the model think longer",
    "/fast TEXT": "Ask for a short answer",
    "/file PATH TEXT": "Ask about a file, such as a document, a table, a picture, or code",
    "/threads": "List your threads",
    "/threads N": "Go back to thread N on that list",
    "/quit": "Leave (exit, quit, and Ctrl-D work too). Ctrl-C stops an answer",
    "//TEXT": "Send text that starts with a slash",
}
WRITE_QUESTION = "Write your question after `{word}`."
WRITE_ALONE = "Write `{word}` with nothing after it."
WRITE_THREADS = "Write `/threads` for the list, or `/threads 2` to go back to the second thread on it."
NO_SUCH_COMMAND = "There is no command {command}. {instead}"
MEANT = "Did you mean `/{near}`?"
SEE_HELP = "`/help` lists the commands, and `//` sends text that starts with a slash."

WRITE_FILE = "Write `/file PATH` and your question: `/file ~/report.pdf What changed?`"
NO_SUCH_FILE = "The file {path} could not be read. Check the path and your permissions."
WHAT_IS_IN_IT = "What is in this file?"

ARE_YOU_SURE = "Are you sure?"


# What somebody asks who presses "Continue".
GO_ON = "Please continue."


def use_command(name: str, *, direct: bool) -> str:
    """Somebody wrote a command's words as a message. `direct`: where nobody else would see its answer anyway."""
    why = "" if direct else ", so that only you see the answer"
    return f"I have not run anything yet. Please use the command `/{name}`{why}."


SUGGESTIONS_TITLE = "Suggested questions"
THINKING_LINES = (THINKING, "Reading the conversation…", "Weighing the options…", "Finding the words…")
MORE_THAN_FITS = "(The rest does not fit here.)"
ANSWER_WAITS = "I cannot post my answer right now. It is not lost. I will post it as soon as I can."
KEPT_WAITING = "I cannot store anything right now. Your message is not lost. I will answer it as soon as I can."
# What is wrong with the database, and where it lies, is for whoever runs the bot: it stands in the log.
UNAVAILABLE = "I cannot store or look up anything right now. Please try again in a few minutes."


def failure(error: CogencyError) -> str:
    """What somebody who asked for something is told when it did not work."""
    if isinstance(error, StoreUnavailable):
        return UNAVAILABLE
    return sentence_of(error.reason.to_person if isinstance(error, ProviderError) else str(error))


def threads_text(threads: Sequence[Thread], now: datetime, current: str | None = None) -> str:
    """The threads as a numbered list, in the order given; dates in the time zone of `now`."""
    if not threads:
        return "There are no threads yet."
    lines = [
        f"{number}. {literal(shortened(thread.title, TITLE_CHARS))} ({_last(thread, now)}"
        f"{', this one' if thread.conversation == current else ''})"
        for number, thread in enumerate(threads, start=1)
    ]
    return "\n".join(["Your threads, newest first:", "", *lines])


def greeting(model: str, where: str) -> str:
    """Return the start-up lines. `model`: which model answers, and why; `where`: where memory is stored."""
    return f"{model}\n\nMemory: {where}"


def going_on(question: str, conversation: str, threads: Sequence[Thread]) -> str:
    """Which question is answered now that was interrupted, and in which of the threads, as `/threads` counts them."""
    words = literal(shortened(question.strip().partition("\n")[0], TITLE_CHARS))
    for number, thread in enumerate(threads, start=1):
        if thread.conversation == conversation:
            title = literal(shortened(thread.title, TITLE_CHARS))
            return f"Continuing with “{words}” (thread {number} of `/threads`, “{title}”):"
    return f"Continuing with “{words}”:"


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


NO_ANSWER_THERE = "I cannot reply where that message was posted."
IT_IS_TIME = "**It is time:**"
AT_IT = "**I am working on it.** Press Ctrl-C to stop. If you close this window, I will continue in your next chat."
# Why something that somebody had me do at a time is not done any more.
SCHEDULE_PERSON_GONE = "Your account is no longer active."
SCHEDULE_LEFT = "You left that channel or can no longer read it."
SCHEDULE_LEFT_SERVER = "You are no longer a member of that server."
# Acting, for the model, which tells the person

ACT_NOT_FOUND = (
    "no such channel, thread, or message was found in a place where both you and this person are members. A name must "
    "match exactly, so a link is safer. Tell them"
)
ACT_UNKNOWN = "the platform did not say whether this person may do that there, so nothing was done"
ACT_NO_RIGHT = "this person may not do that there themselves, so you may not do it for them. Tell them"
ACT_BOT_LACKS = "you lack the permission {missing} there, so nothing was done. Tell the person"
ACT_ARCHIVED = "that channel or thread is archived or locked, so nothing was done. Tell the person"
ACT_SLOWMODE = (
    "that channel is in slow mode, and Discord does not say whether this person may post there right now, so nothing "
    "was done"
)
ACT_DIRECT = "you can act only in channels: in direct messages, answer the person instead"
ACT_NO_LINK = "that is not a link to a message"
ACT_NO_CHANNEL = "messages cannot be posted there: it is neither a text channel nor a thread"
ACT_THAT_CHANNEL = "that channel"
ACT_NO_SECTION = (
    "{count} sections of that canvas contain exactly these words, so nothing was replaced: give words that appear in "
    "only one section"
)
ACT_NO_LOCATION = "an event outside of voice and stage channels needs a `location`"
ACT_IN_VOICE = "an event in a voice channel has no other location: leave it out"
ACT_EVENT_MOVED = (
    "that event no longer exists where the bot scheduled it, so it was not changed: someone deleted or moved it. Tell "
    "the person"
)
ACT_THE_SERVER = "the server"
ACT_NO_TAGS = "only posts in a forum have a tag, so leave it out"
ACT_UNKNOWN_TAG = "that forum has no tag with this name, or only moderators can use it: ask the person which tag to use"
ACT_NEEDS_TAG = "posts in that forum need a tag: ask the person which one to use"
ACT_NO_THREADS = "a thread cannot be started there: name a text channel, a forum, or a message in a text channel"
ACT_HAS_THREAD = "that message already has a thread: post in it, with the message's link as `where`"
ACT_TITLE_LONG = "a thread's title can have at most {most} characters there: make it shorter"
ACT_TOPIC_LONG = "a topic or description can have at most {most} characters there: make it shorter"
ACT_NO_DESCRIPTION = "channels have no description there, only a topic"
ACT_NO_TOPIC = "only text channels and forums have a topic"
ACT_NO_BOOKMARK = (
    "{count} bookmarks in that channel have exactly this title or link, so nothing was removed: ask the person for the "
    "link of the bookmark that they mean"
)
ACT_INVITE = "you are not in that channel: tell the person to write /invite @{bot} there"
ACT_EMOJI_NAME = "that emoji is not known: use its name on Slack, as in thumbsup"
ACT_EMOJI_CHARACTER = "that emoji is not known: use its character, as in 👍, or the name of one of the server's emoji"
ACT_SCOPE = (
    "the Slack app lacks a scope that this action needs. An operator has to apply the current manifest, which `cogency "
    "slack manifest` prints, and install the app again. Tell the person"
)
ACT_BUSY = "the platform is limiting the bot's requests"
POLL_CLOSED = "{total}. This poll is closed."
POLL_OVER = "This poll is closed, so your vote was not counted."
POLL_GONE = "You can no longer vote in this poll."
ACT_POLL_LONG = (
    "on Discord, a poll's question can have at most {question} characters, and each option at most {option}: make them "
    "shorter"
)
ACT_REFUSED = "the platform refused it ({code})"
ACT_UNSURE = (
    "the platform did not answer, so it is unknown whether this was done: say so, and check before you try it again"
)
SCHEDULE_ARCHIVED = "That channel or thread is archived."
SCHEDULE_PLACE_GONE = "That channel was deleted, or I am no longer in it."
SCHEDULE_WITHOUT_ME = "I am no longer in that channel. Invite me and schedule this again."
EVENT_WITHOUT_ME = "I am not in that channel. Invite me there."
EVENT_NO_TEXT_CHANNEL = "That is not a text or voice channel in a server."
SCHEDULE_WIDER = (
    "More people can read that channel now than when you scheduled this. If all of them may see the result, schedule "
    "it again there."
)
# What stands above files in the person's direct messages, where there is no answer.
FILES_BELOW = "Files from my answer:"

# When a platform refuses

# By Discord's code of a refusal, what somebody can do about it.
DISCORD_REMEDIES = {
    50001: "Give my role the View Channel permission in that channel, or ask me elsewhere.",
    50007: (
        "This person does not accept direct messages from me. They can allow direct messages in their privacy settings "
        "for the server."
    ),
    50013: (
        "Give my role the Send Messages permission there (in threads: Send Messages in Threads), or ask me elsewhere."
    ),
    160002: "Give my role the Read Message History permission in that channel.",
    160005: "The thread is locked. Someone with the Manage Threads permission can unlock it.",
    50035: "This is a bug in Cogency. Please report it with the log lines around this one.",
    40001: (
        "Discord no longer accepts DISCORD_TOKEN. Reset it on the Bot page in the developer portal, set the new one, "
        "and restart the bot."
    ),
    0: "",
}
DISCORD_ANSWERED = "Discord answered {status} (error {code}). {remedy}"
DISCORD_LIMITED = "Discord is limiting requests. The bot can send the next one in {seconds:.0f} s"
DISCORD_UNREACHED = "Discord could not be reached ({why})"
TAGS_REFUSED = "Discord did not change the tags of this post."
THREAD_LOCKED = "I cannot answer in the thread “{name}” because it is locked."
ROLE_LACKS = (
    "I cannot answer in #{channel} because my role lacks {missing} there. Someone with the Manage Roles "
    "permission can change that."
)
SERVER_NOT_SERVED = (
    "I am not set up for this server. Please ask my operator to add its ID, {guild}, to COGENCY_DISCORD_SERVERS."
)
DISCORD_WHO = "Discord did not confirm your membership, so I could not do that. Please try again in a moment."
DISCORD_WHERE = "Discord did not respond, so I could not do that. Please try again in a moment."
TOO_LONG_HERE = (
    "This answer is longer than I can show here, and I cannot send you a direct message. Open a direct message with "
    "me, or ask someone to add me to this server, and ask again."
)
DISCORD_TRY_AGAIN = "Discord did not respond in time, so I did not do anything. Please try again."
DISCORD_KEPT_WAITING = (
    "Discord is not responding right now. Your message is not lost. I will answer it as soon as I can."
)
INSTALL_AGAIN = "Install the app again, and copy its new bot token to the bot's settings."
SLACK_REMEDIES = {
    "is_archived": "That channel is archived. Ask me in another one, or unarchive it.",
    "channel_not_found": "I cannot see that channel. Invite me there, or ask me elsewhere.",
    "not_in_channel": "I am not in that channel. Invite me there and ask again.",
    "cannot_reply_to_message": "That message does not accept replies. Ask me again in the channel.",
    "ekm_access_denied": "Your organization's administrators blocked messages there. Ask me elsewhere.",
    "restricted_action": (
        "A workspace setting does not let me post there. Ask me elsewhere, or ask an admin to allow it."
    ),
    "messages_tab_disabled": "Direct messages are turned off in the app's settings. Please tell my operator.",
}
SLACK_REMEDY = "Please ask me somewhere else. My operator can find the reason in the log."
SLACK_LIMITED = "Slack is limiting {method}. The bot can call it again in {seconds:g} s."
SLACK_REFUSED = "Slack refused {method}: {code}."
SLACK_UNREACHABLE = "Slack could not be reached ({method}: {why})."
# Why a platform could not be reached.
NO_RESPONSE_IN_TIME = "no response in time"
NAME_UNKNOWN = "the host name {host} could not be resolved"
CONNECTION_REFUSED = "the connection was refused"
CONNECTION_CLOSED = "the connection was closed without a response"
CONNECTION_FAILED = "the connection failed"
NO_ROUTE = "there is no route to the host"
TLS_FAILED = "the TLS connection failed"
UNTRUSTED_CERTIFICATE = "its certificate is not trusted here: {problem}"
PROXY_AWAY = "the proxy {address} could not be reached"
PROXY_REFUSED = "the proxy answered with status {status}"
ANSWER_UNREADABLE = "the response could not be read"
SLACK_FAILED = "Slack returned an error ({method}: {why})."
SLACK_WHO = "Slack did not confirm who you are, so I could not do that. Please try again in a moment. ({why})"
SLACK_GUESTS_UNKNOWN = "Slack has not recently reported which members are guests."
SLACK_READERS_UNKNOWN = "Slack did not report in time who can read a channel."
SLACK_TOO_MANY_PEOPLE = "The workspace has more members than the bot can load."
SLACK_GROUPS_UNREAD = "Some user groups could not be read."
# Also before it is known what takes so long.
SLACK_KEPT_WAITING = "This is taking longer than usual. Your message is not lost. I will answer it as soon as I can."

# The terminal

# A terminal has no buttons.
WRITE_CONTINUE = "*Write “continue” to go on.*"
WRITE_UNDO = "*To undo this, write `{written}`.*"
PLAIN_TERMINAL = (
    "This terminal does not stream or format answers, because the terminal type in TERM does not support it."
)
TERMINAL_HINT = "Type /help for commands. Press Tab to complete a command, or Ctrl-D to leave."
HOW_TO_LEAVE = "To leave, press Ctrl-D or type /quit."
EXPORT_TO_FILE = "The export is too long for the screen. Write `/memory export` with the name of a new file."
NO_QUESTION = "There is no question. Write one after `cogency ask`, or send it to standard input."
COMMAND_IN_CHAT = "That command works only in the chat. Use it in `cogency chat`, or run `echo {line} | cogency chat`."
QUESTION_TOO_LONG = "The question is too long. The limit is {limit:,} characters."
FILE_EXISTS = "{name} already exists, so nothing was written. Choose another name."
FILE_UNWRITABLE = "{name} could not be written ({reason}). Choose another file or folder."
FILE_SAVED = "File: `{path}`"
FILE_WRITTEN = "Written to {name}."
NEW_THREAD = "Started a new thread."

# The page to try it

PLAY_WORKSPACE = "Try-out"
PLAY_UNREADABLE = "The page sent an invalid request. Please reload it."
PLAY_FAILED = "That did not work. Please try again. For the reason, see the log of `cogency play`."
PLAY_TOO_LONG = "Your text has {chars:,} characters. The limit is {limit:,}."
PLAY_TOO_MANY_FILES = "You can attach up to {limit} files to a message."
PLAY_FILES_TOO_LARGE = "The files in a message can be up to {limit} MB in total."
PLAY_COMMAND_FILES = "Commands do not accept files here. Send the files with a question."
PLAY_EMPTY = "There is nothing to send."
PLAY_NOT_THERE = "You cannot see that place or message, or it does not exist."
PLAY_NOT_YOURS = "Only the author can edit or delete a message."
PLAY_POSTED_FOR = "posted for {name}"
# What a place is, above its messages: who reads it, and where what is said in it may be used.
PLAY_PUBLIC = (
    "**Everyone** in this workspace can read this channel. The bot can use what is said here everywhere in the "
    "workspace."
)
PLAY_PRIVATE = (
    "**Only {readers}** can read this channel. The bot uses what is said here only in this channel and in direct "
    "messages with {readers}."
)
PLAY_DIRECT = "**Only {person}** can read this. The bot never shows it to {others}."

# After a button below a reply

NOTED = "Thank you. To change your rating, press the other button."
NO_SUCH_REPLY = "I no longer have a record of this reply, so I cannot do that."
ONLY_THIS_PAGE = "Forgotten. I can remove only this part of the answer. Please dismiss the other messages yourself."
ASKED_ALREADY = "I already received this question. The answer is below or on its way."


# What stands in its place once that is taken back.
UNDONE = "*Undone. I no longer remember this.*"
UNSCHEDULED = "*Canceled. I will not do this.*"
KEPT_ON = "*Kept for another six months.*"
ENDED_NOW = "*Ended. It will not run again.*"


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


def kept_on(text: str) -> str:
    """A notice whose question was answered: it goes on."""
    return _without_question(text, KEPT_ON)


def ended_now(text: str) -> str:
    """A notice whose question was answered: it ends."""
    return _without_question(text, ENDED_NOW)


def _without_question(text: str, answer: str) -> str:
    return "\n".join(answer if line.startswith(LAPSES) and line.endswith("*") else line for line in text.split("\n"))


# How a page's text changes with a button that changes what its line reports.
AFTER_PRESS: Final[Mapping[ReplyAction, Callable[[str], str]]] = {
    ReplyAction.UNDO: undone,
    ReplyAction.CANCEL: unscheduled,
    ReplyAction.KEEP: kept_on,
    ReplyAction.END: ended_now,
}


def _is_scheduled(line: str) -> bool:
    return line.startswith(SCHEDULED) and line.endswith("*")


STOP_BY_KEYS = "Press Ctrl-C to stop."
AMBIENT_MUTED = (
    "For the next 24 hours, I will not answer open questions in this channel. To turn off answers without a mention "
    "for good, use `/channel ambient off`."
)


# The pages by which a workspace installs the app.

INSTALL_ASKS = (
    "<h1>Add Cogency to your workspace</h1><p>Next, Slack shows what Cogency can read and do in your workspace and "
    "asks for your approval. In some workspaces, an admin must approve first.</p><p>Continue only if you came here to "
    "install "
    'it.</p><form method="post"><input type="hidden" name="browser" value="{browser}"><button>Continue to '
    "Slack</button></form>"
)
INSTALL_CLOSED = (
    "<h1>Cogency cannot be installed here right now</h1><p>The operator has not listed any workspaces that can "
    "install it. Ask the operator to add yours.</p>"
)
INSTALL_DONE = (
    "<h1>Cogency is installed in {name}</h1><p>It will be ready in a few seconds. Invite it to a channel and mention "
    'it, or send it a direct message.</p><p><a href="{link}">Open Slack</a></p>'
)
INSTALL_DENIED = (
    "<h1>Nothing was installed</h1><p>You did not approve the installation, so Cogency has no access. If that was a "
    'mistake, <a href="{address}">start again</a>.</p>'
)
INSTALL_NOT_DONE = (
    "<h1>Nothing was installed</h1><p>Slack did not complete the installation. If an admin must approve first, wait "
    'for the approval, and then <a href="{address}">start again</a>.</p>'
)
INSTALL_FAILED = '<h1>Nothing was installed</h1><p>{why}</p><p><a href="{address}">Start again</a></p>'
INSTALL_USED = (
    "<h1>This page has expired</h1><p>It works only once. If Cogency does not answer in your workspace, <a "
    'href="{address}">start again</a>.</p>'
)
INSTALL_HASTY = (
    "<h1>Please try again in a minute</h1><p>Many workspaces are installing Cogency right now. Nothing was "
    'installed. <a href="{address}">Start again</a></p>'
)
INSTALL_OTHER_BROWSER = (
    "<h1>Nothing was installed</h1><p>The installation was started in another browser, or more than ten minutes ago. "
    'Allow cookies and <a href="{address}">start again</a>.</p>'
)
INSTALL_NOT_LISTED = (
    "<h1>{name} cannot install Cogency</h1><p>Nothing was stored. The operator has not listed your workspace. Send its "
    "ID, <code>{team}</code>, to the operator.</p>"
)
INSTALL_ORGANIZATION = (
    "<h1>Nothing was installed</h1><p>You can install Cogency in one workspace at a time, but not in a whole "
    "organization. "
    '<a href="{address}">Start again</a> and choose a workspace on Slack\'s page.</p>'
)
INSTALL_UNREADABLE = "Slack sent an unexpected answer. Please try again."
INSTALL_REFUSED = "Slack refused the installation ({code})."
SLACK_SILENT = "Slack could not be reached. Please try again in a minute."
INSTALLATION_SEALED = "its tokens cannot be decrypted with COGENCY_ACCOUNT_KEY. Add the old key after the new one."
INSTALLED_NOWHERE = "no workspace has installed the app yet. Install it at {address}."
REFRESH_LOST = (
    "Slack no longer accepts this workspace's refresh token. The bot serves the workspace until the current token "
    "expires. Someone in the workspace has to install the app again at {address}."
)


PLAY_PORT_TAKEN = "Port {port} is already in use. Stop the program that uses it, or choose another port with --port."
PLAY_NO_FILE = "{file} cannot store messages. Choose another file with --keep."
CLOCK_REFUSED = ", so the bot refuses every request from Slack"
REACH_UNDER = (
    "up to {users:,} users can see the bot{part}. With {limit:,} or more users, Discord reviews the message content "
    "intent"
)
REACH_GRANTED = (
    "up to {users:,} users can see the bot{part}, and Discord has granted the message content intent after a review"
)
REACH_PART = " in its first {servers} servers"
REACH_RENEW = "Apply again when the developer portal asks you to, once a year."
REACH_OVER = (
    "up to {users:,} users can see the bot{part}. With {limit:,} or more users, Discord grants the message content "
    "intent only after a review"
)
REACH_APPLY = (
    "Apply in the developer portal, or set COGENCY_DISCORD_MESSAGE_CONTENT=off. (Users in two servers count twice "
    "here.) https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review"
)
EMPTY_ENDPOINT = "Clear “Interactions Endpoint URL” on the “General Information” page {portal}."
SWITCH_CODE_GRANT_OFF = "Turn off “Requires OAuth2 Code Grant” on the “Bot” page {portal}."
SWITCH_PUBLIC_OFF = (
    "On the “Installation” page {portal}, set “Install Link” to None. Then turn off “Public Bot” on the “Bot” page."
)
SWITCH_CONTENT_ON = (
    "Turn on “Message Content Intent” on the “Bot” page {portal}, or set COGENCY_DISCORD_MESSAGE_CONTENT=off."
)
ALLOW_GUILD_INSTALL = "Allow “Guild Install” on the “Installation” page {portal}."
ALLOW_USER_INSTALL = (
    "To let people use the commands everywhere, allow “User Install” on the “Installation” page {portal}."
)
OPEN_LINK = "Open {link}"
GIVE_RIGHTS = "Grant these permissions to the bot's role in the server's settings, or open {link}"
SERVE_SERVER = (
    "To serve this server, add {number} to COGENCY_DISCORD_SERVERS. If the server is not yours, set "
    "COGENCY_DISCORD_OTHER_SERVERS=leave."
)
DO_NOT_RESTART = "Do not restart the bot repeatedly before then."
SHARDS_RECOMMENDED = "Discord recommends {recommended} connections; COGENCY_DISCORD_SHARDS is set to {chosen}"
SHARDS_UNNAMED = "COGENCY_DISCORD_SERVERS is not set, so each process knows only its own servers"
NAME_SERVERS = (
    "If you run several processes, set COGENCY_DISCORD_SERVERS to the servers whose members can send the bot direct "
    "messages."
)
SHARDS_AUTO = "Set COGENCY_DISCORD_SHARDS=auto."
TRY_LATER = "Try again later."
TAKE_OVER_MANIFEST = (
    "Run `cogency slack manifest` (add `--http URL` if the bot gets events over HTTP, and `--app NAME` if it serves "
    'several apps). Paste the result under "App Manifest" on the app\'s page, and install the app again.'
)
TABLE_CAPTION = "Table: {columns}"
NO_SESSIONS = (
    "Slack does not support agent sessions for this app ({code}), so it does not mark threads where the bot is waiting "
    "for an approval or an answer"
)
SESSIONS_NEED = "Agent sessions need the agent view in the app's manifest, and a Slack plan that includes it."
BLOCKS_ACCEPTED = "Slack accepts every kind of block that replies use"
BLOCKS_REFUSED = "Slack does not accept some blocks that replies use: {kinds}"
SOME_BLOCKS_REFUSED = "Slack does not accept some blocks that replies use, and did not say which"
SIMPLER_BLOCKS = (
    "You do not need to do anything: replies use Markdown tables, pictures of charts, and ordinary buttons instead."
)
BLOCKS_UNCHECKED = "Slack did not check the blocks that replies use ({why})"
SOCKET_MODE_ON = (
    'Turn on "Socket Mode" on the app\'s page, and create an app-level token with the connections:write scope under '
    "Basic Information."
)
INVITE_BOT = (
    "Use /invite to invite the bot to the channels where people should mention it. Direct messages work without an "
    "invitation."
)
CHECK_GROUPS = (
    "Check the ID in COGENCY_SLACK_MANAGERS, COGENCY_ALLOW, COGENCY_DENY, and COGENCY_MODEL_ACCESS, and under "
    "`managers` in the COGENCY_SLACK_APPS file."
)
COMPARE_CONFIG = (
    "To compare the app with its manifest, set SLACK_CONFIG_TOKEN to a token from https://api.slack.com/apps."
)
RENEW_CONFIG = "Create a new SLACK_CONFIG_TOKEN at https://api.slack.com/apps. Each token lasts twelve hours."
HTTP_OR_SOCKETS = (
    'To get events over HTTP, run `cogency slack manifest --http URL` and paste the result under "App Manifest" on the '
    "app's page. To use Socket Mode, remove COGENCY_SLACK_HTTP and set SLACK_APP_TOKEN."
)
COPY_SLACK_AGAIN = "Copy it again from the app's OAuth & Permissions page. The app must be installed in the workspace."
HTTP_MANIFEST = (
    "Run `cogency slack manifest --http URL` (add `--app NAME` if the bot serves several apps), and paste the result "
    'under "App Manifest" on the app\'s page.'
)

# Discord

APPLICATION_UNKNOWN = "Discord did not say which application the token belongs to. Try again later."
SERVERS_UNKNOWN = "Discord did not list the bot's servers. Try again later."
COPY_DISCORD_AGAIN = "Reset DISCORD_TOKEN on the Bot page in the developer portal, and set the new one."
DISCORD_REFUSES_LOGIN = "Discord does not accept the token"
DISCORD_AWAY = "Discord cannot be reached"
WITHOUT_CONTENT = (
    "Discord: the Message Content Intent is off, so in threads the bot sees only messages that mention it. Turn on the "
    "intent on the Bot page in the developer portal, and restart the bot."
)
INTENTS_REFUSED = (
    "Discord refused even the intents that do not need approval. Check the application in the developer portal."
)
LOGIN_LIMITED = "Discord is limiting logins. The bot can log in again in {seconds:.0f} s."
LOGIN_FAILED = (
    "Discord answered the login with status {status}. Check https://discordstatus.com and DISCORD_API_BASE_URL."
)
DISCORD_UNREACHABLE = (
    "Discord could not be reached at {address} ({why}). Check the network, the proxy, and DISCORD_API_BASE_URL."
)
GATEWAY_UNREACHABLE = "Discord's gateway could not be reached at {address}. Check the network and DISCORD_GATEWAY_URL."
DISCORD_ENDED = "Discord closed the connection without giving a reason."
TOO_MANY_SERVERS = "The bot is in too many servers for its number of connections. Set COGENCY_DISCORD_SHARDS=auto."
GATEWAY_REFUSED = (
    "Discord's gateway at {address} does not accept this bot (code {code}). Look up the code in Discord's "
    "documentation."
)
GATEWAY_ENDED = "Discord's gateway at {address} closed the connection (code {code})."
DISCORD_LOGIN_REFUSED = (
    "Discord does not accept DISCORD_TOKEN. Reset it on the Bot page in the developer portal, and copy the new one."
)
SERVERS_NOT_SERVED = (
    "Discord: the bot is in servers that COGENCY_DISCORD_SERVERS does not list, so {done}: {named}. To serve one, add "
    "its ID. To keep others from adding the bot, turn off “Public Bot” in the developer portal."
)
LEAVES_THEM = "it leaves them"
ANSWERS_NOBODY = "it answers nobody there"
GATEWAY_LOST = "Discord's gateway closed the connection. The bot reconnects automatically."
FOR_SERVER = "For a server: {link}"
FOR_YOURSELF = "For yourself: {link}"

# Slack

HTTPS_ADDRESS = "Slack needs an address that starts with https:// and does not contain ? or #"
SOCKET_UNREACHABLE = "Slack's socket could not be reached."
SOCKETS_CLOSED = "Slack's sockets are closed, and no new socket is open yet."
SCOPES_LACKING = (
    "{setting} lacks scopes ({names}). Add them on the app's OAuth & Permissions page, and install the app again."
)
SLACK_WHOLE_ORGANIZATION = (
    "{setting} belongs to an app that is installed in a whole organization, so it gives access to all of its "
    "workspaces. Install the app in a single workspace, and set {setting} to that workspace's bot token. To serve "
    "several workspaces, see “Several workspaces” in docs/slack.md."
)
SLACK_APP_NOT_SERVED = (
    "a request for the app %s was not accepted. Add its app_id to the COGENCY_SLACK_APPS file, or end the app's "
    "request URLs with %s/NAME, where NAME is the app's name in that file"
)
SLACK_APP_REVOKED = (
    "the app was uninstalled, or its token was revoked. The bot erases the workspace's data after the number of days "
    "in COGENCY_REMOVAL_GRACE_DAYS. To keep the data, install the app again, set its new token, and restart the bot."
)
SLACK_SIGN_IN_DOUBTED = "Slack briefly refused the bot token, and now accepts it again."
SLACK_SIGN_IN_CHECKED = (
    "%s: Slack refuses the bot token. The bot checks the token for a minute before treating it as revoked."
)
SLACK_APP_BROKE = "The app stopped because of a bug. The log has the details. Restart the bot and report the bug."
SLACK_LOGIN_REFUSED = "Slack does not accept {setting} ({code}). Copy it again from the app's page."


STILL_WAITS = "This request expires 24 hours after it was made. To see it again, use `/tools`."
DECIDE_BUTTON = "Approve or deny…"
SLACK_AWAY_NOW = "Slack cannot be reached"
SLACK_AWAY = "Slack could not be reached at {address} ({why}). Check the network, the proxy, and SLACK_API_BASE_URL."
SLACK_BROKEN = "Slack at {address} returned an error ({why}). Check https://slack-status.com and SLACK_API_BASE_URL."
