"""The texts of the API: `/tokens`, `cogency token` and the errors that programs get."""

NAME_FORM = "must be at most 40 lowercase letters, digits and hyphens, as in my-editor"
SCOPES_FORM = "must be one or more of {scopes}, separated by commas"
DAYS_FORM = "must be a number of days, as in 90d, or never"
BUDGET_FORM = "must be an amount for each day, as in $2.50 or 200,000 tokens"

NAME_TAKEN = "There is already a token named {name}, or there are {limit} tokens. Choose another name, or revoke one."
NO_SUCH_TOKEN = "There is no token {name}."
NAME_OF_MANY_TOKENS = "Several tokens are named {name}. Use a number instead: {numbers}."
NEVER_EXPIRES = "never expires"
EXPIRES = "expires {day:%Y-%m-%d}"
EXPIRED = "expired {day:%Y-%m-%d}"
NEVER_USED = "never used"
LAST_USED = "last used {time:%Y-%m-%d %H:%M} UTC"
A_DAY = "{budget} a day"
SERVICE_IN = "service in {place}"

# `/tokens`
TOKENS_OFF = "You can't create tokens for programs here. Ask an operator to create one for you."
TOKENS_USAGE = (
    "Write `create NAME`, and the scopes if the token needs fewer than {scopes}, as in `create my-editor ask`. To "
    "revoke a token, write `revoke NAME`."
)
NO_TOKENS = "You have no tokens. With a token, a program such as your editor can ask me as you."
YOUR_TOKENS = "Your tokens for programs:"
CREATE_IN_DM = "Only you may see a token. To create one, write to me in a direct message."
SCOPES_NOT_ALLOWED = "On this bot, your tokens can have these scopes: {scopes}."
TOKEN_CREATED = (
    "Your new token **{name}**. I show it once, so copy it now:\n\n`{secret}`\n\nPrograms with this token can ask me "
    "as you, and read what I could show you in a direct message. It {ends}. To revoke it, use `/tokens revoke {name}`."
)
TOKEN_REVOKED = "I revoked the token **{name}**. Programs can no longer use it."
REVOKE_BUTTON = "Revoke {name}"
REVOKE_CONFIRM = "Programs that use the token {name} will no longer reach me."
