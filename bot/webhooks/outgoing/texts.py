"""What outgoing webhooks say to operators."""

# The file of webhooks.

NO_TOML = (
    "COGENCY_OUTGOING_WEBHOOKS: {file} is not valid TOML: {error}. Write a [[webhook]] table for each receiver; see "
    "docs/webhooks-out.md."
)
NO_TABLE = (
    "COGENCY_OUTGOING_WEBHOOKS: {file} contains {key}, which is not valid there. Write a [[webhook]] table for each "
    "receiver."
)
EMPTY = (
    "COGENCY_OUTGOING_WEBHOOKS: {file} does not contain any webhooks. Write a [[webhook]] table for each receiver, or "
    "remove the setting."
)
TOO_MANY = "COGENCY_OUTGOING_WEBHOOKS: {file} contains more than {most} webhooks. Remove some of them."
TWICE = "COGENCY_OUTGOING_WEBHOOKS: {file} contains two webhooks named {name}. Give each one its own name."
ROW_WRONG = "COGENCY_OUTGOING_WEBHOOKS: {file}, webhook {row}: {problem}."
NO_ROW = "it must be a table: a line [[webhook]], with its keys below"
BAD_NAME = "its name must be up to 30 lowercase letters, digits, and hyphens, and begin with a letter"
UNKNOWN_KEY = "{key} is not a valid key; the valid keys are {known}"
BAD_URL = "url is not valid: {problem}"
NO_SCHEME = "it must begin with https:// or, for a host in COGENCY_NETWORKS_ALLOWED, with http://"
NO_EVENTS = "events is empty; list at least one of {known}"
UNKNOWN_EVENT = "{event} is not an event; the events are {known}"
NO_PLACES = "places must list between 1 and {most} places; remove the key to send events from all places"
BAD_PLACE = "{place} is not the ID of a place; use an ID from `cogency place find`, such as slack:T0123:C0123"
BAD_WORDS = "words must be true or false, without quotes"
WORDS_NEED_PLACES = "with words = true, list the channels in places"
KEY_MISSING = "secret_env or secret_file is missing; name the environment variable or the file with the secret"
KEY_TWICE = "{first} and {second} are both set; remove one of them"
BAD_VARIABLE = "{key} must be the name of an environment variable, not the secret itself"
VARIABLE_MISSING = "{key} names the environment variable {variable}, which is not set or is empty"
NO_TEXT = 'the value of {key} must be a quoted string, as in {key} = "…"'
NO_LIST = 'the value of {key} must be a list of quoted strings, as in {key} = ["…"]'

# Why a delivery failed, as an operator reads it.

TOO_LATE = "no answer within {seconds:g} seconds"
NO_HTTP = "the connection broke, or the answer was not valid HTTP"
PLAIN_HTTP = "http:// is allowed only for hosts in COGENCY_NETWORKS_ALLOWED; use https://"
STATUS = "the receiver answered with status {status}"
REDIRECT = "the receiver answered with a redirect ({status}), which the bot does not follow; correct the URL"
GONE = "the receiver answered with 410 Gone, which disables the webhook"

# The log.

DISABLED = (
    "the webhook %s is disabled, because its receiver answered with 410 Gone. Remove it from the file, or run "
    "`cogency webhooks retry %s` to enable it again"
)
STILL_DISABLED = "the webhook %s is disabled; `cogency webhooks retry %s` enables it again"
GIVEN_UP = "the webhook %s: an event could not be delivered and is listed by `cogency webhooks failed`: %s%s"
TRIED_AGAIN = "the webhook %s: an event was not delivered and will be sent again: %s%s"
SERVING = "webhooks: %s"
