"""The texts of `/model`, and what is wrong with a model."""

from agent.providers.catalog import Endpoint, ToolsForm
from bot.chat.texts.replies import USUAL
from bot.models.abilities import Ability, Verdict

HOME_MODEL = "The model that answers you"


def chosen_model(words: str) -> str:
    """The name that somebody wrote, for `ModelChoices.choose`; "" is the usual one."""
    return "" if words.strip().casefold() == USUAL else words.strip()


MODEL_CHOSEN = "you chose it"
MODEL_AS_USUAL = "it is the default"
REHEARSAL_AS_USUAL = "it is the offline rehearsal model, which needs no key and costs nothing"
MODEL_FOR_PERSON = "my operator chose it for you"
MODEL_FOR_CHANNEL = "my operator chose it for this channel"
MODEL_FOR_PLACE = "a manager chose it for this channel"


NO_MODEL_LEFT = (
    "You cannot use any of the models that are allowed in this channel. A manager of the channel can allow others with "
    "`/channel models NAME`, or all models with `/channel models all`."
)
MODEL_NOT_OPEN = "You cannot use that model. Choose one of {names}."


# The keys of channels

OWN_KEY = "the channel's own key"  # In place of a setting, in errors for operators
OWN_KEYS_HEADING = (
    "**This channel's own API keys.** The channel's questions to these services are billed to these keys:"
)
NO_OWN_KEYS_YET = (
    "This channel has no API keys of its own, so its questions are billed to my operator. A manager of the channel can "
    "add a key for a service. The channel's questions to that service are then billed to that key."
)
OWN_KEY_LINE = "- **{label}**{end}, added on {day}{state}"
OWN_KEY_IS_REFUSED = ". **The service has not accepted it since {time}.** Check the account, or replace the key"
OWN_KEYS_UNUSED = (
    "**This channel's own API keys.** My operator has turned off channels' own keys, so I do not use them:"
)
OWN_KEYS_OF_MANAGERS = "Only managers of this channel and my operators can change its keys."
NO_OWN_KEYS = "My operator's settings do not allow API keys for individual channels."
OWN_KEYS_OFF = "Set COGENCY_CHANNEL_KEYS=on first. Without it, channels' own keys are not used."
NO_OWN_KEY_OF_SERVICE = "I do not use any of that service's models, so a key would have no effect."
NO_OWN_KEYS_HERE = "This is not a channel. Use `/keys` in the channel that the keys are for."
OWN_KEYS_USAGE = (
    "Use `/keys` to see this channel's keys and add one with the button, or `/keys remove openai` to remove one. Do "
    "not write a key after the command or in a message. If you did, revoke that key at its service and create a new "
    "one."
)
OWN_KEY_SAVED = "I saved the key for {label} ({end}). This channel uses it starting with the next question."
OWN_KEY_REMOVED = "I removed this channel's key for {label}. Starting with the next question, I use my operator's key."
OWN_KEY_MISSING = "This channel has no key of its own for {label}."
REMOVE_OWN_KEY = "Remove {label} key"
REMOVE_OWN_KEY_SURE = "This channel's questions to this service are then billed to my operator's key."
OWN_KEY_WRONG = "{label} does not accept this key, so I did not save it. Copy it again, or create a new one."
OWN_KEY_UNCHECKED = "I could not check the key with {label}, so I did not save it. Try again in a moment."
NOT_AN_OWN_KEY = "That is not an API key, so I did not save it. Enter a single key, without spaces or quotation marks."
OWN_KEYS_NEED_EXTRA = (
    "COGENCY_CHANNEL_KEYS needs the 'mcp' extra, which encrypts the keys. It is not installed. Run {command}"
)
OWN_KEYS_NEED_SEALING = (
    "COGENCY_CHANNEL_KEYS needs COGENCY_ACCOUNT_KEY, which encrypts channels' API keys. Set COGENCY_ACCOUNT_KEY to 32 "
    "random bytes as base64, such as the output of `openssl rand -base64 32`."
)


CHECKED_ONE = "{passed} {seconds:6.1f} s  The model can {ability}."
CHECK_BEGINS = (
    "This check of {name} asks up to {questions} questions and uses about {tokens:,} tokens{dollars}. `cogency usage` "
    "includes these tokens. Press Ctrl-C to stop."
)
CHECK_UNPRICED = ", for which there is no list price"
# The page of what a check found

VERDICTS = {
    Verdict.YES: "yes",
    Verdict.NO: "no",
    Verdict.UNKNOWN: "unclear",
    Verdict.NOT_SENT: "not used",
    Verdict.FAILED: "failed",
    Verdict.NOT_TRIED: "not tried",
}
ABILITIES = {
    Ability.STREAMING: "Streaming",
    Ability.PICTURES: "Pictures",
    Ability.EFFORT: "Effort",
    Ability.CACHING: "Caching",
    Ability.CONTEXT: "Context window",
}
CHECKED_FORMS = {ToolsForm.TEXT: "Tool calls as text", ToolsForm.NATIVE: "Native tool calls"}
CHECKED_ONLY_FORM = "Tool calls"
CHECKED_PROBES = "It passed {passed} of {probes} probes."
CHECK_NOT_TRIED = "This was not tested."
CHECK_FAILED = "The question was not answered: {why}"
# By the ability, the verdict, and whether there are numbers.
SEEN = {
    (Ability.STREAMING, Verdict.YES, True): (
        "The answer arrived in {pieces}, the first after {first:.1f} s and the last after {last:.1f} s."
    ),
    (Ability.STREAMING, Verdict.NO, True): (
        "The answer arrived all at once after {last:.1f} s ({pieces}), so people see nothing until it is complete."
    ),
    (Ability.STREAMING, Verdict.UNKNOWN, True): "The model did not write any text.",
    (Ability.PICTURES, Verdict.YES, False): "The model described a picture correctly.",
    (
        Ability.PICTURES,
        Verdict.NO,
        False,
    ): "The service accepted a picture, but the model did not describe it correctly.",
    (Ability.PICTURES, Verdict.NO, True): (
        "The service refused a picture. If a question has pictures, the bot leaves them out and says so."
    ),
    (Ability.PICTURES, Verdict.NOT_SENT, False): "The bot does not send pictures to this model.",
    (Ability.EFFORT, Verdict.YES, True): (
        "The model used {low:,} reasoning tokens with low effort, and {high:,} with high effort."
    ),
    (Ability.EFFORT, Verdict.UNKNOWN, True): (
        "The service accepts an effort setting, but the model did not use more reasoning tokens with high effort "
        "({high:,}) than with low effort ({low:,})."
    ),
    (Ability.EFFORT, Verdict.UNKNOWN, False): "The service accepts an effort setting, but does not report tokens.",
    (Ability.EFFORT, Verdict.NO, False): "The service refused the effort setting, so the bot does not send it.",
    (Ability.EFFORT, Verdict.NOT_SENT, False): "The bot does not send an effort setting to this model.",
    (Ability.CACHING, Verdict.YES, True): "{cached:,} of the {prompt:,} prompt tokens came from the cache.",
    (Ability.CACHING, Verdict.NO, True): "None of the {prompt:,} prompt tokens came from the cache.",
    (Ability.CACHING, Verdict.UNKNOWN, False): "The service does not report tokens.",
    (Ability.CONTEXT, Verdict.YES, True): "{tokens:,} tokens, according to the service.",
    (Ability.CONTEXT, Verdict.UNKNOWN, False): "The service does not report the size.",
}
CHECK_PAGE = "{model} at {address}, checked on {date} with Cogency {version}:"
CHECK_TOOK = "This check used: {took}."
CHECK_NO_PRICE = "no list price"
FORMS_UNCHECKED = (
    "The bot uses text tool calls for this model. Run `cogency check-model` to compare text and native tool calls. "
    "After the next restart, the bot uses the better form."
)
FORMS_EQUAL = "The model works equally well with text and native tool calls: it passed {probes} with either form."
FORM_BETTER = (
    "The model works better with COGENCY_TOOLS_FORM={better}: it passed {text} with text tool calls and "
    "{native} with native tool calls."
)
FORM_FOLLOWED = "With COGENCY_TOOLS_FORM=auto, the bot uses the {better} form for this model after the next restart."
FORM_OTHER_SET = "COGENCY_TOOLS_FORM is {setting}. Change it, or set it to auto."


MODEL_LINE = "Model: {name} — {why}"
NO_MODELS_SERVED = (
    "The server at {address} ({setting}) {problem}. Check that the server is running, or set a model with "
    "COGENCY_MODEL=openai:<model>."
)
MODELS_AWAY = (
    "The server at {address} ({setting}) is not available. Check that the server is running and that the address is "
    "correct."
)
NO_PROVIDER_NAMED = "{setting} is set to a model without its provider. Write {vendor}: before the model's name."
UNKNOWN_PROVIDER = "{setting} must be rehearsal or one of {forms}."
NO_MODEL_NAMED = "{setting} names a provider but no model. Write, for example, {provider}:{example}."
KEY_MISSING = (
    "{key} is missing. It is required because {setting} is set to {provider}{colon}…. Set it in the environment or in "
    ".env."
)
NOT_A_REGION = "{setting} must be an AWS region, as in us-east-1."
NO_VERTEX_MODEL = (
    "{setting} is set to a Vertex AI model that the bot cannot use. Use a Gemini or Claude model, as in "
    "vertex:gemini-3.8-flash."
)
NO_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS must be static:use-multilingual-3, or a model of a service that supports OpenAI's /embeddings "
    "endpoint, such as openai:text-embedding-3-small or ollama:nomic-embed-text."
)
NO_STATIC_EMBEDDINGS = "COGENCY_EMBEDDINGS is set to an unknown built-in model. Use static:use-multilingual-3."
STATIC_EMBEDDINGS_MISSING = (
    "COGENCY_EMBEDDINGS=static:use-multilingual-3 needs the 'meaning' extra, which is not installed. Run {command}, or "
    "set another model."
)
NO_TRANSCRIPTION = (
    "COGENCY_TRANSCRIPTION must be a model of a service that supports OpenAI's /audio/transcriptions endpoint, such as "
    "openai:gpt-4o-mini-transcribe."
)


def nothing_configured(ollama: Endpoint, init: str, *, answered: bool) -> str:
    found = f"Ollama does not respond at {ollama.address}"
    if answered:
        found = f"Ollama at {ollama.address} has no local chat models (get one with `ollama pull llama3.2`)"
    return f"no model is configured, and {found}; to set one up, run `{init}`"
