"""The texts of `/channel`."""

# `/channel`

SWITCH_ON = "Switch {what} on"
SWITCH_OFF = "Switch {what} off"
A_DAY = "On: {many} a day at most"


PLACE_HEADING = "**How I answer in this channel**"
WHO_USUAL = "everybody who may ask me at all"
MODEL_USUAL = "the usual one"
AMBIENT_USUAL = "off"
FULL_MEMBERS = "full members"
AMBIENT_ON = "on, {many} a day at most"
PLACE_USAGE = (
    "Write `/channel` and {rules} with what is to hold; `history` shows the changes, `undo` takes the last one back."
)
NOT_YOUR_CHANNEL = "Only who manages this channel changes that."
NO_CHANNEL_HERE = "This is no channel: please use `/channel` in the one that is meant."
WHO_UNCLEAR = "Please write `who everyone`, `who members`, or mention people and roles behind `who`."
GROUP_UNKNOWN = "I know only user groups that my operator's settings name, so nothing was changed."
INSTRUCTIONS_TOO_LONG = "Instructions may have {most} characters at most, so nothing was changed."
ONE_MODEL = "There is only one model here: my operator names more with `COGENCY_ALLOWED_MODELS`."
NOT_AMONG_MODELS = "That model may not answer here: choose one of {names}, or change `models` first."
NO_AMBIENT = "My operator has switched off answers without a mention (`COGENCY_AMBIENT_PER_DAY`)."
AMBIENT_MOST = "My operator allows {most} a day at most, so nothing was changed."
NO_JUDGE = "Only a rehearsal answers here, which cannot tell what to answer: so it is not switched on."
SO_ALREADY = "It is so already."
CHOSEN_FOR_CHANNEL = "Changed; it counts from the next message on. `/channel undo` takes it back."
NO_SUCH_CHANGE = "There is no such change; `/channel history` shows them."
PLACE_HISTORY = "This was changed for this channel, the latest last:"
NO_CHANGES = "Nothing was changed for this channel yet."
PLACE_CHANGE = "- **{number}** {rule}: {after} (before: {before}; {day} by {by})"
BY_ADMIN = "an administrator"
BY_MANAGER = "who manages it"
SURE_TO_LEARN = "I will say so in this channel first, to everybody."
SAID_AMBIENT_ON = (
    "{who} has switched on that I read what full members ask in this channel, and now and then answer a question that "
    "nobody put to me: {many} a day at most. What I do not answer I do not keep. Say “stop” below such an answer, or "
    "give it a 👎, and I am silent until tomorrow; who manages the channel ends this with `/channel ambient off`."
)
SAID_AMBIENT_OFF = "{who} has switched off that I answer here without a mention."
SAID_LEARNING_ON = (
    "{who} has switched on that I learn from what people tell me in this channel. `/memory` shows what I know about "
    "you, and `/memory pause` ends it for you."
)
AMBIENT_NOTICE = (
    "*Nobody asked me: who manages this channel wants me to help here. “stop”, a 👎 or a 🗑 keeps me silent until "
    "tomorrow; `/channel ambient off` ends it.*"
)
