"""What people read about what is remembered, learned, forgotten and laid down for all. Pure."""

from collections.abc import Mapping

from agent.memory.facts import Scope
from agent.memory.profile import ProfileField
from bot.chat.texts.formatting import counted
from bot.chat.texts.replies import LEARNED_EARLIER, REMEMBERED

# What was remembered
MEMORY_ENTRY = "What you remember"
MEMORY_ENTRY_WHAT = "See what the bot remembers about you; nobody else does."
HOME_MEMORY = "What I remember about you"
LEARNING_ON = "I may learn from what you write to me."
LEARNING_OFF = (
    "I do not learn from what you write to me, nor later from what you write now. What is remembered already stays."
)
EXPORT_BUTTON = "Send me all of it as a file"
LEARNS_NOTHING = "I learn nothing from what you say."
LEARNS_FROM_YOU = "I learn from what you say."
LEARNING_NOW = "**Learning**: {learning}"
STOP_LEARNING = "Stop learning"
LEARN_AGAIN = "Learn again"
HOME_POLICIES = "What holds for everybody"


def withheld_text(count: int) -> str:
    """What is told to the asker alone about what a search found for them elsewhere."""
    more = counted(count, "more result", "more results")
    verb = "is" if count == 1 else "are"
    return f"{more} from your direct messages or private channels {verb} not shown here: ask me in a direct message."


LEARNS = (
    "*I keep what you write to me, and learn from it what helps me to help you. `/memory` shows what I know, "
    "`/memory pause` stops the learning, `/forget` erases it.*"
)
KEEPS = "*I keep what you write to me. `/memory` shows what I know of you, `/forget` erases it.*"
KEPT = f"{REMEMBERED}{{facts}}*"
LEARNED_SINCE = f"{LEARNED_EARLIER}{{facts}}*"
KEPT_AND_LEARNED = f"{REMEMBERED}{{facts}}. Learned from your earlier messages: {{earlier}}*"
MAY_BE_OUTDATED = " (possibly outdated by entry {number})"
REPLACED = " (replaced: {before})"
INSTEAD = "{fact} (instead of: {before})"
MORE_FACTS = "{facts}; and {many} more"
TAKEN_BACK = "Taken back: {facts}. I will not learn it again from that message."
HOLDS_AGAIN = "{done} This holds again: {before}."
NOTHING_KEPT = "Nothing that I remembered then is left to be taken back."


# What is remembered: `/memory`

# How each request is written, and what it does.
MEMORY_HELP: Mapping[str, str] = {
    "/memory": "see what I remember about you, and where it came from",
    "/memory show 3": "see all of entry 3",
    "/memory delete 3": "erase entry 3; I do not learn it again from the same message",
    "/memory undo": "bring back what you deleted last, within a minute",
    "/memory correct 3 NEW WORDS": "put your own words in its place",
    "/memory everywhere 3": "use it in all my replies to you, wherever it was said",
    "/memory here 3": "use it only where it was said, again",
    "/memory export": "get everything that I know about you, as JSON",
    "/memory pause": "stop learning from what you say",
    "/memory pause here": "the same in this channel only; “for everybody” behind it is for those who manage it",
    "/memory resume": "learn again; also “resume here”",
    "/memory share off": "take what you told me in public channels out of what I share there; “share on” puts it back",
}
MEMORY_USAGE = (
    "After `/memory` you may write `show 3`, `delete 3`, `undo`, `correct 3 new words`, `everywhere 3`, `here 3`, "
    "`export`, `pause`, `resume`, `share off` or `help`; alone it shows the list."
)
DID_YOU_MEAN = "Did you mean `/memory {word}`? "
_ENTRY_FORM = "Write the entry's number, as in `/memory {word} 3`."
_PAUSE_FORM = "Write `/memory {word}`, `/memory {word} here`, or `/memory {word} here for everybody`."
# What can be written where a request of that name cannot be read.
MEMORY_FORMS: Mapping[str, str] = {
    "show": MEMORY_USAGE,
    "page": "Write `/memory page 2` for the second page of the list.",
    "delete": _ENTRY_FORM.format(word="delete"),
    "undo": "Write `/memory undo` to bring back what you deleted last, or add its number.",
    "correct": "Write the entry's number and what holds instead, as in `/memory correct 3 I prefer tea`.",
    "everywhere": _ENTRY_FORM.format(word="everywhere"),
    "here": _ENTRY_FORM.format(word="here"),
    "export": MEMORY_USAGE,
    "pause": _PAUSE_FORM.format(word="pause"),
    "resume": _PAUSE_FORM.format(word="resume"),
    "share": "Write `/memory share off` or `/memory share on`.",
    "help": MEMORY_USAGE,
}
MEMORY_HEADING = "This is what I remember about you:"
NOTHING_REMEMBERED = "I remember nothing about you yet. Write “remember that …” and I will."
NO_ENTRY = "There is no such entry any more; `/memory` shows the list."
NO_NUMBER = "There is no entry {number} in your list; `/memory` shows it."
PAGE_OF = "Page {page} of {pages}; `/memory page {another}` shows another."
# What the entries of a profile are called.
FIELDS: Mapping[ProfileField, str] = {
    ProfileField.COMMUNICATION_STYLE: "How you like answers",
    ProfileField.GOALS: "Goal",
    ProfileField.PREFERENCES: "Preference",
    ProfileField.PROJECTS: "Project",
    ProfileField.EXPERTISE_AREAS: "You know well",
    ProfileField.CONSTRAINTS: "Limit",
    ProfileField.INTERESTS: "Interest",
    ProfileField.SUCCESS_PATTERNS: "What helped you",
    ProfileField.FAILURE_PATTERNS: "What did not help you",
}
# Behind what does not hold everywhere.
ASSUMED: Mapping[Scope, str] = {
    Scope.HYPOTHETICAL: " (only assumed, in one conversation)",
    Scope.DRAFT: " (a draft, in one conversation)",
    Scope.SESSION: " (for one conversation)",
    Scope.TASK: " (for one question)",
}
DELETED = (
    "Deleted {said}. `/memory undo` brings it back within a minute; then it is erased. I will not learn it again from "
    "the same message, which stays until you `/forget` it."
)
BACK = "It is back: {said}."
NOT_BACK = "There is nothing to bring back: what was deleted is erased after a minute."
ELSEWHERE = "what you deleted, where it was said"
LATER = "Old bytes may stay in the database files until the next clean-up."
STILL_FOUND = "**A search afterwards still finds it.** Please tell my operator."
CORRECTED = "Corrected: your own words stand there now, instead of {said}."
BETWEEN_US = "You said them to me alone, so I use them where only you read, unless you choose “use everywhere”."
USED_EVERYWHERE = (
    "From now on I use it in all replies to you, and in nobody else's. Everyone who reads such a reply may read it."
)
USED_HERE = "From now on I use it only where it was said."
NOT_YOUR_WORDS = "That did not come from your own words alone, so I can use it only where it was said."
SAME = "It says exactly that already."
NO_SECRETS = "This looks like a password, a key or a card number: I never keep such things, so nothing was changed."
ENTRY_TOO_LONG = "That is longer than an entry may be ({most} characters), so nothing was changed."
BOUND = "Somebody with greater authority has set that, so nothing was changed."
MEMORY_FULL = (
    "That is as much as I keep for one place ({most} facts): for what is new, the oldest goes that was replaced, or "
    "that no answer has drawn on for longest."
)
LEARNING = "I was learning something at that moment, so nothing was changed; please try again."
EXPORTED = "This is everything that I know about you."
NOT_THE_MANAGER = (
    "Only those who manage this channel may decide that for everybody; `/memory pause here` is for you alone."
)


def pause_text(*, on: bool, here: bool, for_everybody: bool) -> str:
    """Learning was paused, or goes on."""
    whom = "anybody says" if for_everybody else "you say"
    where = " in this channel" if here else ""
    if not on:
        return f"I learn again from what {whom}{where}."
    asked = "somebody asks" if for_everybody else "you ask"
    back = resume_hint(here=here, for_everybody=for_everybody)
    return (
        f"I have stopped learning from what {whom}{where}. What is said meanwhile is never learned, unless {asked} me "
        f"to remember it; {back} What is remembered already stays; `/memory` shows it."
    )


OWN_NOT_SHARED = "Done: I share nothing of what you tell me in public channels, whoever switches that on."
OWN_SHARED = "Done: I share what you tell me in public channels, where that is switched on."
OWN_KEPT_BACK = "I share nothing of what you tell me in public channels; `/memory share on` changes that."


def paused_text(*, here: bool, for_everybody: bool) -> str:
    """Learning is paused still."""
    where = f"{' in this channel' if here else ''}{' for everybody' if for_everybody else ''}"
    return f"Learning is paused{where}; {resume_hint(here=here, for_everybody=for_everybody)}"


def resume_hint(*, here: bool, for_everybody: bool) -> str:
    where = f"{' here' if here else ''}{' for everybody' if for_everybody else ''}"
    return f"`/memory resume{where}` goes on."


LISTS_AT_ONCE = "Your list was made in several places at once; please ask for it again."
GO_ON_WITH = ("Go on: {what}", "Let us go on with this: “{what}”. Where did we stop, and what is next?")
GOAL = ("Next step: {what}", "What is a good next step towards this goal of mine: {what}?")
PROJECT = ("About {what}", "What do you know about my project {what}, and what is open there?")

# What holds for everybody: `/policy`

POLICY_USAGE = (
    "Write `list`, `history`, `set NAME: WHAT HOLDS`, as in `set budget: at most 5,000 EUR a month`, or `remove 3`."
)
POLICY_TOO_LONG = "Please write at most {limit} characters, and {name_limit} before the colon."
NO_POLICY = "Nothing is set for everybody here. A manager can write `/policy set budget: at most 5,000 EUR a month`."
POLICY_HEADING = "This holds for everybody here:"
POLICY_HISTORY = "This was set for everybody here, the latest last:"
NO_POLICY_NUMBER = "There is no policy {number} here that can be removed; `/policy` shows what holds."
POLICIES_FULL = "There are {limit} already; please remove one first."
POLICY_SET = "Set."
POLICY_REPLACED = "Set. Instead of: {replaced}."
POLICY_REMOVED = "Removed; `/policy history` still shows it."


# Help


# Work in the background

JOB_UNREADABLE = "What the model wrote about a conversation cannot be read; trying again later."
