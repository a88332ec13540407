"""What people read about ratings of answers."""

from typing import assert_never

from agent.feedback import CountedBy, FeedbackReason, FeedbackState

REASONS = {
    FeedbackReason.WRONG: "It is wrong",
    FeedbackReason.OUTDATED: "It is out of date",
    FeedbackReason.NOT_ASKED: "It does not answer my question",
    FeedbackReason.TOO_LONG: "It is too long",
    FeedbackReason.PRIVATE: "It contains something private",
    FeedbackReason.OTHER: "Something else",
}
NO_REASON = "No reason given"
STATES = {FeedbackState.NEW: "new", FeedbackState.IN_WORK: "in progress", FeedbackState.FIXED: "fixed"}

# The window behind 👎, and `/feedback` in its place

WINDOW = "What was wrong?"
WINDOW_BUTTON = "Say what was wrong…"
SEND = "Send"
REASON = "Reason"
COMMENT = "What was wrong"
COMMENT_HINT = "In a channel, its managers can read this, and so can operators who are in the channel."
CORRECTION = "What the answer should have been"
SHARE = "Operators"
SHARE_HINT = "Share the question, the answer, and your words with the bot's operators"
SHARE_FLAG = SHARE_HINT
CANCEL = "Cancel"
NOT_CHANGED = "Your rating stays as it is."
HOW = (
    "Rate an answer with 👍 or 👎 below it. To say what was wrong with my last answer to you here, use `/feedback "
    "REASON: what was wrong | what it should have been`. The reasons are {reasons}. With `/feedback REASON share: …`, "
    "the bot's operators can read the question, the answer, and your words."
)
ASK_WHY = "Thank you. What was wrong with the answer?"
THANKS = "Thank you."
THANKS_GOOD = "Thank you. I recorded your 👍 for my last answer to you here."
SEEN_SHARED = "The bot's operators can read the question, the answer, and your words."
SEEN_BY_MANAGERS_TOO = "The managers of this channel can read them, too."
SEEN_IN_CHANNEL = (
    "The managers of this channel, and operators who are in it, can read your words. Other operators see only how "
    "often each reason was given."
)
SEEN_COUNT = "I do not show your words to anyone else. The bot's operators see only how often each reason was given."
NO_ANSWER = "I have no answer to you here that you could rate. Press 👎 below an answer."
NOT_RATED = "Rate that answer with 👎 first. If you did, the answer may have been deleted."
UNCLEAR = "I did not understand that. {how}"
TOO_LONG = "Please use at most {most:,} characters for each of the two texts."

# The list of managers and operators

NOT_FOR_YOU = (
    "Only operators and the managers of a channel can see its feedback. Use this command in a channel that you manage."
)
LIST_BUTTON = "Show feedback"
LIST_HERE = "**Feedback on my answers in this channel**"
LIST_SHARED = "**Feedback that people shared with you**"
LIST_EMPTY = "There is no feedback to show."
LIST_COUNTS = "In the last {days} days: {good:,} 👍, {bad:,} 👎."
ITEM = "**#{id}** {reason}, {day}, {state}{owner}"
BY_OWNER = " ({name})"
ITEM_PLACE = "In {place}, rated by {person}"
DIRECT_MESSAGES = "direct messages"
ITEM_QUESTION = "> **Question**: {text}"
ITEM_ANSWER = "> **Answer**: {text}"
ITEM_COMMENT = "What was wrong: {text}"
ITEM_CORRECTION = "What it should have been: {text}"
ITEM_LINK = "[Open the question]({link})"
NOT_STORED = "not stored"
SOMEBODY = "someone"
TAKE, FIX, REOPEN = "Take", "Mark as fixed", "Reopen"
CHANGED = "#{id} is now {state}."
NOT_THERE = "There is no feedback #{id} here."
SHOW = "Show"
FILTERS = {
    "open": "New and in progress",
    "new": "New",
    "in-work": "In progress",
    "fixed": "Fixed",
    "all": "All",
}
LIST_USAGE = (
    "To filter, use `/feedback list open`, `list fixed`, or `list wrong`. To change the state, use `/feedback take N`, "
    "`fixed N`, or `reopen N`."
)
PAGE_OF = "Page {page} of {pages}. `/feedback list page {another}` shows another page."

# Counts, on the operators' page and in a terminal

COUNTED_BY = {
    CountedBy.MODEL: "By model",
    CountedBy.PLACE: "By channel",
    CountedBy.TOOL: "By tool",
    CountedBy.REASON: "By reason",
}
COUNT_LINE = "  {key}: {good:,} good, {bad:,} bad"
NO_COUNTS = "none"


def count_name(by: CountedBy, key: str) -> str:
    """Return how the key of a count is shown; a place by its ID."""
    match by:
        case CountedBy.PLACE:
            return key or DIRECT_MESSAGES
        case CountedBy.REASON:
            return REASONS[FeedbackReason(key)] if key else NO_REASON
        case CountedBy.MODEL | CountedBy.TOOL:
            return key
        case _:
            assert_never(by)
