"""What people read in commands, their menus, windows and help, on every platform. Pure."""

from agent.admission_terms import Authority

SUMMARISE_THREAD = "Summarize this thread"
SUMMARISE_ONWARDS = "Summarize from here"
SUMMARISE_WHAT = "Summarize the thread. Only you see the answer."
SUMMARISE_THREAD_QUESTION = "Please read this whole thread and summarize it for me: {link}"
SUMMARISE_ONWARDS_QUESTION = "Please read everything from this message on and summarize it for me: {link}"

# Windows for what is remembered

PAGE = "Page {page} of {pages}"
EARLIER_PAGE = "Earlier page"
NEXT_PAGE = "Next page"

# Windows and buttons for forgetting

SOMETHING_ELSE = "Something else…"

# What `/whoami` says

WHOAMI_ENTRIES = {
    "person": "You: {entry}",
    "team": "Workspace or server: {entry}",
    "channel": "This channel: {entry}",
}
WHOAMI_ROLES = "Your roles or user groups: {roles}"
WHOAMI_MORE = " and {count} more"
WHOAMI_NO_ROLES = "Your roles or user groups: none that appear in my settings"
WHOAMI_RANK = "Your rank here: {rank}"
RANKS = {
    Authority.STRANGER: "not a member",
    Authority.GUEST: "guest",
    Authority.EMPLOYEE: "member",
    Authority.MANAGER: "manager",
    Authority.ADMIN: "admin",
}
WHOAMI_DIRECT = "Who can read my answers here: only you"
WHOAMI_GROUP = (
    "Who can read my answers here: everyone who can read this channel. I do not use anything from here in other "
    "channels."
)
WHOAMI_TEAM = "Who can read my answers here: everyone in this workspace or server"
WHOAMI_OPEN = "You can ask me here: {why}."
WHOAMI_CLOSED = "You cannot ask me here. {why}"
WHOAMI_OPERATOR = "You are an operator, so rate limits and daily budgets do not apply to you."
WHOAMI_MANAGES = "You can change this channel's rules with `/channel`."
OPEN_TO_OPERATORS = "operators always can"
OPEN_BY_NAME = "an operator gave you access by name"
OPEN_TO = {
    Authority.GUEST: "guests have access",
    Authority.STRANGER: "people who are not members have access",
}
OPEN_BY_LIST = "an operator gave access to your {kinds}"
OPEN_TO_MEMBERS = "every member has access"
KINDS = {"team": "workspace or server", "channel": "channel", "role": "role", "person": "account"}
WHOAMI_IDS = "In settings such as COGENCY_ALLOW, use these IDs exactly as shown."
WHOAMI_SEND_IDS = "To ask for access, send these IDs to an operator."
