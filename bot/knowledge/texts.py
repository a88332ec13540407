"""The texts of `/knowledge` and `/learn`."""


# What places know

KNOWLEDGE_USAGE = (
    "Write `/knowledge`, `/knowledge show 3` or `/knowledge remove 3`, with the number from the list; who manages a "
    "public channel also `/knowledge share on` or `/knowledge share off`."
)
SHARING_ON = (
    "{who} has switched on that what full members tell me in this channel, from now on, serves others of the team: I "
    "may quote it to them in public channels and in direct messages, with its writer and its link. Nothing that was "
    "said before, and nothing of guests. `/memory share off` takes yours out at once, `/forget` erases it. Who manages "
    "the channel ends this with `/knowledge share off`."
)
SHARING_OFF = "{who} has switched off sharing: what was told me in this channel serves nobody else any more."
SURE_TO_SHARE = "I will say so in this channel first, to everybody. Only what is told me from then on is shared."
SHARED_FROM_NOW = "From now on I share what full members tell me here with others of the team."
SHARED_NO_MORE = "I share nothing of this channel any more."
SHARES_HERE = "What full members tell me in this channel serves others of the team."
SHARES_ALREADY = "I do share what is told me here."
SHARES_NOTHING = "I do not share what is told me here."
NOT_SHARING = "Only who manages this channel decides whether I share what is told me here."
SHARED_IN_PUBLIC = "I share only what is told me in public channels without guests or outsiders: please ask there."
KNOWN_HERE = "I know {many} here:"
KNOWLEDGE_PAGE = "Page {page} of {pages}; `/knowledge page {another}` shows another."
NOTHING_KNOWN = (
    "I know no documents here. Attach a file, or paste a link, and write “learn this” behind my name, or use `/learn`."
)
NOTHING_KNOWN_YET = "I know no documents here. Whoever manages this place can hand them in."
NOT_FOR_GUESTS = "What places know is for full members only."
NO_SUCH_DOCUMENT = "I know no document {number} here: `/knowledge` lists them."
NOT_REMOVING = "Only whoever manages the channel where it was handed in, or handed it in, can have it removed."
DOCUMENT_REMOVED = "Removed: {name}. I know it no longer, and its bytes are gone."
DOCUMENT_REMOVED_LATER = "Removed: {name}. I know it no longer; its last bytes go when the database is free."
BEGINS_SO = "It begins like this:"
NOT_LEARNING = "Only whoever manages this channel can have me learn here. In a direct message you can, for yourself."
NOTHING_TO_LEARN = (
    "Attach the file to a message that says “learn this” to me, or put the link behind it; in a terminal write "
    "`/learn PATH` or `/learn https://…`."
)
NO_LINKS = (
    "Not learned: I read no pages of the web here. Please attach the page as a file, or ask whoever operates me to "
    "switch that on (`COGENCY_WEB=on`)."
)
LEARNING_NOW = "I am reading it. That may take a minute."
LEARNED = "Learned: {name} ({size}). {who} `/knowledge` shows and removes it."
FOUND_BY_YOU = "You alone can ask me about it."
FOUND_HERE = "Full members can ask me about it here."
FOUND_BY_TEAM = "Full members can ask me about it here, in other public channels and in direct messages."
NOT_ALL_READ = "Not all of it was read: {why}."
NOT_LEARNED = "Not learned: {name}: {why}."
EMPTY_FILE = "there is no text in it"
TOO_LONG_TO_LEARN = "it is longer than {chars} characters; please hand it in in parts"
ONLY_A_PART = "only a part of it could be read"
NO_ROOM_ANY_MORE = "what stands there now is more than I can search fast here"
TOO_MANY_DOCUMENTS = "Not learned: I know 1,000 documents here already. Remove some with `/knowledge` first."
NO_ROOM = "Not learned: with {name} there would be more here than I can search fast. Remove some first: `/knowledge`."
FIRST_FILES = "I learn at most {most} files or links at once: please hand in the others in another message."
UNREAD_SINCE = "could not be read since {day}: {why}"
