"""What is said about acting: results and refusals, for the model, which tells the person."""

from typing import Final

POST: Final = "Post in a channel or thread, or reply to a message, as the bot."
REACT: Final = "React to a message with an emoji."
EDIT: Final = "Change a post that the bot made for this person."
DELETE: Final = "Delete a post, canvas, or event that the bot made for this person."
PIN: Final = "Pin a message in its channel, or unpin it."
THREAD: Final = "Start a thread or a forum post with its first message."
TOPIC: Final = "Set a channel's topic."
ADD_BOOKMARK: Final = "Add a link to a channel's bookmarks."
REMOVE_BOOKMARK: Final = "Remove one of a channel's bookmarks."

ITS_LINK: Final = "Its link."
REPLIED_LINK: Final = "The link of the message to reply to."
MARKDOWN: Final = "Markdown."
WHERE: Final = '"#name", a link, or "thread"; default: this channel.'

CREATE_CANVAS: Final = "Create a canvas in a channel."
EDIT_CANVAS: Final = "Add to a canvas that the bot made for this person, or replace one of its sections."
CREATE_EVENT: Final = "Schedule an event on this Discord server."
EDIT_EVENT: Final = "Change an event that the bot made for this person. Leave out what does not change."
SECTION: Final = "Words of the paragraph, heading, or list to replace; default: the text is added at the end."
TIME: Final = "As in 2026-11-24T09:00, in the time zone `zone`."
END: Final = "Default: an hour after the start."
ZONE: Final = "Default: the person's."
LOCATION: Final = "An address or place, unless `where` is a voice channel."
EVENT_WHERE: Final = "The voice channel, if the event is in one; default: this server."

UNDER_LINK: Final = "The link of the message that the thread belongs to."
TAG: Final = "For a forum post, on Discord."
DESCRIPTION: Final = "Set the description instead, in Slack."
BOOKMARK_NAMED: Final = "Its exact title or link."

POLL: Final = "Post a poll. Each person has one vote."
END_POLL: Final = "Close a poll that the bot posted for this person."
POLL_POSTED: Final = "The poll was posted: {link}. It closes in {hours} h."
POLL_CLOSED: Final = "The poll was closed."
POLL_STAYS: Final = "a poll cannot be edited: close or delete it, and post another one"
NO_POLL: Final = "that message does not contain a poll that you posted"
FEW_OPTIONS: Final = "a poll needs two or more different options"
POSTED: Final = "Posted: {link}"
PARTLY: Final = "Only the first {count} of {total} messages were posted ({link}), because {why}. Say so."
STARTED: Final = "The thread was started: {link}"
PARTLY_STARTED: Final = "The thread was started ({link}), but not all of the text was posted, because {why}. Say so."
TOPIC_SET: Final = "The topic or description was set."
BOOKMARKED: Final = "The bookmark was added, with the title {title}."
UNBOOKMARKED: Final = "The bookmark was removed."
CREATED: Final = "The canvas was created: {link}. Everyone in the channel can change it."
CANVAS_EDITED: Final = "The canvas was changed."
SCHEDULED: Final = "The event was scheduled: {link}"
EVENT_EDITED: Final = "The event was changed."
REACTED: Final = "The reaction was added."
EDITED: Final = "The post was changed."
DELETED: Final = "The post was deleted."
PINNED: Final = "The message was pinned."
UNPINNED: Final = "The message was unpinned."

NOT_ASKED: Final = "you may act only for a person who asked you, and nobody did"
NO_PLATFORM: Final = "you are not connected to this person's platform right now, so nothing was done"
CLOSED: Final = "you may not act in {name}: its managers have to turn that on with `/channel act on`. Tell the person"
TURNED_OFF: Final = "you may not act in {name}: its managers turned that off. Tell the person"
OTHER_READERS: Final = (
    "not posted, because {name} has readers who may not see what you know here. Tell the person to ask for it in "
    "{name} itself, or to write the whole text in their question: a text in their own words can be posted"
)
PERSON_LIMIT: Final = "this person has reached the limit of {most} actions per day, so nothing was done. Tell them"
PLACE_LIMIT: Final = (
    "you have reached the limit of {most} actions per day in {name}, so nothing was done. Tell the person"
)
TOO_LONG: Final = "the text needs {count} messages there, and at most {most} can be posted at once: make it shorter"
EMPTY: Final = "the text is empty"
NOT_OFFERED: Final = "this person's platform does not support that, so nothing was done"
NO_TIME: Final = "{text} is not a time: write it as 2026-11-24T09:00"
NO_ZONE: Final = "this person's time zone is not known: ask them where they are, and give it as `zone`"
PAST: Final = "an event must start in the future, within five years, and end after its start"
NO_CHANGE: Final = "say what to change"
NO_ADDRESS: Final = "a bookmark needs the full address of a web page, as in https://example.com/plan"
TWO_PLACES: Final = "give either a place or a message there, not both"
NOT_ITS_POST: Final = (
    "that message cannot be changed: you can change only posts that you made for this person with a tool. Tell them"
)
SEVERAL: Final = "that post spans several messages, which cannot be changed in place: delete it, and post the new text"
UNSTORED: Final = (
    "It was done, but the bot could not record it, so you cannot change or delete it later. Say so: {done}"
)

REQUEST: Final = "Post this here."  # Stands for the question in the stored turn: the question was asked elsewhere
