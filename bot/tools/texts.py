"""What people read about tools: what they can use, calls that wait for approval, the operators' table, and their
accounts at servers, on the platform and on the pages of a sign-in.
"""

from collections.abc import Sequence

from bot.chat.texts.formatting import literal, shortened

# Tools, and the calls that wait for their asker

TOOLS_MEANT = "Did you mean `/tools {words}`?"
TOOLS_USAGE = "Use `/tools` to see which calls need your approval and which tools I can use for you here."
TOOLS_HERE = "Tools that I can use when you ask me here:"
NO_TOOLS_HERE = "I cannot use any tools when you ask me here."
TOOLS_REFUSED = "Blocked for you here by an operator:"
REFUSED_BY = " (row `{row}`)"
SERVERS_AWAY = "Servers whose tools are not available right now:"
SERVER_STARTS = "still connecting. Ask again in a minute."
SERVER_AWAY = "not reachable for {time}. I retry automatically within ten minutes."
AWAY_HOW = "Operators can find the reason in my log or with `cogency doctor`."
MORE_TOOLS = "- and {tools}"
TOOL_ANSWERS = {
    "yes": "usually runs without asking",
    "ask": "asks you first",
}
ASKED_EACH_TIME = "asks you first, each time"
# What the bot's own tools do. The descriptions of these tools speak to the model.
TOOL_SUMMARIES = {
    "background": "Starts a long task in the background.",
    "call_tool": "Calls a tool after looking it up.",
    "chart": "Draws a chart from numbers.",
    "python": "Runs Python code in a sandbox.",
    "read_again": "Reads an attached file again, or reads the rest of the file.",
    "read_channel": "Reads a channel or a thread.",
    "recall": "Searches past conversations and the documents available here.",
    "remember": "Stores a fact when you ask for it.",
    "schedule": "Sets a reminder or a scheduled task.",
    "schedules": "Lists your reminders and scheduled tasks.",
    "search_slack": "Searches public channels with Slack's own search.",
    "ask_user": "Asks you a question when it needs your decision.",
    "ask_a_human": "Suggests that you ask a human. It sends nothing.",
    "share_file": "Attaches a text file to an answer.",
    "present": "Shows part of an answer as cards, a table, pictures, or buttons.",
    "skill": "Reads the instructions for a kind of task.",
    "tools": "Looks up how to call a tool.",
    "web_fetch": "Reads a web page, a PDF, or a feed.",
    "web_search": "Searches the web.",
}
EFFECTS = {
    "READS": "It only reads.",
    "WRITES_HERE": "It changes what I store.",
    "ACTS_OUTWARD": "It sends, creates, or changes something outside this conversation. Others may notice this.",
    "IRREVERSIBLE": "**It cannot be undone.**",
    "": "I do not know what it does.",
}
ADDRESS_LEAVES = "The site's owner can see everything in this address, and I may have built the address myself."
MAY_RUN = "Approve `{tool}`? {about} It would receive exactly this:"
NO_ARGUMENTS = "(nothing)"
WAITS_BELOW = "You asked: “{question}”"
MORE_WAIT = "{calls} for your approval."
NOTHING_WAITS = (
    "Nothing here needs your approval. Only the person who asked, or people chosen by an operator, can approve a call, "
    "and only within 24 hours."
)
ALLOW_ONCE = "Approve"
ALLOW_HERE = "Approve in this thread"
REFUSE = "Deny"
SIGN_IN_AT = "Sign in to {server}"
SIGN_OUT_OF = "Sign out of {server}"
DECIDED = {
    "allow": "Approved once.",
    "always": (
        "Approved. I will not ask again for this tool in this thread, with a few exceptions: for example, if I have "
        "read other people's text or a tool's result, or if your message mentions someone."
    ),
    "refuse": "Denied. The call will not run.",
}
NOT_DECIDED = {
    "ALLOWED_BEFORE": "You already approved this. Nothing changed.",
    "REFUSED_BEFORE": "You already denied this. Nothing changed.",
    "NOT_THEIRS": "Only the person who asked can decide this.",
    "OVER": (
        "This request is no longer open: it expired, or the question behind it was stopped, forgotten, or asked again. "
        "Nothing changed."
    ),
}

# Calls that others than their asker approve. The words for them are the subject of a sentence.

APPROVING = {
    "manager": "a manager",
    "two managers": "two managers",
    "admin": "an admin",
    "two admins": "two admins",
    "channel-manager": "someone who manages this channel",
    "two channel-managers": "two people who manage this channel",
    "1 role": "someone with a role that an operator chose",
    "2 role": "two people with a role that an operator chose",
    "person": "one person, chosen by an operator,",
}
ASKS_OTHERS = "{who} must approve each call"
OTHER_MAY_RUN = "{asker} needs your approval to use `{tool}`. {about} It would receive exactly this:"
OTHER_ASKED = "{asker} asked: “{question}”"
OTHER_ASKED_ELSEWHERE = "{asker} asked in a place that you cannot read, so the question is not shown."
OPEN_THREAD = "[Open the conversation]({link})"
TWO_NEEDED = "Two people must approve this."
APPROVAL_EXPIRES = "This request expires on {until}."
APPROVAL_REMINDER = "Reminder: a request to use `{tool}` still needs your approval. It expires on {until}."
DENY_WITH_REASON = "Deny with a reason"
DENIAL_TITLE = "Deny this call"
DENIAL_REASON = "Reason"
DENIAL_HINT = "The model reads this, and everyone who can read the answer may see it."
ONE_MORE_NEEDED = "Approved. One more person must approve this before it runs."
OTHERS_DECIDE = "You cannot approve this yourself: {who} must approve it. I asked {people} in direct messages."
NOT_YOUR_OWN = "You cannot approve or deny this, because you asked for it yourself."
NOT_AN_APPROVER = "You cannot approve or deny this: {who} must decide. Nothing changed."
APPROVER_UNKNOWN = "I could not check whether you can approve this. Nothing changed. Try again in a minute."
OUTCOMES = {
    "GIVEN": "`{tool}` for {asker}: approved by {people}.",
    "REFUSED": "`{tool}` for {asker}: denied by {people}.",
    "OVER": "`{tool}` for {asker}: this request is no longer open.",
}

# The operators' table of tools

POLICY_OFFER = "To see and change who can use which tools where, use `/tools policy`."
POLICY_NOT_YOURS = (
    "Only operators can see and change who can use which tools. To see what I can use for you here, use `/tools`. If "
    "you need another tool, ask an operator."
)
POLICY_USAGE = (
    "Write `/tools policy` to see the policy, `/tools policy set TOOLS WHO WHERE ANSWER` for a new row, or `/tools "
    "policy remove NUMBER`. For example:\n\n- `set github.* manager team ask`: if managers or admins ask in public "
    "places, they must approve calls to GitHub tools\n- `set send * * no`: nobody can use `send` anywhere\n- `set "
    "wiki.search U0123 C0123 yes`: this person can use `wiki.search` in this channel without approval\n- `set deploy.* "
    "* * ask by two managers`: two managers other than the person who asks must approve each call. After `by`, write "
    "`manager`, `admin`, `channel-manager`, `role:ID`, a person, or `asker`\n- `remove 3`: removes row 3\n\nIf no row "
    "matches, the tool's effect decides whether a call needs approval."
)
POLICY_NO_SENSE = "Nothing changed: {why}."
POLICY_NO_NAME = (
    "Nothing changed: `{word}` is only a name, and several people can have the same name. Use the person's ID instead, "
    "such as `U0123` (in Slack: “Copy member ID” in their profile)."
)
POLICY_EMPTY = (
    "There are no rows, so each tool's effect decides. Tools that only read usually run without asking. Tools that "
    "send or change something outside the bot ask first. To add a row, use `/tools policy set TOOLS WHO WHERE ANSWER`, "
    "for example `/tools policy set github.* manager team ask`."
)
POLICY_HEAD = "Who can use which tools where. The first row that matches a call applies:"
POLICY_FILE_ROW = "- `{row}` (from the file)"
POLICY_ROW = "- **{number}**: `{row}`"
POLICY_HOW = (
    "`/tools policy set TOOLS WHO WHERE ANSWER` adds a row before the other numbered rows, or replaces a numbered row "
    "for the same tools, people, and place. `/tools policy remove NUMBER` removes a row. Rows from the file come first "
    "and can be changed only in the file."
)
POLICY_SET = "Row {number} is now `{row}`. It applies in every process within ten seconds."
POLICY_FILE_FIRST = "If a row from the file also matches, the row from the file applies."
POLICY_NO_SUCH_TOOL = "No tool with that name is available to you here right now."
POLICY_REMOVED = "Row {number} removed: `{row}`. It stops applying in every process within ten seconds."
POLICY_NO_ROW = "Nothing changed: there is no row {number} that was set with a command."
POLICY_FULL = "Nothing changed: {why}. Remove a row first."
POLICY_BUSY = "Someone else is changing the policy right now, so nothing changed. Try again."
POLICY_UNREADABLE = (
    "The tool policy in the database cannot be read. Restore it from a backup, or delete the row with the owner "
    "“{owner}” and the name “{name}” from the table “preference”."
)
POLICY_FILE_HAS = "the file now has these rows: {rows}"
POLICY_FILE_NONE = "the file now has no rows"

# Accounts at servers

CLIENT_NAME = "Cogency"
NONE = "none"
USAGE = (
    "Use `/tools` to see where you are signed in, `/tools sign in SERVER` for a sign-in link, or `/tools sign out "
    "SERVER` to sign out."
)
NO_SERVERS = "There is no server here that you can sign in to."
NOT_READY = "The tool servers are still starting. Try again in a moment."
NO_SUCH_SERVER = "There is no server “{server}” to sign in to. Available: {servers}."
ACCOUNTS = "Servers where you sign in with your own account:"
NO_ACCOUNT = "- `{server}`: you are not signed in. Get a link with `/tools sign in {server}`."
HAS_ACCOUNT = "- `{server}`: you are signed in. Sign out with `/tools sign out {server}`."
ACCOUNT_WANTS = (
    "- `{server}`: you are signed in, but a tool needs more permissions. Grant them with `/tools sign in {server}`."
)
ACCOUNT_LOST = (
    "- `{server}`: I can no longer read your sign-in, because my operator's key changed. Get a new link with `/tools "
    "sign in {server}`."
)
SIGN_IN_LINK = (
    "[Sign in to {server}]({url})\n\nThis link is only for you, works once, and expires in {minutes} minutes. Do not "
    "share it: anyone who signs in with it lends me *their* account for what *you* ask."
)
SIGN_IN_PASTE = (
    "1. [Sign in to {server}]({url}) within {minutes} minutes. The link is only for you.\n"
    "2. Your browser then shows a page that does not load. Copy its whole address, which begins with "
    "`http://127.0.0.1`.\n"
    "3. Write `/tools sign in {server} ADDRESS`, with that address in place of ADDRESS."
)
TOO_HASTY = "You just asked for several links. Use the last one, or try again in a minute."
PASTE_WHOLE = "Paste the whole address that your browser shows, starting with `http`. The code alone is not enough."
NOT_YOUR_LINK = (
    "This address does not match a sign-in that you started at `{server}`. Nothing changed. Get a new link with "
    "`/tools sign in {server}`."
)
SIGNED_IN = (
    "You are signed in to `{server}`. Starting with your next message, I can use your account there, and only for you."
)
NOT_SIGNED_IN = "You are not signed in to `{server}`: {why}"
SIGNED_OUT = "You are signed out of `{server}`, and the server has revoked my access."
SIGNED_OUT_HERE = (
    "You are signed out of `{server}`, and I erased my access token. The server did not confirm that it revoked the "
    "token. To be sure, also remove Cogency in that server's settings."
)
WAS_NOT_SIGNED_IN = "You were not signed in to `{server}`."
NOT_TOLD = (
    "I erased my access tokens for these servers, but the servers did not confirm that they revoked the tokens: "
    "{servers}. To be sure, also remove Cogency in their settings."
)

# What a tool says, for the model to pass on.

SIGN_IN_TOOL = "Explain how the person can use {server}, which needs their own account."
SIGN_IN_FIRST = (
    "The person is not signed in to {server}. Tell them to write `/tools sign in {server}` and then to ask "
    "their question again. Continue without {server}."
)
KEY_CHANGED = (
    "The person's sign-in to {server} can no longer be read, because the operator's key has changed. Tell them to "
    "write `/tools sign in {server}` and then to ask their question again. Continue without {server}."
)
SIGN_IN_AGAIN = (
    "{server} no longer accepts the person's sign-in. Tell them to write `/tools sign in {server}` and then to "
    "ask their question again. Continue without {server}."
)
MORE_RIGHTS = (
    "The person has not granted this tool the permissions that it needs on {server}. Tell them to write `/tools sign "
    "in {server}`, which requests these permissions, and then ask again. Continue without the tool."
)
SOON_READY = (
    "The person is signed in to {server}, and its tools are available from their next message. If they are not, the "
    "reason is: {why}. Tell the person so, and continue without the server."
)
STILL_CONNECTING = "it is still connecting"
NOT_THEIR_TOOL = "this tool belongs to someone else's account"
TOO_MANY = "too many people are using servers with their own accounts right now; try again in a minute"

# What a server asks the person in the middle of a call.

ASKS_YOU = "**`{source}` has a question for you** about “{question}”. These are its words, not mine:"
NO_WORDS = "(no text)"
NO_SECRETS = "Only you see this. Your answer goes to `{source}`. Do not enter passwords, keys, or card numbers."
OPENS = "It asks you to open this page at **{host}** yourself:"
OPEN_WITH_CARE = "I have not checked it. Open it only if you know that address and expected this."
STRANGE_HOST = "**The name of this site contains letters that may look like other letters (`xn--`).**"
OPTIONAL = "*optional*"
ONE_OF = "Choose from:"
YES = "Yes"
NO = "No"
KINDS = {"NUMBER": "a number", "INTEGER": "a whole number"}
FORM_NAMES = {
    "email": "an email address",
    "uri": "a web address",
    "date": "a date like 2026-01-31",
    "date-time": "a date and time like 2026-01-31T14:00:00+01:00",
}
CHARACTERS = (" character", " characters")
CHOICES = (" of them", " of them")
AT_LEAST = "at least {least}"
AT_MOST = "at most {most}"
FIELD_REQUIRED = "This field is required."
NOT_A_CHOICE = "Choose only from the listed options."
TOO_FEW_CHOSEN = "Choose at least {least}."
TOO_MANY_CHOSEN = "Choose at most {most}."
TEXT_TOO_LONG = "Use at most {most}."
TEXT_TOO_SHORT = "Use at least {least}."
NOT_AN_INTEGER = "Enter a whole number, such as 42."
NOT_A_NUMBER = "Enter a number, such as 4.2."
NUMBER_TOO_SMALL = "Enter {least} or more."
NUMBER_TOO_LARGE = "Enter {most} or less."
FORMS = {
    "email": "Enter an email address, such as ann@example.com.",
    "uri": "Enter a full address, such as https://example.com/page.",
    "date": "Enter a date like 2026-01-31.",
    "date-time": "Enter a date and time like 2026-01-31T14:00:00+01:00.",
}
# Why what a server asks is not even shown.
NO_FORM = "its form contains a field that is not supported"
TOO_MANY_FIELDS = "its form has more than {most} fields"
NOT_BY_FORM = "it asks for a secret in a form, which the specification forbids"
BAD_ADDRESS = "its address is not safe to show"
TOO_LONG_TO_SHOW = "it is too long to read"

# Why a sign-in, or what keeps it, does not succeed.

OAUTH_UNREACHABLE = "it cannot be reached right now. Try again in a few minutes."
OAUTH_NOT_TRUSTED = "its certificate is not trusted here. My operator may have to set SSL_CERT_FILE."
OAUTH_NO_METADATA = "it does not say where to sign in. My operator needs to check its entry in mcp.json."
OAUTH_OTHER_RESOURCE = "it refers to a service that is not its own. Nothing was sent there. Tell my operator."
OAUTH_OTHER_ISSUER = "the response did not come from the service that I contacted. Nothing was sent. Tell my operator."
OAUTH_NO_PKCE = "it does not support PKCE, which I require for every sign-in. Tell my operator."
OAUTH_NO_CLIENT = "my operator needs to register me there first and add the `client_id` to mcp.json."
OAUTH_NOT_REGISTERED = (
    "it does not register apps automatically. My operator needs to register me there and add the `client_id` to "
    "mcp.json."
)
OAUTH_ELSEWHERE = (
    "its sign-in page is on {host}, but its sign-in service is {issuer}. If that is correct, my operator can add the "
    "service as `issuer` to the server's entry in mcp.json."
)
OAUTH_BAD_ADDRESS = "it refers to an address that is not safe to call. Tell my operator."
OAUTH_INSIDE = "it refers to an address in my own network. Nothing was sent there. Tell my operator."
OAUTH_UNREADABLE = "its answer cannot be read. Try again, and tell my operator if it keeps happening."
OAUTH_REFUSED = "it refused: {why}. Try again with a new link."
OAUTH_ENDED = "it says: {why}. Sign in again."
OAUTH_DENIED = "access was denied there, or you did not agree. Nothing changed."
OAUTH_USED = "this link was already used, or it expired. Ask for a new one."

# The pages that a browser is shown.

PERSON = "{name} on {platform} ({id})"
PAGE_ASKS = (
    "<h1>Sign in to {server}</h1><p>Cogency asks to use <b>{server}</b> for <b>{person}</b>. It will use the account "
    "that you sign in with at <b>{host}</b> only for what <b>{person}</b> asks.</p><p>Continue only if that is you, "
    "and you asked for this yourself just now. If someone else sent you this link, close this page; nothing will "
    'happen.</p><form method="post"><input type="hidden" name="browser" value="{browser}"><button>Continue as '
    "{person}</button></form>"
)
PAGE_DONE = (
    "<h1>You are signed in to {server}</h1><p>Cogency can now use it for <b>{person}</b>, starting with the next "
    "message. You can close this page.</p>"
)
PAGE_FAILED = "<h1>Sign-in to {server} failed</h1><p>Reason: {why}</p>"
PAGE_OVER = (
    "<h1>This link has expired</h1><p>A link works once, for ten minutes. For a new one, send <code>/tools</code> to "
    "Cogency.</p>"
)
PAGE_OTHER_BROWSER = (
    "<h1>Sign-in not completed</h1><p>You may have started this sign-in in another browser, or your browser blocks "
    "cookies. Open the link from Cogency in the browser that you sign in with, and allow cookies there.</p>"
)
PAGE_NOTHING = "<h1>There is nothing here</h1>"


# What tools ask in the middle of a call

ANSWER_PART = "Answer {first}–{last} of {all}…"
SEND_BUTTON = "Send"
YES_BUTTON = "Yes"
NO_BUTTON = "No"
OPENED_BUTTON = "I opened it"
DECLINE_BUTTON = "Decline"
LATER_BUTTON = "Cancel"
WINDOW_TITLE = "For {source}"
MORE_QUESTIONS = "{questions} for you after this one."
WRONG_FIELD = "**{field}**: {why}"
QUESTION_TIME = "I will wait up to nine minutes for your answer. To see this again, use `/tools`."
QUESTION_OVER = "This question is closed, because its time ran out or the task that asked it has ended."
ANSWERED = {
    "ACCEPT": "Your answer goes only to `{source}`.",
    "DECLINE": "Declined. I told `{source}` that you chose not to answer.",
    "CANCEL": "Canceled. I told `{source}` that you closed the question without answering.",
}
NOT_ANSWERED = {
    "NOT_THEIRS": "Only the person who asked can answer this.",
    "ANSWERED_BEFORE": "You already answered this. Nothing changed.",
    "OVER": QUESTION_OVER,
    "KEPT": QUESTION_OVER,
}


# What the model asks its asker (`ask_user`)

MODEL_ASKS = "**I have a question** about “{question}”:"
MODEL_ASKS_HOW = (
    "My language model wrote this question. Your answer becomes a message in the conversation, so do not enter "
    "passwords, keys, or card numbers. You have 24 hours, and can also answer with your next message to me there."
)
MODEL_ASKS_TYPED = "Enter the number of an option, another answer, or `skip`."
MODEL_ASKS_IN_WORDS = "Enter your answer, or `skip`."
REPLY_BUTTON = "Other answer…"
REPLY_TITLE = "Your answer"
REPLY_LABEL = "Your answer"
REPLY_HINT = "It becomes a message in this conversation."
SKIP_BUTTON = "Skip"
REPLIED = "Your answer: “{answer}”. I am continuing."
SKIPPED = "Skipped. I am continuing without an answer."
NOTHING_ASKED = (
    "No question is waiting for you here. Only the person who asked me can answer a question, and only until it "
    "expires."
)
NOT_REPLIED = {
    "NOT_THEIRS": "Only the person who asked me can answer this.",
    "ANSWERED_BEFORE": "You already answered this. Nothing changed.",
    "OVER": (
        "This question is closed: it was answered or it expired, or your own question was stopped, forgotten, or asked "
        "again."
    ),
    "KEPT": "",
}


# Of each value: all of a long form fit into one message.
SENT_CHARS = 120


def sent_lines(values: Sequence[tuple[str, str]]) -> list[str]:
    """What was sent, as its person reads it once more."""
    lines = [f"- {literal(name)}: {literal(shortened(value, SENT_CHARS))}" for name, value in values]
    return ["", *lines] if lines else []


PLUGIN_LIST_UNREADABLE = (
    "{file}, the list of plug-ins, cannot be read. Make it a text file with one folder per line, or remove it."
)
PLUGIN_LIST_UNWRITABLE = (
    "{file}, the list of plug-ins, cannot be written ({why}). Make sure that you can write to the folder."
)
MCP_NO_JSON = "{file} is not valid JSON: {error}."
MCP_NO_SERVERS = '{file} must contain an object "mcpServers", as in docs/mcp.md.'
MCP_TOO_MANY = "{file} lists {named} servers; the limit is {most}."
MCP_SERVER = "{file}, server {name}: {problem}."
MCP_CONNECTED = "{sentence}; connected{account} after {seconds:.1f} s; it offers these tools: {offered}"
SHARED_ACCOUNT = " with your account"
CHECK_MCP_ENTRY = (
    "Check its entry in that file, and check that the server starts when you run it yourself. The bot starts without "
    "this server."
)
