"""The texts of the API: `/tokens`, `cogency token` and the errors that programs get."""

NAME_FORM = "must be at most 40 lowercase letters, digits, and hyphens, as in my-editor"
SCOPES_FORM = "must be one or more of {scopes}, separated by commas"
DAYS_FORM = "must be a number of days, as in 90d, or never"
BUDGET_FORM = "must be an amount above 0, as in $2.50 or 200,000 tokens"

NAME_TAKEN = (
    "The token was not created, because the name {name} is in use or there are already {limit} tokens. Choose another "
    "name, or revoke a token."
)
POST_ALONE = (
    "A token with the post scope must be for a service in one channel (--as service, and --place with a channel) or "
    "for a person. Only operators can create it for a person. A person's token with this scope cannot have other "
    "scopes, so that no program posts what the bot told it."
)
NO_SUCH_TOKEN = "There is no token named {name}."
NAME_OF_MANY_TOKENS = "Several tokens are named {name}. Use a number instead: {numbers}."
NEVER_EXPIRES = "never expires"
EXPIRES = "expires on {day:%Y-%m-%d}"
EXPIRED = "expired on {day:%Y-%m-%d}"
NEVER_USED = "never used"
LAST_USED = "last used {time:%Y-%m-%d %H:%M} UTC"
A_DAY = "{budget} a day"
SERVICE_IN = "service in {place}"

# `/tokens`
TOKENS_OFF = "My operators do not let people create tokens for programs. Ask an operator to create one for you."
TOKENS_USAGE = (
    "To create a token, write `/tokens create NAME`. It has all scopes ({scopes}), unless you list fewer, "
    "as in `/tokens create my-editor ask`. To revoke a token, write `/tokens revoke NAME`."
)
NO_TOKENS = "You have no tokens. With a token, a program such as your editor can ask me as you."
YOUR_TOKENS = "Your API tokens:"
CREATE_IN_DM = "Only you should see your tokens. To create one, write to me in a direct message."
SCOPES_NOT_ALLOWED = "On this bot, your tokens can have these scopes: {scopes}."
TOKEN_CREATED = (
    "Here is your new token, **{name}**. I will show it only once, so copy it now:\n\n`{secret}`\n\nPrograms with "
    "this token can use me as you (scopes: {scopes}), and may read what I could show you in a direct message. The "
    "token {ends}. To revoke it, use `/tokens revoke {name}`."
)
SIGN_IN_CODE = (
    "Your code is **{code}**. It is valid once, for {minutes} minutes. Enter it only on my sign-in page, and only if "
    "you opened that page from your own app just now. The app can then use me as you. Never give the code to anyone, "
    "whatever they say."
)
TOKEN_REVOKED = "I revoked the token **{name}**. Programs can no longer use it."
REVOKE_BUTTON = "Revoke {name}"
REVOKE_CONFIRM = "Programs that use the token {name} will no longer be able to reach me."

# Errors that programs get. Their users read them.
NO_TOKEN = (
    "This request has no valid token. Send a token as the API key (Authorization: Bearer …). Tokens are created with "
    "/tokens in the chat, or by an operator with `cogency token create`."
)
NO_SCOPE = "This token does not have the {scope} scope, which this request needs. Create a token with this scope."
BUSY = "Too many requests with this token are running. Try again when one has ended."
NO_SUCH_PATH = (
    "There is nothing at this address. This API has /v1/models, /v1/chat/completions, /v1/responses, and /v1/posts."
)
WRONG_METHOD = "Use {method} for this address."
NO_JSON_TYPE = "Send JSON, with the header Content-Type: application/json."
NO_JSON = "The body is not valid JSON in UTF-8."
NO_OBJECT = "The body must be a JSON object."
TOO_DEEP = "The JSON is nested more than {depth} levels deep. Use fewer levels."
MANY_PARTS = (
    "The body contains more than {limit:,} {{ and [ characters. Send fewer messages. If you continue a conversation, "
    "the bot uses its own history of it."
)
MISSING = "Missing required field: {param}."
NO_TEXT = "{param} must be a string."
NO_FLAG = "{param} must be true or false."
NO_METADATA = (
    "metadata must be an object with up to {pairs} keys of up to {key} characters, whose values are strings of up to "
    "{value} characters."
)
NO_MESSAGES = "{param} must be a list with at least one message."
NO_MESSAGE = (
    "{param} must be a message object with the fields role and content. Tool calls and tool results are not supported."
)
NO_ROLE = "The role of {param} must be one of {roles}."
NO_TEXT_PART = "{param} is not text. Images, files, and audio are not supported. Send text only."
LAST_NOT_USER = 'The last message is the question, so its role must be "user".'
QUESTION_EMPTY = "The last message is the question, so it cannot be empty."
QUESTION_LONG = "The question has more than {limit:,} characters. Shorten it."
CONVERSATION_FORM = (
    "The name of a conversation must begin with a letter (A–Z, a–z) or a digit. It can have up to 64 of these letters, "
    "digits, hyphens, and underscores."
)
TWO_CONVERSATIONS = "Use either previous_response_id or conversation, not both."
NO_RESPONSE = (
    "There is no previous response with this ID in your conversations. To start a new one, leave out "
    "previous_response_id."
)
NO_MODEL = "There is no model {name} for this token. GET /v1/models lists the models."
_OWN_TOOLS = "The bot uses its own tools, and requests cannot add others. Leave out {param}."
UNSUPPORTED = {
    "tools": _OWN_TOOLS.format(param="tools"),
    "functions": _OWN_TOOLS.format(param="functions"),
    "n": "The bot gives one answer. Leave out n.",
    "logprobs": "Log probabilities are not available. Leave out logprobs.",
    "response_format": "The bot answers with text. Leave out response_format, and describe the format in the question.",
    "text": "The bot answers with text. Leave out text.format, and describe the format in the question.",
    "modalities": "The bot answers with text. Leave out modalities.",
    "audio": "The bot answers with text. Leave out audio.",
    "background": "Background responses are not supported. Leave out background.",
    "prompt": "Stored prompts are not supported. Send the question as input.",
}
PERSON_REFUSED = "The token's owner cannot ask the bot right now: {why}"
NOT_CONNECTED = (
    "The bot is not connected to {platform} right now, so it cannot check who can ask. Try again in a minute."
)
NOT_CONNECTED_TO_POST = "The bot is not connected to {platform} right now. Try again in a minute."
NOT_POSTED = "The bot cannot post there: {why}"
POST_NO_CHANNEL = (
    "This token is not for a single channel, so it cannot post. Ask an operator for a service's token with a channel "
    "as its place."
)
POST_KEY = "The Idempotency-Key header can appear only once, with up to {limit} printable characters."
POST_FIELD = "{name} is not supported. A post has the fields text and channel."
POST_NO_SUCH_CHANNEL = "channel must be the ID, the link, or the name of a channel."
POST_OTHER_CHANNEL = "A service's token posts only in its own channel. Leave out channel."
POST_FOR_NOBODY = "On this bot, only services' tokens can post. An operator can change this (COGENCY_ACT)."
POST_IN_THREAD = "Programs can post in channels, but not in threads. Name the channel."
POST_CLOSED = (
    "The bot may not post for people in {name}. Its managers and operators can change this with /channel act on."
)
POSTS_OF_PERSON = "The token's owner has reached today's limit of {limit} posts and other actions. Try again tomorrow."
POSTS_IN_PLACE = "This channel has reached today's limit of {limit} posts and other actions. Try again tomorrow."
POST_EMPTY = "The text of a post cannot be empty."
POST_LONG = "The text has more than {limit:,} characters. Shorten it, or split it into several posts."
TOKEN_SPENT = "This token has used its budget of {budget} for today (UTC). Try again tomorrow."
INTERRUPTED = "The bot stopped before the answer was complete. Ask again."
STORE_AWAY = "The bot's database cannot be reached right now. Try again in a minute."
CLIENT_GONE = "The program that asked is no longer connected."
TOKEN_REVOKED_MEANWHILE = "The token was revoked. Use another token."
FILE_NOT_SENT = "(The bot also made the file {name}, which this API cannot return.)"
SENT_BEFORE = "an earlier message of this conversation, as reported by the program"
SENT_ORDERS = "instructions that the program sent with the question"
