"""The texts of `/channel`."""

# `/channel`

SWITCH_ON = "Turn on {what}"
SWITCH_OFF = "Turn off {what}"
A_DAY = "On: up to {many} a day"


PLACE_HEADING = "**How I answer in this channel**"
WHO_USUAL = "everyone with access to me"
MODEL_USUAL = "the default"
AMBIENT_USUAL = "off"
FULL_MEMBERS = "full members"
AMBIENT_ON = "on, up to {many} a day"
PLACE_USAGE = (
    "After `/channel`, write one of these words and a value: {rules}. `history` lists the changes, and `undo` reverts "
    "the latest one."
)
NOT_YOUR_CHANNEL = "Only channel managers and operators can change that."
NO_CHANNEL_HERE = "This is not a channel. Use `/channel` in the channel that you want to change."
WHO_UNCLEAR = "Write `who everyone` or `who members`, or mention people and roles after `who`."
GROUP_UNKNOWN = "Nothing changed. You can only choose user groups that are in my operator's settings."
INSTRUCTIONS_TOO_LONG = "Nothing changed, because the instructions have more than {most} characters."
ONE_MODEL = "Only one model is available here. My operator can add more with `COGENCY_ALLOWED_MODELS`."
NOT_AMONG_MODELS = "That model is not allowed here. Choose one of {names}, or change `models` first."
HUMAN_USUAL = "the people that my operator chose"
HUMAN_MANAGERS = "the channel's managers"
HUMAN_OFF = "nobody"
HUMAN_UNCLEAR = "Mention people or roles after `human`, or write `human managers` or `human off`."
NO_AMBIENT = "My operator turned off answers without a mention (`COGENCY_AMBIENT_PER_DAY`)."
AMBIENT_MOST = "Nothing changed, because my operator allows at most {most} answers without a mention a day."
ACT_USUAL = "my operator's setting"
ACT_ON = "on, limited to the permissions of the person who asks"
ACT_OFF = "off"
NO_ACTING = "My operator turned off posts and reactions for people (`COGENCY_ACT`)."
WEBHOOKS_OFF = "not sent"
WEBHOOKS_ON = "sent to the operator's webhooks"
NO_WEBHOOKS = "My operator has not set up webhooks that send questions and answers (`COGENCY_OUTGOING_WEBHOOKS`)."
SAID_WEBHOOKS_ON = (
    "{who} turned on sending this channel's questions and answers to my operator's other programs. A manager can stop "
    "this with `/channel webhooks off`."
)
SAID_WEBHOOKS_OFF = "{who} turned off sending this channel's questions and answers to my operator's other programs."
SOLVED_USUAL = "a tag named “Solved”, if the forum has one"
SOLVED_OFF = "off"
NO_TAGS = "Nothing changed, because this channel is not a forum with tags."
TAG_UNKNOWN = "Nothing changed, because this forum has no such tag. Choose one of {names}."
NO_JUDGE = "This stays off, because the rehearsal model is the only model here and cannot decide what to answer."
SO_ALREADY = "Nothing changed, because that is already set."
CHOSEN_FOR_CHANNEL = "Changed. This applies starting with the next message. To revert it, use `/channel undo`."
NO_SUCH_CHANGE = "There is no such change. To see all changes, use `/channel history`."
PLACE_HISTORY = "Changes to this channel, oldest first:"
NO_CHANGES = "Nothing has been changed in this channel yet."
PLACE_CHANGE = "- **{number}** {rule}: {after} (before: {before}; {day} by {by})"
BY_ADMIN = "an administrator"
BY_MANAGER = "a channel manager"
SURE_TO_LEARN = "I will announce it to everyone in this channel first."
SAID_AMBIENT_ON = (
    "{who} turned on answers without a mention. I now read what full members ask in this channel, and may answer up to "
    "{many} a day without a mention. I do not store questions that I do not answer. To silence me for 24 hours, say "
    "“stop” below such an answer or give it a 👎. Channel managers can turn this off with `/channel ambient off`."
)
SAID_AMBIENT_OFF = "{who} turned off answers without a mention in this channel."
SAID_LEARNING_ON = (
    "{who} turned on learning. I now learn from what people tell me in this channel. To see what I know about you, use "
    "`/memory`. To stop learning about you, use `/memory pause`."
)
AMBIENT_PRIVATE = (
    "I cannot say more here, because not everyone in this channel is allowed to read what I found. Ask me to show it."
)
AMBIENT_NOTICE = (
    "*You did not ask me, but the managers of this channel want me to help here. To silence me for 24 hours, say "
    "“stop” or react with 👎 or 🗑. To turn this off, use `/channel ambient off`.*"
)
