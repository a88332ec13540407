"""What people read in commands, their menus, windows and help, on every platform. Pure."""

from collections.abc import Mapping

# Help


def help_text(commands: Mapping[str, str]) -> str:
    """The commands of one platform, as written there, each with what it does."""
    return "\n".join(f"- `{command}`: {what}" for command, what in commands.items())


# Buttons below a reply

UNDO_BUTTON = "Undo “Remembered”"
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
FORGET_THREAD = "Forget this thread"
FORGET_THREAD_WHAT = "Erase what you wrote to the bot in this thread, and what came of it."
MEMORY_SHORTCUT = "What you remember"
MEMORY_SHORTCUT_WHAT = "See what the bot remembers about you; nobody else does."
