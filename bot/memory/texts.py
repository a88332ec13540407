"""What people read about memory, learning and policies. Pure."""

from collections.abc import Mapping

from agent.memory.facts import Scope
from agent.memory.profile import ProfileField
from bot.chat.texts.formatting import counted
from bot.chat.texts.replies import LEARNED_EARLIER, REMEMBERED

# What was remembered
MEMORY_ENTRY = "What you remember"
MEMORY_ENTRY_WHAT = "See what the bot remembers about you. The list is shown only to you."
HOME_MEMORY = "What I remember about you"
LEARNING_ON = "I learn from what you write to me."
LEARNING_OFF = "I do not learn from what you write to me while this is off. I keep what I already remember."
EXPORT_BUTTON = "Export as a file"
LEARNS_NOTHING = "I do not learn from what you say."
LEARNS_FROM_YOU = "I learn from what you say."
LEARNING_NOW = "**Learning**: {learning}"
STOP_LEARNING = "Stop learning"
LEARN_AGAIN = "Resume learning"
HOME_POLICIES = "Policies for everyone"


def withheld_text(count: int) -> str:
    """What only the asker sees about what a search found for them elsewhere."""
    more = counted(count, "more result", "more results")
    verb = "is" if count == 1 else "are"
    hidden = f"{more} from your direct messages or private channels {verb} not shown here."
    return f"{hidden} To see {'it' if count == 1 else 'them'}, ask me in a direct message."


LEARNS = (
    "*I store what you write to me and learn from it. To see what I know, use `/memory`. To stop learning, use "
    "`/memory pause`. To erase what I stored, use `/forget`.*"
)
KEEPS = (
    "*I store what you write to me. To see what I know about you, use `/memory`. To erase what I stored, use "
    "`/forget`.*"
)
KEPT = f"{REMEMBERED}{{facts}}*"
LEARNED_SINCE = f"{LEARNED_EARLIER}{{facts}}*"
KEPT_AND_LEARNED = f"{REMEMBERED}{{facts}}. Learned from your earlier messages: {{earlier}}*"
MAY_BE_OUTDATED = " (possibly outdated because of entry {number}: “{newer}”)"
KEEP_BOTH = "Keep both"
KEEP = "Keep"
REMOVE = "Remove"
NOT_USED = " (not used since {day})"
OVERRULED = " (a newer policy, set on {day}, says otherwise: “{policy}”)"
TO_REVIEW = "{count} may be out of date. Choose *Keep*, *Correct*, or *Delete*."
TO_REVIEW_BY_NUMBER = (
    "{count} may be out of date. Use `/memory keep 3`, `/memory correct 3 NEW WORDS`, or `/memory delete 3` with the "
    "entry's number."
)
ENTRY_KEPT = "Kept: {said}. I will not ask about it again for half a year."
REPLACE = "Replace"
BOTH_KEPT = "Both are valid: {older} and {newer}."
SETTLED = "Replaced {older} with {newer}. To make both valid again, undo the newer entry."
NOT_IN_DOUBT = "Nothing changed, because this entry is not marked as possibly outdated."
REPLACED = " (replaced: {before})"
INSTEAD = "{fact} (replaced: {before})"
MORE_FACTS = "{facts}; and {many} more"
TAKEN_BACK = "Undone: {facts}. I will not learn this again from the same message."
HOLDS_AGAIN = "{done} This is valid again: {before}."
BOTH_VALID = "Undone. This is valid again: {before}. This also stays valid: {fact}."
NOTHING_KEPT = "There is nothing left to undo."


# What is remembered: `/memory`

# How each request is written, and what it does.
MEMORY_HELP: Mapping[str, str] = {
    "/memory": "see what I remember about you and where it came from",
    "/memory show 3": "see entry 3 in full",
    "/memory delete 3": "delete entry 3; I will not learn it again from the same message",
    "/memory undo": "restore what you deleted last, within a minute",
    "/memory correct 3 NEW WORDS": "replace entry 3 with your own words",
    "/memory everywhere 3": "use entry 3 in all my replies to you",
    "/memory here 3": "undo `everywhere 3`: use entry 3 only where the usual rules allow it",
    "/memory both 3": "keep both entry 3 and the newer entry named next to it",
    "/memory replace 3": "replace entry 3 with the newer entry named next to it",
    "/memory keep 3": "keep entry 3, which may be out of date",
    "/memory export": "export what I know about you as JSON",
    "/memory pause": "stop learning from what you say",
    "/memory pause here": "stop in this channel only; channel managers can add “for everyone”",
    "/memory resume": "start learning again; add “here” for this channel only",
    "/memory share off": "stop sharing what you told me in public channels; “share on” turns sharing back on",
}
MEMORY_USAGE = (
    "`/memory` shows the list. You can add `show 3`, `delete 3`, `undo`, `correct 3 new words`, `everywhere 3`, `here "
    "3`, `both 3`, `replace 3`, `keep 3`, `export`, `pause`, `resume`, `share off`, or `help`."
)
DID_YOU_MEAN = "Did you mean `/memory {word}`? "
_ENTRY_FORM = "Write the entry's number, as in `/memory {word} 3`."
_PAUSE_FORM = "Write `/memory {word}`, `/memory {word} here`, or `/memory {word} here for everyone`."
# What can be written where a request of that name cannot be read.
MEMORY_FORMS: Mapping[str, str] = {
    "show": MEMORY_USAGE,
    "page": "Write `/memory page 2` for the second page of the list.",
    "delete": _ENTRY_FORM.format(word="delete"),
    "undo": (
        "Write `/memory undo` to restore the entry you deleted last, or `/memory undo 3` to undo what I learned as "
        "entry 3."
    ),
    "correct": "Write the entry's number and the new text, as in `/memory correct 3 I prefer tea`.",
    "everywhere": _ENTRY_FORM.format(word="everywhere"),
    "here": _ENTRY_FORM.format(word="here"),
    "both": _ENTRY_FORM.format(word="both"),
    "replace": _ENTRY_FORM.format(word="replace"),
    "keep": _ENTRY_FORM.format(word="keep"),
    "export": MEMORY_USAGE,
    "pause": _PAUSE_FORM.format(word="pause"),
    "resume": _PAUSE_FORM.format(word="resume"),
    "share": "Write `/memory share off` or `/memory share on`.",
    "help": MEMORY_USAGE,
}
MEMORY_HEADING = "What I remember about you:"
NOTHING_REMEMBERED = "I do not remember anything about you yet. To add something, write “remember that …”."
NO_ENTRY = "That entry no longer exists. To see the list, use `/memory`."
NO_NUMBER = "Your list does not have an entry {number}. To see the list, use `/memory`."
PAGE_OF = "Page {page} of {pages}. For another page, use `/memory page {another}`."
# What the entries of a profile are called.
FIELDS: Mapping[ProfileField, str] = {
    ProfileField.COMMUNICATION_STYLE: "How you like your answers",
    ProfileField.GOALS: "Goal",
    ProfileField.PREFERENCES: "Preference",
    ProfileField.PROJECTS: "Project",
    ProfileField.EXPERTISE_AREAS: "Expertise",
    ProfileField.CONSTRAINTS: "Limit",
    ProfileField.INTERESTS: "Interest",
    ProfileField.SUCCESS_PATTERNS: "What works for you",
    ProfileField.FAILURE_PATTERNS: "What does not work for you",
}
# Behind what does not hold everywhere.
ASSUMED: Mapping[Scope, str] = {
    Scope.HYPOTHETICAL: " (an assumption in one conversation)",
    Scope.DRAFT: " (a draft, in one conversation)",
    Scope.SESSION: " (for one conversation)",
    Scope.TASK: " (for one question)",
}
DELETED = (
    "Deleted {said}. You can restore it with `/memory undo` within a minute. After that, it is erased. I will not "
    "learn it again from the same message. To erase the message itself, use `/forget`."
)
BACK = "Restored: {said}."
NOT_BACK = "There is nothing to restore. Deleted entries are erased after a minute."
ELSEWHERE = "an entry that is shown only where you said it"
LATER = "Traces may remain in the database files until the next cleanup."
STILL_FOUND = "**I searched for it afterward and still found it.** Please tell my operator."
CORRECTED = "Corrected: your own words now replace {said}."
BETWEEN_US = (
    "You wrote them only to me, so I use them only where nobody else can read them, unless you choose *Use everywhere*."
)
USED_EVERYWHERE = (
    "From now on, I use this entry in all my replies to you, but not in replies to others. Anyone who can see one of "
    "those replies may also see the entry."
)
USED_HERE = (
    "I no longer use this entry in all my replies to you. The usual rules for the place where you said it apply again."
)
OTHER_ACCOUNT = (
    "You said this with another of your connected accounts. To change where I use it, write to me from that account."
)
NOT_YOUR_WORDS = (
    "That entry does not come from your own words alone, so the rules for the place where it was said still apply."
)
SAME = "The entry already says exactly that."
NO_SECRETS = "This looks like a password, a key, or a card number. I do not store such data, so nothing changed."
ENTRY_TOO_LONG = "Nothing changed, because an entry can have up to {most} characters."
BOUND = "Nothing changed, because someone with more authority set that."
MEMORY_FULL = (
    "In one place, I have almost reached the limit of {most:,} facts about you. To make room for new facts, I delete "
    "outdated facts first, and then the ones that have gone unused the longest."
)
LEARNING = "Nothing changed, because I was learning something at that moment. Try again."
EXPORTED = "This is what I know about you."
PAUSE_NOT_THE_MANAGER = (
    "Only channel managers and operators can pause learning in a channel for everyone. To pause it for yourself, use "
    "`/memory pause here`."
)
RESUME_NOT_THE_MANAGER = "Only channel managers and operators can resume learning in a channel for everyone."


def pause_text(*, on: bool, here: bool, for_everybody: bool) -> str:
    """Learning was paused or resumed."""
    whom = "anyone says" if for_everybody else "you say"
    where = " in this channel" if here else ""
    if not on:
        return f"I am learning again from what {whom}{where}."
    asked = "someone asks" if for_everybody else "you ask"
    back = resume_hint(here=here, for_everybody=for_everybody)
    return (
        f"I stopped learning from what {whom}{where}. I will never learn what is said during the pause unless {asked} "
        f"me to remember it. {back} I keep what I already remember. To see it, use `/memory`."
    )


OWN_NOT_SHARED = "Done. I do not share what you tell me in public channels, even where sharing is on."
OWN_SHARED = "Done. When sharing is on in a public channel, I share what you tell me there."
OWN_KEPT_BACK = "I do not share what you tell me in public channels. To change that, use `/memory share on`."


def paused_text(*, here: bool, for_everybody: bool) -> str:
    """Learning is still paused."""
    where = f"{' in this channel' if here else ''}{' for everyone' if for_everybody else ''}"
    return f"Learning is paused{where}. {resume_hint(here=here, for_everybody=for_everybody)}"


def resume_hint(*, here: bool, for_everybody: bool) -> str:
    where = f"{' here' if here else ''}{' for everyone' if for_everybody else ''}"
    return f"To resume, use `/memory resume{where}`."


LISTS_AT_ONCE = "You opened your list in several places at once. Open it again."
GO_ON_WITH = ("Continue: {what}", "Let's continue with this: “{what}”. Where did we stop, and what is next?")
GOAL = ("Next step: {what}", "What is a good next step toward this goal: “{what}”?")
PROJECT = ("About {what}", "What do you know about my project {what}, and what is still open?")

# What holds for everyone: `/policy`

POLICY_USAGE = (
    "After `/policy`, write `list`, `history`, `set NAME: POLICY` (as in `set budget: at most 5,000 EUR a month`), "
    "`remove 3`, or `keep 3`."
)
POLICY_TOO_LONG = "Use up to {limit} characters, and up to {name_limit} before the colon."
NO_POLICY = "There are no policies here. A manager can add one: `/policy set budget: at most 5,000 EUR a month`."
POLICY_HEADING = "Policies for everyone here:"
POLICY_HISTORY = "Policies that were set here, oldest first:"
NO_POLICY_NUMBER = "There is no policy {number} here. To see the policies, use `/policy`."
POLICIES_FULL = "There are already {limit} policies. Remove one first."
POLICY_SET = "Policy set."
POLICY_REPLACED = "Policy set. It replaces: {replaced}."
POLICY_KEPT = "Policy kept. I will not ask about it again for half a year."
POLICIES_TO_REVIEW = "Possibly out of date. Choose *Keep* or *Remove*:"
POLICIES_TO_REVIEW_BY_NUMBER = (
    "Possibly out of date. Use `/policy keep 3` or `/policy remove 3` with the policy's number:"
)
POLICY_REMOVED = "Policy removed. `/policy history` still lists it."


# Help


# Work in the background

JOB_UNREADABLE = "The model's notes on a conversation could not be read; the bot will try again later."
