"""What operators read: the command line, settings, why something cannot start, `cogency doctor`. Pure."""

from agent.providers.catalog import Endpoint

# The command line

CHECK_BEGINS = (
    "This asks it {probes} questions: about {tokens:,} tokens{dollars}. `cogency usage` counts them; Ctrl-C stops."
)

# Models

MODEL_LINE = "Model: {name} — {why}"
NO_MODELS_SERVED = (
    "The server at {address} ({setting}) {problem}; check that it runs, or name a model with "
    "COGENCY_MODEL=openai:<model>."
)
NO_PROVIDER_NAMED = "{setting} names a model without its provider: write {vendor}: before it."
UNKNOWN_PROVIDER = "{setting} takes rehearsal or one of {forms}."
NO_MODEL_NAMED = "{setting} names no model: write it as in {provider}:{example}."
KEY_MISSING = (
    "{key} is missing: {setting} names {provider}{colon}…, which needs it. Set it in the environment or in .env."
)
NO_EMBEDDINGS = (
    "COGENCY_EMBEDDINGS names no service with OpenAI's /embeddings: write it as in openai:text-embedding-3-small or "
    "ollama:nomic-embed-text."
)
NO_TRANSCRIPTION = (
    "COGENCY_TRANSCRIPTION names no service with OpenAI's /audio/transcriptions: write it as in "
    "openai:gpt-4o-mini-transcribe."
)


def nothing_configured(ollama: Endpoint, *, answered: bool) -> str:
    found = f"no Ollama answers at {ollama.address}"
    if answered:
        found = f"the Ollama at {ollama.address} has no model (get one with `ollama pull llama3.2`)"
    return f"no model is configured, and {found}; set COGENCY_MODEL or an API key for a real one"
