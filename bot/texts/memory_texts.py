"""What people read about what is remembered, learned, forgotten and laid down for all. Pure."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import assert_never

from agent.memory.facts import Scope
from agent.memory.forgetting_plans import AboutTopic, During, Everything, OneThread, Preview, Receipt, Sample, Wish
from agent.memory.periods import TimeSpan
from agent.memory.profile import ProfileField
from bot.texts.formatting import counted, literal, shortened

# What was remembered

# How the line below an answer begins that says what was kept.
REMEMBERED = "*Remembered: "
# How the line begins that says what was learned in the background since the last answer.
LEARNED_EARLIER = "*Learned from your earlier messages: "
SCHEDULED = "*At a time: "
# What stands in its place once that is taken back.
UNDONE = "*Undone: I no longer remember this.*"
UNSCHEDULED = "*Cancelled: I will not do this.*"


_KEPT_LINES = (REMEMBERED, LEARNED_EARLIER)


def undone(text: str) -> str:
    """A reply whose last "Remembered …" is said to be taken back; its words stand there no more."""
    lines = text.split("\n")
    of = [n for n, line in enumerate(lines) if line.startswith(_KEPT_LINES) and line.endswith("*")]
    return "\n".join(UNDONE if n == of[-1] else line for n, line in enumerate(lines)) if of else text


def unscheduled(text: str) -> str:
    """A reply whose last lines about times are said to be cancelled."""
    lines = text.split("\n")
    last = max((n for n, line in enumerate(lines) if _is_scheduled(line)), default=-1)
    first = last
    while first > 0 and _is_scheduled(lines[first - 1]):
        first -= 1
    return text if last < 0 else "\n".join([*lines[:first], UNSCHEDULED, *lines[last + 1 :]])


def _is_scheduled(line: str) -> bool:
    return line.startswith(SCHEDULED) and line.endswith("*")


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
AT_A_TIME = f"{SCHEDULED}{{when}}*"  # Below the answer of the question that wanted it
# Where there are no buttons, the line says what to type.
AT_A_TIME_HOW = f"{SCHEDULED}{{when}}. `/schedules edit {{id}} NEW TIME` changes it, `cancel {{id}}` ends it.*"
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
A_MANAGER = "Somebody who manages this channel"
SHARED_FROM_NOW = "From now on I share what full members tell me here with others of the team."
SHARED_NO_MORE = "I share nothing of this channel any more."
SHARES_HERE = "What full members tell me in this channel serves others of the team."
SHARES_ALREADY = "I do share what is told me here."
SHARES_NOTHING = "I do not share what is told me here."
NOT_SHARING = "Only who manages this channel decides whether I share what is told me here."
SHARED_IN_PUBLIC = "I share only what is told me in public channels without guests or outsiders: please ask there."
NOT_SAID_THERE = "I could not say so in the channel: please add me to it, and let me write there."
NOT_SWITCHED = "It is not switched on, as everybody there has to know. {why}"
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

# Forgetting

FORGET_WHICH = "What should I forget? Write `thread`, `everything`, `2 hours`, `since Monday`, or `about` and a word."
FORGET_DECLINED = "Nothing was forgotten."
# What a person knows by name, in the order of a receipt, in singular and plural.
_KINDS = {
    "messages": ("message", "messages"),
    "facts": ("fact", "facts"),
    "profile": ("profile entry", "profile entries"),
    "documents": ("document", "documents"),
    "schedules": ("schedule", "schedules"),
    "summaries": ("summary", "summaries"),
    "accounts": ("sign-in at a tool", "sign-ins at tools"),
}
# As previews and receipts count those in which something falls.
THREADS = "conversations"


def amounts(counts: Mapping[str, int]) -> str:
    """How much of each kind, as a person knows them, and where: "2 messages, 1 fact, in 1 thread"; "nothing"."""
    known = [counted(counts[kind], *words) for kind, words in _KINDS.items() if counts.get(kind)]
    if records := sum(count for kind, count in counts.items() if kind not in {*_KINDS, THREADS}):
        known.append(counted(records, "internal record", "internal records"))
    if threads := counts.get(THREADS, 0):
        known.append(f"in {counted(threads, 'thread', 'threads')}")
    return ", ".join(known) or "nothing"


# As much as the search for proof shows: what somebody says elsewhere in words of their own is another text.
FOUND_NOTHING = "A search afterwards finds none of these texts where they stood"


def receipt_text(receipt: Receipt) -> str:
    """What was erased, and what the search for proof says. It claims no more than the receipt does."""
    if not any(receipt.erased.values()) and not receipt.found_again:
        return "There was nothing to forget."
    done = f"Forgotten: {amounts(receipt.erased)}. {_proof(receipt)}"
    if receipt.related:
        stays = counted(receipt.related, "message", "messages")
        done = f"{done} {stays} elsewhere may say the same in other words: not forgotten."
    if receipt.documents:
        done = f"{done} {_documents_stay(receipt.documents)}."
    if receipt.replies:
        pages = counted(receipt.replies, "message", "messages")
        done = f"{done} I am also deleting {pages} of mine where you see them; that may take a while."
    if receipt.kept:
        done = f"{done} {_staying(receipt.kept)} where you see {_them(receipt.kept)}, as you chose."
    if receipt.ephemeral:
        staying = _staying(receipt.ephemeral, " that only you see")
        done = f"{done} {staying} until you dismiss {_them(receipt.ephemeral)}."
    return done


def _staying(messages: int, which: str = "") -> str:
    return f"{counted(messages, 'message', 'messages')} of mine{which} {'stays' if messages == 1 else 'stay'}"


def _them(messages: int) -> str:
    return "it" if messages == 1 else "them"


def _proof(receipt: Receipt) -> str:
    if receipt.found_again:
        again = counted(receipt.found_again, "entry", "entries")
        return f"**A search afterwards still finds {again}.** Please tell my operator."
    if receipt.bytes_gone:
        return f"{FOUND_NOTHING}, and their bytes are gone from the database files."
    if receipt.kept_by_server:
        return (
            f"{FOUND_NOTHING}. The database server's files and backups are kept by whoever runs it: "
            "old bytes stay there until its next vacuum, and until the backups run out."
        )
    return f"{FOUND_NOTHING}; old bytes may stay in the database files until the next clean-up."


# How each wish is written, and what it does.
FORGET_HELP: Mapping[str, str] = {
    "/forget thread": "forget this thread: what you said in it, and what came of it",
    "/forget 2 hours": "forget what you said in the last hours, days or weeks; also “today”, “since Monday”",
    "/forget about Apollo": "forget what you said, and what I know, about something",
    "/forget everything": "forget all that you told me",
}
FORGET_WAYS = "`everything`, `2 hours`, `since Monday` or `about` and a word"
NO_THREAD = "There is no thread here: write `/forget 2 hours`, `/forget about …` or `/forget everything`."
FORGET_UNCLEAR = "I did not understand “{said}”: write {ways}."
ABOUT_TOO_LONG = "Say in at most {limit} characters what it is about."
ABOUT_WHAT = "Say what it is about, as in `/forget about Apollo`."
ABOUT_TOO_SHORT = (
    "Name a word of at least {limit} letters ({limit_cjk} in Chinese, Japanese or Korean): shorter ones stand in "
    "nearly everything."
)
OTHERS = "said to others, so not shown here"
FORGET_CHANGED = "This has changed in the meantime; nothing is erased yet."
FORGETTING = "I am still looking for what you asked me to forget before; please wait for that, and ask again then."
FORGET_STOPPED = "I have stopped looking; nothing was forgotten."
NOTHING_SOUGHT = "I am not looking for anything to forget here now."
STOP_BY_KEYS = "Ctrl-C stops it."
ERASING = "Erasing it, which takes a while. I say here when it is done."
FORGET_UNREADABLE = "I no longer understand this button: please write `/forget` again."
# No preview counts choices: whoever has asked once may have made some.
NOTHING_BUT_CHOICES = (
    "I keep nothing that you wrote, and know nothing about you. Shall I forget what you chose, too, such as your model?"
)


# Enough to recognise what was said; it stays on one or two lines of a phone.
_LINE_CHARS = 100


def forget_question(wish: Wish, preview: Preview, zone: tzinfo) -> str:
    """What will be forgotten, how much that is, and that it is for good."""
    if preview.is_empty and isinstance(wish, Everything):
        return NOTHING_BUT_CHOICES
    lines = [f"I will forget {_what(wish, zone)}. That is {amounts(preview.counts)}. This cannot be undone."]
    if preview.lines and isinstance(wish, During | AboutTopic):
        lines += ["", *_listed(preview.lines, sum(_things(preview).values()))]
    if preview.retold.count:
        told = counted(preview.retold.count, "answer", "answers")
        lines += ["", f"{told} of mine elsewhere, which I gave with what you said there, will go with it:"]
        lines += _listed(preview.retold.lines, preview.retold.count)
    if preview.related.count:
        may = counted(preview.related.count, "message", "messages")
        lines += ["", f"{may} elsewhere may say the same in other words. Not forgotten unless you choose so:"]
        lines += _listed(preview.related.lines, preview.related.count)
    return "\n".join([*lines, *documents_left(preview.documents)])


def documents_left(documents: Sample) -> list[str]:
    """The lines about documents that the person added and that stay, because they belong to their place."""
    if not documents.count:
        return []
    return ["", f"{_documents_stay(documents.count)}:", *_listed(documents.lines, documents.count)]


def _documents_stay(count: int) -> str:
    stays = counted(count, "document that you added stays", "documents that you added stay")
    return f"{stays}; `/knowledge` removes {_them(count)}"


def looking(found: int) -> str:
    """It takes long to find what falls."""
    return (
        f"Looking through what you said… {counted(found, 'message', 'messages')} found so far. Nothing is erased yet."
    )


def _listed(lines: Sequence[str], count: int) -> list[str]:
    """These, shortened, and how many more there are."""
    shown = [f"- {literal(shortened(line, _LINE_CHARS))}" for line in lines]
    more = count - len(lines)
    return [*shown, f"- … and {more} more"] if more > 0 and lines else shown or [f"- {OTHERS}"]


def nothing_to_forget(wish: OneThread | During | AboutTopic, zone: tzinfo) -> str:
    """There is nothing that it could erase."""
    match wish:
        case AboutTopic(_, words):
            return f"Nothing that you said, and nothing that I know about you, speaks of “{literal(words)}”."
        case OneThread():
            return "I keep nothing of this thread: nothing that you said in it, and nothing that I learned from it."
        case During(_, period):
            return f"I have nothing that you said {_span(period, zone)}."
        case _:
            assert_never(wish)


def _what(wish: Wish, zone: tzinfo) -> str:
    match wish:
        case OneThread():
            return "this thread: what you said in it, the answers to that, and what I remembered from it"
        case Everything():
            return "everything that you told me: all threads, and all that I remember about you"
        case During(_, period):
            return f"what you said {_span(period, zone)}, everywhere"
        case AboutTopic(_, words):
            return f"what speaks of “{literal(words)}”: what you said, the answers to that, and what I know"
        case _:
            assert_never(wish)


def _things(preview: Preview) -> dict[str, int]:
    """What falls, without where it stands."""
    return {kind: number for kind, number in preview.counts.items() if kind != THREADS}


def _span(period: TimeSpan, zone: tzinfo) -> str:
    since, until = (f"{time.astimezone(zone):%A %Y-%m-%d %H:%M}" for time in (period.since, period.until))
    return f"from {since} to {until} ({zone})"


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

# What was chosen for a channel

PLACE_HEADING = "**How I answer in this channel**"
PLACE_RULES: Mapping[str, str] = {
    "who": "Who may ask",
    "models": "Models",
    "model": "Model of who chose none",
    "instructions": "Instructions",
    "language": "Language",
    "ambient": "Answers without a mention",
    "learning": "Learning",
    "knowledge": "Documents",
}
PLACE_USUAL: Mapping[str, str] = {
    "who": "everybody who may ask me at all",
    "models": "all that people may choose",
    "model": "the usual one",
    "instructions": "none",
    "language": "as usual",
    "ambient": "off",
    "learning": "on, from who has not switched it off",
    "knowledge": "found in answers",
}
FULL_MEMBERS = "full members"
AMBIENT_ON = "on, {many} a day at most"
PLACE_USAGE = (
    "Write `/channel` and `who` (`everyone`, `members`, or people and roles), `models`, `model`, `instructions:`, "
    "`language`, `ambient` (`on`, `off`, or how many answers a day), `learning` or `knowledge` (`on`, `off`) with what "
    "is to hold; `history` shows the changes, `undo` takes the last one back."
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
HUSHED = "I am silent here until tomorrow, unless somebody mentions me. `/channel ambient off` ends it for good."
