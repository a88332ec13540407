"""What incoming webhooks say: to operators in errors of `hooks.toml` and at the command line, and in channels."""

from collections.abc import Mapping
from typing import Final

# Templates. Each ends a sentence that names the hook and the key.

TEMPLATE_LONG: Final = "it can have at most {most:,} characters"
TEMPLATE_TOO_LONG: Final = "it takes too many steps for this payload: loop over fewer items, or read fewer fields"
TEMPLATE_LOOPS_TEXT: Final = "a loop must iterate over a list or an object"
TEMPLATE_CHARS: Final = "truncate needs a whole number of characters"
TEMPLATE_FORBIDDEN: Final = "{what} cannot be used in a webhook's template"
TEMPLATE_RECURSION: Final = "a recursive loop"
TEMPLATE_FILTER: Final = "there is no filter {name}; the filters are {known}"
TEMPLATE_TEST: Final = "there is no test {name}; the tests are {known}"
TEMPLATE_WORDS: Final[Mapping[str, str]] = {
    "Call": "a function",
    "CallBlock": "a macro",
    "Macro": "a macro",
    "FilterBlock": "a filter block",
    "AssignBlock": "a set block",
    "Include": "another file",
    "Import": "another file",
    "FromImport": "another file",
    "Extends": "another file",
    "Mul": "arithmetic",
    "Pow": "arithmetic",
    "Mod": "arithmetic",
    "Add": "arithmetic (to join texts, use ~)",
    "Sub": "arithmetic",
    "Div": "arithmetic",
    "FloorDiv": "arithmetic",
}

# The file of hooks.

HOOK_FAULT: Final = "{file}: the webhook {name}: {problem}"
NO_TOML: Final = "{file} is not valid TOML: {error}. Correct the file, and restart the bot."
TOO_MANY_HOOKS: Final = "{file} has more than {most} webhooks. Remove some."
HOOK_NAME: Final = (
    '"{name}" cannot be the name of a webhook. Use up to 32 lowercase letters, digits, and hyphens, and begin with a '
    "letter."
)
HOOK_NO_TABLE: Final = "it must be a table, as in [alerts] with its keys below."
UNKNOWN_KEY: Final = "{value} is not a valid key.{meant} The valid keys are {known}."
UNKNOWN: Final = "{key} cannot be {value}.{meant} Use one of these: {known}."
DID_YOU_MEAN: Final = " Did you mean {close}?"
MISSING: Final = "{key} is missing. Use one of these: {known}."
NO_STRING: Final = "{key} must be a string in quotes."
STRING_LONG: Final = "{key} can have at most {most:,} characters."
NO_NUMBER: Final = "{key} must be {kind} from {least} to {most}."
NO_LIST: Final = "{key} must be a list of at most {most} strings."
CHANNEL_FORM: Final = (
    "channel must be a platform and a channel ID, as in slack:C0123456789, slack:T0123456789:C0123456789, or "
    "discord:41771983423143937."
)
TOOL_FORM: Final = (
    'tools must be a list of tool names, in which * matches any characters, as in ["recall", "grafana.*"].'
)
MENTION_FORM: Final = (
    "mention must be a list of IDs: people (U0123456789) or user groups (S0123456789) in Slack, and people "
    "(41771983423143937) or roles (&41771983423143936) on Discord."
)
QUIET_FORM: Final = "quiet must be a time span, optionally with a time zone, as in 22:00-07:00 Europe/Berlin."
ASK_MISSING: Final = 'do = "ask" needs a question. Add it, as in ask = "What could be the cause?".'
ASK_UNUSED: Final = 'ask is used only with do = "ask". Set do = "ask", or remove ask.'
TOOLS_UNUSED: Final = 'tools are used only with do = "ask". Set do = "ask", or remove tools.'
ONE_PLACE: Final = (
    "set either secret_env (an environment variable with the secret) or secret_file (a file with the secret), but not "
    "both. `cogency hooks add` writes such a file."
)
NO_VARIABLE: Final = "secret_env must be the name of an environment variable, not the secret itself."
EMPTY_FILE: Final = "{where} does not contain a secret. Put the secret there, or run `cogency hooks rotate {name}`."
UNREADABLE: Final = "{error} Put the secret there, or run `cogency hooks rotate {name}`."
MANY_KEYS: Final = "{where} contains more than {most} secrets. Keep only the current one, and at most one older one."
KEY_FAULT: Final = "the secret in {where} {fault}. `cogency hooks rotate {name}` creates a new one."
TEMPLATE_FAULT: Final = "its template {key} is invalid: {error}."
NO_FILES: Final = "secret_file cannot be read here."

# What a sender is told. Each is a sentence without its full stop.

TOLD_SIGNATURE: Final = "The signature or the credentials are missing, wrong, or too old"
TOLD_NO_JSON: Final = "The body is not JSON; send application/json in UTF-8"
TOLD_TOO_DEEP: Final = "The JSON is nested too deeply"
TOLD_TEMPLATE: Final = "The webhook's template does not work with this payload"
TEMPLATE_FAILED: Final = "its template does not work with the payload: {error}"
TOLD_UNKNOWN: Final = "There is no such webhook here"
TOLD_METHOD: Final = "Send a POST request"
TOLD_HEADERS: Final = "The request has too many headers"
TOLD_LENGTH: Final = "Send the body with a Content-Length header, not in chunks"
TOLD_BUSY: Final = "Too many events are waiting; try again in a minute"
TOLD_RATE: Final = "Too many events; try again in a minute"
TOLD_UNSTORED: Final = "The event could not be stored; try again in a minute"
TOLD_IGNORED: Final = "Nothing to post"
TOLD_DUPLICATE: Final = "Already received"
TOLD_STORED: Final = "Accepted"

# For operators, in the log and on their page.

ENDPOINT: Final = "webhook {name}"
RATE_REACHED: Final = "more events arrived than per_minute in hooks.toml allows ({rate})"
TOO_MANY_WAIT: Final = "{most} events from this webhook are waiting to be posted"
EVENTS_DROPPED: Final = "%d webhook events were deleted, because they could not be posted for two days"
EVENT_DELAYED: Final = "an event from the webhook %s is delayed: %s"
UNEXPECTED: Final = "an unexpected error occurred"
NOT_CONNECTED: Final = "its platform is not connected"
SEVERAL_WORKSPACES: Final = (
    "several workspaces are connected; name one in hooks.toml, as in slack:T0123456789:C0123456789"
)

# In channels.

OVER_BUDGET: Final = "I did not look into this: the daily budget of the webhook {name} is used up."
EVENT_SOURCE: Final = "an event that the webhook {name} reported"
