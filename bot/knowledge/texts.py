"""The texts of `/knowledge` and `/learn`."""

from agent.unanswered import Unanswered

# What places know

KNOWLEDGE_USAGE = (
    "`/knowledge` lists the documents here. To see how document 3 in the list begins, use `/knowledge show 3`. To "
    "remove it, use `/knowledge remove 3`. Managers of a public channel can also use `/knowledge share on` and "
    "`/knowledge share off`."
)
SHARING_ON = (
    "{who} turned on sharing. From now on, if a full member tells me something in this channel, I may quote it to "
    "others on the team, in public channels and direct messages. I then give the member's name and a link. I do not "
    "share anything that was said before, or anything from guests. To stop sharing what you say, use `/memory share "
    "off`. To erase it, use `/forget`. Channel managers can turn sharing off with `/knowledge share off`."
)
SHARING_OFF = "{who} turned off sharing. I no longer share what people tell me in this channel."
SURE_TO_SHARE = (
    "I will announce it to everyone in this channel first. I will share only what people tell me after the "
    "announcement."
)
SHARED_FROM_NOW = "From now on, I share with the team what full members tell me here."
SHARED_NO_MORE = "I no longer share anything from this channel."
SHARES_HERE = "I share with the team what full members tell me in this channel."
SHARES_ALREADY = "I already share what people tell me here."
SHARES_NOTHING = "I do not share what people tell me here."
NOT_SHARING = "Only channel managers and operators can decide whether I share what people tell me here."
SHARED_IN_PUBLIC = "I can share only from public channels without guests or outsiders. Use this command there."
KNOWN_HERE = "I know {many} here:"
KNOWLEDGE_PAGE = "Page {page} of {pages}. For another page, use `/knowledge page {another}`."
NOTHING_KNOWN = (
    "There are no documents here. Attach a file or paste a link, mention me and write “learn this”, or use `/learn`."
)
NOTHING_KNOWN_YET = "There are no documents here. A manager of this place can add some."
NOT_FOR_GUESTS = "Only full members can add and see documents."
NO_SUCH_DOCUMENT = "There is no document {number} here. To see the list, use `/knowledge`."
NOT_REMOVING = (
    "You cannot remove this document. The person who added it can do that, and so can managers of the channel where it "
    "was added, and operators."
)
DOCUMENT_REMOVED = "Removed: {name}. I no longer use it, and its content is erased."
DOCUMENT_REMOVED_LATER = (
    "Removed: {name}. I no longer use it. The rest of its content is erased when the database is idle."
)
BEGINS_SO = "It begins with:"
NOT_LEARNING = (
    "Only channel managers and operators can add documents here. You can add some for yourself in a direct message."
)
NOTHING_TO_LEARN = (
    "Send me a message that says “learn this” with the file attached or the link after it. In a terminal, use "
    "`/learn PATH` or `/learn https://…`."
)
NO_LINKS = (
    "Not learned: I cannot read web pages here. Attach the page as a file, or ask my operator to set `COGENCY_WEB=on`."
)
LEARNING_NOW = "Reading it. This can take a minute."
LEARNED = "Learned: {name} ({size}). {who} To see or remove it, use `/knowledge`."
FOUND_BY_YOU = "Only you can ask me about it."
FOUND_HERE = "Full members can ask me about it here."
FOUND_BY_TEAM = "Full members can ask me about it here, in other public channels, and in direct messages."
NOT_ALL_READ = "I could not read all of it: {why}."
NOT_LEARNED = "{name} was not learned: {why}."
EMPTY_FILE = "it contains no text"
TOO_LONG_TO_LEARN = "it is too long (the limit is about {chars} characters); add it in parts"
ONLY_A_PART = "only a part of it could be read"
NO_ROOM_ANY_MORE = "with its current text, this place would have more text than I can search quickly"
TOO_MANY_DOCUMENTS = "Not learned: this place already has 1,000 documents. Remove some of them with `/knowledge` first."
NO_ROOM = (
    "Not learned: with {name}, this place would have more text than I can search quickly. Remove some documents with "
    "`/knowledge` first."
)
FIRST_FILES = "I learn up to {most} files or links at once. Send the others in another message."
UNREAD_SINCE = "not readable since {day}: {why}"

# What was not answered

UNANSWERED_FOR_MANAGERS = (
    "Only operators and the managers of a channel can see what was not answered there. Use this command in a channel "
    "that you manage."
)
UNANSWERED_HEAD = "**What I did not answer well in this channel** in the last {days} days, by subject:"
UNANSWERED_NONE = "I found no unanswered questions in this channel in the last {days} days."
UNANSWERED_GROUP = "**{count}**: {why}"
UNANSWERED_BECAUSE = {
    Unanswered.NOT_FOUND: "nothing found ({count})",
    Unanswered.NOT_KNOWN: "I did not know ({count})",
    Unanswered.TOOL_FAILED: "a tool failed ({count})",
    Unanswered.DISLIKED: "rated 👎 ({count})",
}
UNANSWERED_PAGE = "Page {page} of {pages}. For another page, use `/knowledge unanswered page {another}`."
DIGEST_HEAD = "**What I did not answer well last week** in channels that you manage:"
DIGEST_LINE = "- {questions} about {subjects} in {channel}: {why}"
DIGEST_CHANNEL = "this channel"
DIGEST_END = (
    "To see these questions and teach me what was missing, use `/knowledge unanswered` in the channel. To stop this "
    "weekly message, use `/knowledge digest off`."
)
DIGEST_ON = (
    "On Mondays, I will send you a message if there are several questions that I did not answer well in a channel that "
    "you manage."
)
DIGEST_OFF = "I will no longer send you a weekly message about questions that I did not answer well."
TEACH_BUTTON = "Teach the bot…"
TEACH_TITLE = "Teach the bot"
TEACH_SUBMIT = "Teach"
TEACH_NAME = "Title"
TEACH_TEXT = "What should I know?"
TEACH_HINT = "I will add this text to the documents here. For a file or a web page, use /learn."
TEACH_USAGE = "To add what is missing, use `/knowledge teach TITLE | TEXT`, or `/learn` for a file or a web page."
TEACH_EMPTY = "Write a title and the text to add: `/knowledge teach TITLE | TEXT`."
TEACH_LONG = "This text is too long. Use at most {most:,} characters, or `/learn` with a file."

# What operators add with `cogency learn`

NO_SUCH_PATH = "There is no file or folder {path}. Check the path."
NOTHING_MATCHES = "No file matches {path}. Check the pattern: * matches part of a name, and ** matches folders."
TOO_MANY_FILES = (
    "There are more than {most} files. A place holds up to 1,000 documents, so choose a folder with fewer files."
)
SAME_NAME = "another of these files has the same name; add the folder instead, so that names include the path"
PLACE_GONE = "The place was erased in the meantime, so the remaining files were not learned."
FOLDER_UNREADABLE = "the folder could not be listed ({reason}); check its permissions"
FILE_UNREADABLE = "the file could not be read; check its permissions"
PLACE_FULL = "this place already has 1,000 documents; remove some with `/knowledge` first"
PLACE_TOO_LARGE = (
    "with this file, the place would have more text than the bot can search quickly; remove some documents first"
)
READ_IN_PART = "only in part: {why}"
