"""What people read about requests for a human."""

from agent.handoffs import HandoffOutcome, HandoffState

# For the model

TOOL = (
    "Offer to ask a human here, if you cannot solve the person's problem or they want a human. They get a "
    "button below your answer; nothing is sent before they press it."
)
TOOL_REASON = "Why a human is needed, in a few words."
OFFERED = "A button *Ask a human* will be below your answer. Tell the person; nobody has been asked yet."
OFFERED_BEFORE = "You have already offered that."
ASKED_ALREADY = "People have already been asked, and nobody has taken over yet. Tell the person that."
TAKEN_ALREADY = "{name} has taken over this conversation. Tell the person that."
NOBODY_HERE = "no people are set up here to take over; tell the person that you cannot reach anyone"
NOBODY_WAITS = "nobody is waiting for this answer, so nobody can ask a human"

# Below an answer

SUGGESTION = "A person may be able to help with this: press *Ask a human*."

# Asking

BUTTON = "Ask"
SHARE_BUTTON = "Share and ask"
ALONE_BUTTON = "Ask without sharing"
NOTE_BUTTON = "Add a message…"
KEEP_BUTTON = "Cancel"
WINDOW = "Ask a human"
SEND = "Ask"
NOTE = "Your message"
NOTE_HINT = "What do you need? The people you ask see this with your request."
SHARE = "Share"
SHARE_HINT = "Let them read the question and the answer that I showed you"
SHARE_FLAG = "In direct messages, also let the people you ask read the question and the answer"
PREVIEW = "I will ask {people} to take over this conversation. They get a link to it, and this summary:"
PREVIEW_PRIVATE = (
    "I will ask {people} for help. They cannot read this conversation. If you choose *Share and ask*, they get your "
    "name and exactly this:"
)
PREVIEW_PRIVATE_HOW = "If you choose *Ask without sharing*, they get only your name and a request to write to you."
PREVIEW_CHANGED = (
    "The conversation or the people to ask have changed, so nothing was sent. This is the current preview."
)
SHARE_SHOWN_FIRST = (
    "Nothing has been sent yet. First check what the people you ask would get. To add your message, press *Add a "
    "message…*."
)
ASKED = "I asked {people}. I will write here when one of them takes over. Until then, I keep answering."
ASKED_NOTE = "They got only your name and your message."
ASKED_ALONE = "They got only your name."
CANCEL_BUTTON = "Cancel request"
KEPT = "Nobody was asked."
TOO_LONG = "Please use at most {most:,} characters for your message."
NO_ANSWER = "I have no answer here to ask a human about. Ask me first, or press *Ask a human* below an answer."
NOT_THIS_ONE = "You cannot ask a human about that answer. It may have been deleted."
NOBODY = (
    "Nobody is set up to take over here. The channel's managers can choose people with `/channel human`, and the bot's "
    "operators with `COGENCY_HANDOFF_PEOPLE`."
)
NOBODY_PRIVATE = (
    "Nobody is set up to take over here. The bot's operators can choose people with `COGENCY_HANDOFF_PEOPLE`."
)
NOBODY_READS = (
    "None of the people who could take over can be asked right now. They may not be able to read this conversation, or "
    "they may have left."
)
UNKNOWN = "I could not find out who can take over. Try again in a minute."
TOO_MANY = "You have asked for a human {most} times in the last 24 hours. Please try again later."
OPEN_ALREADY = "I already asked people to take over this conversation ({ago}). Nobody has taken over yet."
TAKEN_ALREADY_HERE = "{name} has taken over this conversation."
AGO, AGO_NOW = "{time} ago", "just now"

# What people get

REQUEST = "**{asker} asks for a human.**"
REQUEST_PLACE = "[Open the conversation]({link})"
REQUEST_PRIVATE = "They asked me in direct messages, which you cannot read. Write to them: {mention}"
REQUEST_NOTE = "Their message: {note}"
REQUEST_CHANGED = "They also agreed to share the question and the answer, but those have changed since then."
QUESTION = "> **Question**: {text}"
ANSWER = "> **My answer**: {text}"
TRIED = "> **Tools that I used**: {tools}"
SUMMARY_LINES = {
    "goal": "> **Goal**: {text}",
    "progress": "> **So far**: {text}",
    "key_findings": "> **Findings**: {text}",
    "next_focus": "> **Open**: {text}",
}
REQUEST_HOW = "Only one of you can take over. After that, I answer there only if someone mentions me."
REQUEST_HOW_PRIVATE = "Only one of you needs to take over."
TAKE_BUTTON = "Take over"
REMINDER = "Reminder: {asker} is still waiting for a human, and nobody has taken over yet."

# Taking and handing back

TAKEN_BY_YOU = "You have taken over. I now answer in that conversation only if someone mentions me."
TAKEN_BY_YOU_PRIVATE = "You have taken over. I told {asker} that you will write to them: {mention}"
BACK_HOW = "When you are done, hand the conversation back to me."
BACK_BUTTON = "Hand back"
NOT_YOUR_OWN = "You asked for a human yourself, so someone else has to take over."
NOT_FOR_YOU = "You are not one of the people who can take over there, or you cannot read that conversation."
NOT_CHECKED = "I could not check whether you can take over. Try again in a minute."
NOT_YOURS = (
    "You cannot hand this conversation back. {name} can do it, and so can the person who asked, the channel's "
    "managers, and operators."
)
NOT_YOURS_TO_CANCEL = "Only the person who asked can cancel this request."
NONE_HERE = "Nobody has taken over a conversation here."
NO_REQUEST = "There is no open request here."
HANDED_BACK = "Thank you. You handed the conversation back to me."
CANCELED = "Your request is canceled."
TAKE_FAILED = {
    HandoffOutcome.TAKEN_BEFORE: "{name} has already taken over.",
    HandoffOutcome.OVER: "This request is over. It was canceled, closed, handed back, or deleted.",
}
SOMEBODY = "Someone"

# Where people were written, in place of the request

OUTCOMES = {
    HandoffState.TAKEN: "{taker} has taken over {asker}'s conversation.",
    HandoffState.RETURNED: "{taker} took over {asker}'s conversation, and it was handed back to me.",
    HandoffState.WITHDRAWN: "{asker} canceled the request for a human.",
    HandoffState.EXPIRED: "{asker}'s request for a human is closed, because nobody took over.",
}
OUTCOME_YOURS = "You have taken over {asker}'s conversation."

# Where it was asked

NOTICE_TAKEN = (
    "{taker} has taken over. I answer here only if someone mentions me, until the conversation is handed back to me."
)
NOTICE_TAKEN_PRIVATE = "{taker} has taken over your request, and will write to you."
NOTICE_REMINDED = "Nobody has taken over yet. I reminded the people I asked."
NOTICE_RETURNED = "This conversation was handed back to me. Mention me to ask me something."
NOTICE_RETURNED_PRIVATE = "The request that {taker} took over is closed."
NOTICE_EXPIRED = "Nobody has taken over, so I closed the request for a human. You can ask again."
NOTICE_REOPENED = "{taker} can no longer take care of this, so I asked the other people again."
NOTICE_LEFT = "{taker} can no longer take care of this, and there is nobody else to ask."

# The list

LIST_HEAD = "**Requests for a human**"
LIST_EMPTY = "There are no open requests that you made or can take over."
LIST_ITEM = "**#{number}** {asker}, {ago}: {state}"
LIST_QUESTION = "> {text}"
STATES = {HandoffState.OPEN: "nobody has taken over yet", HandoffState.TAKEN: "{taker} has taken over"}
USAGE = (
    "`/human` shows who can take over, so that you can ask them. `/human back` hands a conversation back, and `/human "
    "list` shows open requests."
)
NOT_HERE = (
    "There is nobody else here to ask. In Slack and on Discord, `/human` can ask people to take over a conversation."
)
