"""What people read about tools: what there is for them, calls that wait for their word, the operators' table, and their
accounts at servers, in the platform and on the pages of a sign-in.
"""

from collections.abc import Sequence

from bot.chat.texts.formatting import literal, shortened

# Tools, and the calls that wait for their asker

TOOLS_MEANT = "Did you mean `/tools {words}`?"
TOOLS_USAGE = "Write `/tools` alone: it shows what waits for you, and what I can use for you here."
TOOLS_HERE = "What I can use when you ask me here:"
NO_TOOLS_HERE = "There is nothing that I can use when you ask me here."
TOOLS_REFUSED = "Not for you here, because an operator has decided so:"
REFUSED_BY = ", by the row `{row}`"
SERVERS_AWAY = "Servers whose tools I cannot use at this moment:"
SERVER_STARTS = "it is still being connected; please ask again in a minute."
SERVER_AWAY = "it has not been reached for {time}. I try it again by myself, within ten minutes."
AWAY_HOW = "My log and `cogency doctor` say why."
MORE_TOOLS = "- and {tools}"
TOOL_ANSWERS = {
    "yes": "runs when it is needed",
    "ask": "asks you first",
}
ASKED_EACH_TIME = "asks you first, each time"
EFFECTS = {
    "READS": "It only reads.",
    "WRITES_HERE": "It changes what I keep.",
    "ACTS_OUTWARD": "Others may notice it: it sends, creates or changes something outside of this conversation.",
    "IRREVERSIBLE": "**It cannot be taken back.**",
    "": "What it does I cannot see from here.",
}
ADDRESS_LEAVES = (
    "Whoever runs that site gets to know all that stands in the address, which I may have put together myself."
)
MAY_RUN = "May I use `{tool}`? {about} It would get exactly this:"
NO_ARGUMENTS = "(nothing)"
WAITS_BELOW = "You had asked: “{question}”"
MORE_WAIT = "{calls} for you behind this one."
NOTHING_WAITS = "Nothing waits for your word here: only the person who asked decides, once, and within a day."
ALLOW_ONCE = "Allow once"
ALLOW_HERE = "Allow in this thread"
REFUSE = "Refuse"
DECIDED = {
    "allow": "Allowed, once.",
    "always": (
        "Approved. In this thread, I ask again only if I have read what others wrote, or if I repeat what a tool said "
        "and your message does not contain everything that the call needs."
    ),
    "refuse": "Refused: it does not run.",
}
NOT_DECIDED = {
    "ALLOWED_BEFORE": "You have allowed this before; nothing has changed.",
    "REFUSED_BEFORE": "You have refused this before; nothing has changed.",
    "NOT_THEIRS": "Only the person who asked decides about this.",
    "OVER": "This waits no more: it was stopped, forgotten or asked anew, or a day has passed. Nothing has changed.",
}

# The operators' table of tools

POLICY_OFFER = "`/tools policy` shows and changes who may use what, and where."
POLICY_NOT_YOURS = (
    "Only my operators can see and change who may use which tools. `/tools` shows what I can use for you here; if you "
    "need something else, please ask one of them."
)
POLICY_USAGE = (
    "Write `/tools policy` to see the table, `/tools policy set TOOLS WHO WHERE ANSWER` for a new row, or `/tools "
    "policy remove NUMBER`. For example:\n\n"
    "- `set github.* manager team ask`: managers and above are asked first, in public places; where no row fits, what "
    "the tool does decides\n"
    "- `set send * * no`: nobody may use `send` anywhere\n"
    "- `set wiki.search U0123 C0123 yes`: this person may, in this channel, without being asked\n"
    "- `remove 3`: row 3 goes"
)
POLICY_NO_SENSE = "Nothing is changed: {why}."
POLICY_NO_NAME = (
    "Nothing is changed: here I get `{word}` as a plain name, which several people may have. Please write the person's "
    "id: in Slack “Copy member ID” in their profile, such as `U0123`."
)
POLICY_EMPTY = (
    "There are no rows: what a tool does decides. Reading runs, and what acts outward is asked for first. `/tools "
    "policy set TOOLS WHO WHERE ANSWER` sets a row, such as `set github.* manager team ask`."
)
POLICY_HEAD = "Who may use what, and where. The first row that fits a call counts:"
POLICY_FILE_ROW = "- `{row}` (from the file)"
POLICY_ROW = "- **{number}**: `{row}`"
POLICY_HOW = (
    "`/tools policy set TOOLS WHO WHERE ANSWER` puts a row before the others that have a number, `/tools policy remove "
    "NUMBER` takes one away. The file's rows stand first, and only the file changes them."
)
POLICY_SET = "Row {number} holds from now on, in every process within ten seconds: `{row}`."
POLICY_FILE_FIRST = "Where a row of the file fits too, that one counts."
POLICY_NO_SUCH_TOOL = "At this moment there is no tool of such a name for you here."
POLICY_REMOVED = "Row {number} is gone, in every process within ten seconds: `{row}`."
POLICY_NO_ROW = "Nothing is changed: there is no row {number} (any more) that was set by a command."
POLICY_FULL = "Nothing is changed: {why}. Please remove one first."
POLICY_BUSY = "Others are changing the table at this moment, so nothing was changed. Please try again."
POLICY_UNREADABLE = (
    "The table of tools in the database cannot be read: bring it back from a backup, or delete the row of the table "
    "“preference” whose owner is “{owner}” and whose name is “{name}”."
)
POLICY_FILE_HAS = "the file now says: {rows}"
POLICY_FILE_NONE = "the file now says nothing"

# Accounts at servers

CLIENT_NAME = "Cogency"
NONE = "none"
USAGE = (
    "Write `/tools` alone to see where you are signed in, `/tools sign in SERVER` for a link, or "
    "`/tools sign out SERVER`."
)
NO_SERVERS = "There is no server here at which you could sign in."
NOT_READY = "The servers are still being started. Please try again in a moment."
NO_SUCH_SERVER = "There is no server “{server}” at which you could sign in. There are: {servers}."
ACCOUNTS = "What I may use as you, once you are signed in:"
NO_ACCOUNT = "- `{server}`: you are not signed in. `/tools sign in {server}` gives you a link."
HAS_ACCOUNT = "- `{server}`: you are signed in. `/tools sign out {server}` ends that."
ACCOUNT_WANTS = (
    "- `{server}`: you are signed in, but a tool needs more rights than you gave. `/tools sign in {server}` asks for "
    "them."
)
ACCOUNT_LOST = (
    "- `{server}`: your sign-in can no longer be read, because my operator's key has changed. `/tools sign in "
    "{server}` gives you a new link."
)
SIGN_IN_LINK = (
    "[Sign in at {server}]({url})\n\nThe link is for you alone, works once, and for {minutes} minutes. Please do not "
    "pass it on: whoever signs in there lends me *their* account for what *you* ask."
)
SIGN_IN_PASTE = (
    "1. [Sign in at {server}]({url}) within {minutes} minutes. The link is for you alone.\n"
    "2. Your browser then shows a page that cannot be opened. Copy its whole address, which begins with "
    "`http://127.0.0.1`.\n"
    "3. Write `/tools sign in {server} ADDRESS`, with that address in place of ADDRESS."
)
TOO_HASTY = "You have just asked for several links. Please use the last one, or try again in a minute."
PASTE_WHOLE = (
    "Please paste the whole address that your browser shows, from `http` on: a code alone does not say enough."
)
NOT_YOUR_LINK = (
    "This address belongs to no sign-in of yours at `{server}` that is still open. Nothing has changed; "
    "`/tools sign in {server}` gives you a new link."
)
SIGNED_IN = "You are signed in at `{server}`. From your next message on I can use it for you, and for you alone."
NOT_SIGNED_IN = "You are not signed in at `{server}`: {why}"
SIGNED_OUT = "You are signed out of `{server}`, and it no longer accepts what I had."
SIGNED_OUT_HERE = (
    "You are signed out of `{server}` here, and what I had is erased. It has not confirmed that it knows: if you "
    "want to be sure, remove Cogency in its own settings, too."
)
WAS_NOT_SIGNED_IN = "You were not signed in at `{server}`."
NOT_TOLD = (
    "These have not confirmed that they no longer accept what I had, which is erased here: {servers}. To be sure, "
    "remove Cogency in their own settings, too."
)

# What a tool says, for the model to pass on.

SIGN_IN_TOOL = "Say how the person can use {server}, which works with an account of their own."
SIGN_IN_FIRST = (
    "The person is not signed in at {server}. Tell them to write `/tools sign in {server}`, and to ask again then; go "
    "on without it."
)
KEY_CHANGED = (
    "The person's sign-in at {server} can no longer be read, because the operator's key has changed. Tell them to "
    "write `/tools sign in {server}`, and to ask again then; go on without it."
)
SIGN_IN_AGAIN = (
    "{server} no longer accepts the person's sign-in. Tell them to write `/tools sign in {server}`, and to ask again "
    "then; go on without it."
)
MORE_RIGHTS = (
    "The person has not given the rights that this needs at {server}. Tell them to write `/tools sign in {server}`, "
    "which asks for them, and to ask again then; go on without it."
)
SOON_READY = (
    "The person is signed in at {server}; its tools are there with their next message. If they are not, the reason is: "
    "{why}. Tell them so, and go on without it."
)
STILL_CONNECTING = "it is still being connected"
NOT_THEIR_TOOL = "this tool belongs to somebody else's account"
TOO_MANY = "too many people use servers of their own accounts at this moment; try again in a minute"

# What a server asks the person in the middle of a call.

ASKS_YOU = "**`{source}` asks you**, for your question “{question}”. These are its words, not mine:"
NO_WORDS = "(no words)"
NO_SECRETS = (
    "Only you see this. What you send goes to `{source}`, which reads it: no passwords, keys or card numbers, please."
)
OPENS = "It wants you to open this page at **{host}** yourself:"
OPEN_WITH_CARE = "I have not looked at it. Open it only if you know that address and expected this."
STRANGE_HOST = "**Its name holds letters that look like others (`xn--`).**"
OPTIONAL = "*optional*"
ONE_OF = "Of these:"
YES = "Yes"
NO = "No"
KINDS = {"NUMBER": "a number", "INTEGER": "a whole number"}
FORM_NAMES = {
    "email": "an e-mail address",
    "uri": "an address",
    "date": "a date like 2026-01-31",
    "date-time": "a moment like 2026-01-31T14:00:00+01:00",
}
CHARACTERS = " characters"
CHOICES = " of them"
AT_LEAST = "at least {least}"
AT_MOST = "at most {most}"
FIELD_REQUIRED = "This is needed."
NOT_A_CHOICE = "This is none of the choices."
TOO_FEW_CHOSEN = "Choose at least {least}."
TOO_MANY_CHOSEN = "Choose at most {most}."
TEXT_TOO_LONG = "At most {most} characters."
TEXT_TOO_SHORT = "At least {least} characters."
NOT_AN_INTEGER = "Write a whole number, such as 42."
NOT_A_NUMBER = "Write a number, such as 4.2."
NUMBER_TOO_SMALL = "At least {least}."
NUMBER_TOO_LARGE = "At most {most}."
FORMS = {
    "email": "Write an e-mail address, such as ann@example.com.",
    "uri": "Write a whole address, such as https://example.com/page.",
    "date": "Write a date like 2026-01-31.",
    "date-time": "Write a moment like 2026-01-31T14:00:00+01:00.",
}
# Why what a server asks is not even shown.
NO_FORM = "it asks for what no form can hold"
TOO_MANY_FIELDS = "its form has more than {most} fields"
NOT_BY_FORM = "it asks for a secret by form, which the specification forbids"
BAD_ADDRESS = "its address is not safe to be shown"
TOO_LONG_TO_SHOW = "it is longer than anybody reads"

# Why a sign-in, or what keeps it, does not succeed.

OAUTH_UNREACHABLE = "it cannot be reached at this moment. Please try again in a few minutes."
OAUTH_NOT_TRUSTED = "its certificate is not trusted here. My operator has to set SSL_CERT_FILE."
OAUTH_NO_METADATA = "it does not say where one signs in. My operator has to look at its entry in mcp.json."
OAUTH_OTHER_RESOURCE = "it names another service than its own. Nothing was sent there; please tell my operator."
OAUTH_OTHER_ISSUER = (
    "the answer does not come from the service that was asked. Nothing was sent; please tell my operator."
)
OAUTH_NO_PKCE = "it does not offer the protection (PKCE) without which I sign nobody in. Please tell my operator."
OAUTH_NO_CLIENT = "my operator has to register me there first, and to write the `client_id` into mcp.json."
OAUTH_NOT_REGISTERED = (
    "it does not register me. My operator has to do so there, and to write the `client_id` into mcp.json."
)
OAUTH_BAD_ADDRESS = "it names an address that is not safe to ask. Please tell my operator."
OAUTH_INSIDE = "it names an address in my own network. Nothing was sent there; please tell my operator."
OAUTH_UNREADABLE = "its answer cannot be understood. Please try again, and tell my operator if it stays so."
OAUTH_REFUSED = "it refuses: {why}. Please try again with a new link."
OAUTH_ENDED = "it says: {why}. Please sign in again."
OAUTH_DENIED = "you were not let in there, or did not agree. Nothing has changed."
OAUTH_USED = "this link has been used already, or is over. Please ask for a new one."

# The pages that a browser is shown.

PERSON = "{name}, on {platform} ({id})"
PAGE_ASKS = (
    "<h1>Sign in at {server}</h1><p>Cogency asks to use <b>{server}</b> for <b>{person}</b>. What you sign in with at "
    "<b>{host}</b> will then be used for what <b>{person}</b> asks, and for nobody else.</p><p>Go on only if that is "
    "you, and you have just asked for this yourself. If somebody sent you this link, close this page: nothing happens "
    "then."
    '</p><form method="post"><input type="hidden" name="browser" value="{browser}"><button>I am {person}: go '
    "on</button>"
    "</form>"
)
PAGE_DONE = (
    "<h1>You are signed in at {server}</h1><p>Cogency can now use it for <b>{person}</b>, from the next message on. "
    "You can close this page.</p>"
)
PAGE_FAILED = "<h1>You are not signed in at {server}</h1><p>The reason: {why}</p>"
PAGE_OVER = (
    "<h1>This link is over</h1><p>It works once, and for ten minutes. Write <code>/tools</code> to Cogency for a new "
    "one.</p>"
)
PAGE_OTHER_BROWSER = (
    "<h1>Nothing has happened</h1><p>This sign-in was not begun in this browser. Open the link that Cogency gave you "
    "in the browser in which you sign in, and allow it to keep cookies.</p>"
)
PAGE_NOTHING = "<h1>There is nothing here</h1>"


# What tools ask in the middle of a call

ANSWER_PART = "Answer {first}–{last} of {all}…"
SEND_BUTTON = "Send"
YES_BUTTON = "Yes"
NO_BUTTON = "No"
OPENED_BUTTON = "I have opened it"
DECLINE_BUTTON = "Decline"
LATER_BUTTON = "Cancel"
WINDOW_TITLE = "For {source}"
MORE_QUESTIONS = "{questions} for you behind this one."
WRONG_FIELD = "**{field}**: {why}"
QUESTION_TIME = "I wait for it for nine minutes at most. If this is gone from your screen, `/tools` shows it again."
QUESTION_OVER = "Nobody waits for this answer any more: its time is over, or what asked for it has ended."
ANSWERED = {
    "ACCEPT": "Your answer goes to `{source}`, and to nobody else.",
    "DECLINE": "Declined: `{source}` is told that you do not want to say it.",
    "CANCEL": "Cancelled: `{source}` is told that you have not decided.",
}
NOT_ANSWERED = {
    "NOT_THEIRS": "Only the person who asked can answer this.",
    "ANSWERED_BEFORE": "You have answered this before; nothing has changed.",
    "OVER": QUESTION_OVER,
    "KEPT": QUESTION_OVER,
}


# Of each value: all of a long form fit into one message.
SENT_CHARS = 120


def sent_lines(values: Sequence[tuple[str, str]]) -> list[str]:
    """What was sent, as its person reads it once more."""
    lines = [f"- {literal(name)}: {literal(shortened(value, SENT_CHARS))}" for name, value in values]
    return ["", *lines] if lines else []


PLUGIN_LIST_UNREADABLE = (
    "{file}, the list of plug-ins, cannot be read: make it a text file with one folder on each line, or remove it."
)
PLUGIN_LIST_UNWRITABLE = "{file}, the list of plug-ins, cannot be written ({why}): make its folder yours."
MCP_NO_JSON = "{file} is no JSON: {error}."
MCP_NO_SERVERS = '{file} must hold an object "mcpServers", as in docs/tools.md.'
MCP_TOO_MANY = "{file} names {named} servers; {most} at most."
MCP_SERVER = "{file}, server {name}: {problem}."
ACCOUNT_KEY_WRONG = "{where} must hold 32 random bytes as base64: `openssl rand -base64 32` writes them."
ACCOUNT_KEY_OPEN = "{name} names {file}, which others may read: `chmod 600 {file}` makes it yours alone."
ACCOUNT_KEY_UNREADABLE = "{name} names {file}, which cannot be read: it must be a text file that you may read."
MCP_CONNECTED = "{sentence}; connected{account} after {seconds:.1f} s; these tools are offered: {offered}"
SHARED_ACCOUNT = " with your account"
CHECK_MCP_ENTRY = "Check its entry in that file, and that it runs by itself; the bot starts without it."
