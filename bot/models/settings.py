"""The settings of models: which answer, and the keys and addresses of their services."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from agent.ports.clock import Clock
from agent.providers.aws_credentials import AwsIdentity
from agent.providers.catalog import (
    AZURE,
    AZURE_DOMAINS,
    BEDROCK,
    ENDPOINTS,
    GOOGLE_DOMAINS,
    VERTEX,
    Endpoint,
    Mode,
    ToolsForm,
    azure_at,
    bedrock_in,
    missing_needs,
    region_of_arn,
    vertex_at,
)
from agent.providers.credentials import Key
from agent.providers.identities import IdentitySettings, identity
from bot.settings import parsers
from bot.settings.declaration import RUNS_CODE, Secrecy, Section, Sensitivity, secret_setting, setting
from bot.settings.parsers import texts_by_id
from bot.settings.secret import Secret

# The services whose keys a channel may have: those that are used with nothing but a key.
OWN_KEY_VENDORS: Final = ("openai", "anthropic", "gemini", "openrouter", "mistral", "xai")
_MODEL_OR_REHEARSAL: Final = re.compile(r"[a-z0-9-]+:.|rehearsal$", re.IGNORECASE | re.ASCII)

_API_VERSION: Final = re.compile(r"20\d\d-\d\d-\d\d(?:-preview)?", re.ASCII)
_LOCATION: Final = re.compile(r"[a-z][a-z0-9-]{1,39}", re.ASCII)
_PROJECT: Final = re.compile(r"[a-z0-9][a-z0-9:.-]{1,98}", re.ASCII)

_MODEL: Final = re.compile(r"[a-z0-9-]+:.", re.IGNORECASE | re.ASCII)


def models(value: str) -> tuple[str, ...]:
    """Parse comma-separated names of models, in order."""
    names = tuple(piece.strip() for piece in value.split(",") if piece.strip())
    if not names or not all(_MODEL_OR_REHEARSAL.match(name) for name in names):
        raise ValueError(
            "must be a list of models separated by commas, as in anthropic:claude-sonnet-5-5,ollama:llama3.2"
        )
    return names


def model_or_off(example: str) -> Callable[[str], str | None]:
    def read(value: str) -> str | None:
        if value.lower() == "off":
            return None
        if not _MODEL.match(value):
            raise ValueError(f"must be off, or a model, such as {example}")
        return value

    return read


def text_like(form: re.Pattern[str], what: str) -> Callable[[str], str]:
    """Return a parser of texts of this form; `what` describes them in the remedy, with an example."""

    def read(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(f"must be {what}")
        return value

    return read


parse_api_version = text_like(_API_VERSION, "a version with a date, as in 2024-10-21; remove it to use the v1 API")

parse_location = text_like(_LOCATION, "a Google Cloud location, as in global or europe-west1")

parse_project = text_like(_PROJECT, "the ID of a Google Cloud project, as in my-project-123")

parse_embeddings = model_or_off("openai:text-embedding-3-small")

parse_transcription = model_or_off("openai:gpt-4o-mini-transcribe")

models_by_channel = texts_by_id("channel IDs to models", '{"C0123": "ollama:llama3.2"}')

models_by_person = texts_by_id("user IDs to models", '{"U0123": "ollama:llama3.2"}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which models answer, and the keys and addresses of their services. An address is stored as written."""

    model: str | None = setting(
        "COGENCY_MODEL",
        parsers.text,
        None,
        section=Section.MODELS,
        description=(
            "The model that answers by default: rehearsal, or provider:name, such as ollama:llama3.2 or "
            "openai:gpt-5-mini. Default: a model from the first of these that is available: the server in "
            "OPENAI_BASE_URL, OpenAI, Anthropic, or Gemini (if the API key is set), or a local Ollama server. "
            "Otherwise, the rehearsal model."
        ),
        example="ollama:llama3.2",
    )
    """None chooses by the keys that are set, else a local Ollama, else rehearsal."""
    fallback_models: tuple[str, ...] = setting(
        "COGENCY_FALLBACK_MODELS",
        models,
        (),
        section=Section.MODELS,
        description=(
            "Models that answer when the usual model is unavailable, separated by commas. The bot tries them in this "
            "order."
        ),
        example="anthropic:claude-sonnet-5-5,ollama:llama3.2",
    )
    learning_model: str | None = setting(
        "COGENCY_LEARNING_MODEL",
        parsers.text,
        None,
        section=Section.MODELS,
        description="A cheap model for background work. Default: the model that answers by default.",
        example="openai:gpt-6-luna",
    )
    """None: the model that answers."""
    channel_keys: bool = setting(
        "COGENCY_CHANNEL_KEYS",
        parsers.switch,
        default=False,
        section=Section.MODELS,
        description=(
            "Whether channel managers can add their channel's own API keys with /keys. Questions in the channel are "
            'then billed to these keys (docs/models.md). Needs the "mcp" extra and COGENCY_ACCOUNT_KEY, which encrypts '
            "them."
        ),
    )
    embeddings: str | None = setting(
        "COGENCY_EMBEDDINGS",
        parse_embeddings,
        None,
        section=Section.MODELS,
        description=(
            "A model for embeddings, or off. With a model, recall also finds messages with a similar meaning. The bot "
            "sends stored messages and searches to the model's service, except with static:use-multilingual-3, which "
            'runs inside the bot and needs the "meaning" extra. Default: static:use-multilingual-3 if the extra is '
            "installed, otherwise off."
        ),
        example="openai:text-embedding-3-small",
    )
    """None: recall searches for words only."""
    transcription: str | None = setting(
        "COGENCY_TRANSCRIPTION",
        parse_transcription,
        None,
        section=Section.MODELS,
        description=(
            "A model that turns voice messages into text. The bot sends the recordings to the model's service. "
            "Default: off (the bot asks people to type instead)."
        ),
        example="openai:gpt-4o-mini-transcribe",
    )
    """None: people are asked to write instead."""
    allowed_models: tuple[str, ...] = setting(
        "COGENCY_ALLOWED_MODELS",
        models,
        (),
        section=Section.MODELS,
        description="Models that people can choose with /model, in addition to the default one.",
        example="openai:gpt-6.1-terra,openai:gpt-6-luna",
    )
    channel_models: Mapping[str, str] = setting(
        "COGENCY_CHANNEL_MODELS",
        models_by_channel,
        {},
        section=Section.MODELS,
        description="Models for individual channels, as a JSON object that maps channel IDs to models.",
        example="""'{"C0123": "openai:gpt-6.1-sol"}'""",
    )
    """By the platform's channel id."""
    person_models: Mapping[str, str] = setting(
        "COGENCY_PERSON_MODELS",
        models_by_person,
        {},
        section=Section.MODELS,
        description="Models for individual people, as a JSON object that maps user IDs to models.",
        example="""'{"U0123": "ollama:llama3.2"}'""",
    )
    """By the platform's user id; overrides the channel's."""
    mode: Mode = setting(
        "COGENCY_MODE",
        parsers.one_of(Mode),
        Mode.AUTO,
        section=Section.MODELS,
        description=(
            "How the bot continues an answer after tool calls: replay (send everything again), resume (send only what "
            "is new if the vendor supports this, even if the vendor stores the rest until the bot deletes it), or auto "
            "(like resume if the vendor does not store the rest, otherwise like replay)."
        ),
    )
    tools_form: ToolsForm = setting(
        "COGENCY_TOOLS_FORM",
        parsers.one_of(ToolsForm),
        ToolsForm.AUTO,
        section=Section.MODELS,
        description=(
            "How the bot offers tools to models that it calls through Chat Completions or Amazon Bedrock: text "
            "(Cogency's protocol), native (the vendor's tool calls), or auto (the form that worked better in `cogency "
            "check-model`, otherwise text)."
        ),
    )
    first_token_timeout_s: float = setting(
        "COGENCY_FIRST_TOKEN_TIMEOUT_S",
        parsers.seconds(3600),
        180.0,
        section=Section.BOUNDS,
        description="Time limit for a model's first word, in seconds. A local model may have to load first.",
    )
    """A local model may load for minutes before its first word."""
    next_token_timeout_s: float = setting(
        "COGENCY_NEXT_TOKEN_TIMEOUT_S",
        parsers.seconds(600),
        60.0,
        section=Section.BOUNDS,
        description="Maximum pause within a model's answer, in seconds.",
    )
    """Nothing loads between two pieces of an answer: a silent minute is a broken connection."""
    provider_retries: int = setting(
        "COGENCY_PROVIDER_RETRIES",
        parsers.whole(0, 10),
        2,
        section=Section.BOUNDS,
        description="How many times to repeat a request to a model, for example after a rate limit or a server error.",
    )
    """While no text has arrived: as many as the vendors' own clients make."""
    openai_api_key: Secret | None = secret_setting(
        "OPENAI_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for OpenAI, or for a compatible server. Separate several keys with commas.",
    )
    anthropic_api_key: Secret | None = secret_setting(
        "ANTHROPIC_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for Anthropic. Separate several keys with commas.",
    )
    gemini_api_key: Secret | None = secret_setting(
        "GEMINI_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for Google Gemini. Separate several keys with commas.",
    )
    bedrock_api_key: Secret | None = secret_setting(
        "AWS_BEARER_TOKEN_BEDROCK",
        parsers.keys,
        section=Section.KEYS,
        description=(
            "The API key for Amazon Bedrock. Separate several keys with commas. Without it, the bot signs requests "
            "with AWS credentials (docs/bedrock.md)."
        ),
    )
    aws_region: str = setting(
        "AWS_REGION",
        parsers.text,
        "",
        section=Section.KEYS,
        description="The AWS region of the Amazon Bedrock models. Default: AWS_DEFAULT_REGION.",
        example="us-east-1",
    )
    aws_default_region: str = setting(
        "AWS_DEFAULT_REGION",
        parsers.text,
        "",
        section=Section.KEYS,
        description="The AWS region if AWS_REGION is not set.",
        example="us-east-1",
    )
    aws_profile: str = setting(
        "AWS_PROFILE",
        parsers.text,
        "",
        section=Section.KEYS,
        description="The profile in AWS's configuration files whose credentials sign requests to Amazon Bedrock.",
        example="cogency",
    )
    aws_access_key_id: Secret | None = secret_setting(
        "AWS_ACCESS_KEY_ID",
        section=Section.KEYS,
        description="The ID of the AWS access key that signs requests to Amazon Bedrock.",
    )
    aws_secret_access_key: Secret | None = secret_setting(
        "AWS_SECRET_ACCESS_KEY",
        section=Section.KEYS,
        description="The secret access key that belongs to AWS_ACCESS_KEY_ID.",
    )
    aws_session_token: Secret | None = secret_setting(
        "AWS_SESSION_TOKEN",
        section=Section.KEYS,
        description="The session token, if the access key in AWS_ACCESS_KEY_ID is temporary.",
    )
    bedrock_base_url: str = setting(
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        parsers.web_address,
        "",
        section=Section.KEYS,
        description=(
            "The address of Amazon Bedrock, such as that of a VPC endpoint. Default: the public address for AWS_REGION."
        ),
        example="https://vpce-0123456789abcdef0-abcdefgh.bedrock-runtime.us-east-1.vpce.amazonaws.com",
        sensitivity=Sensitivity(keys=("AWS_BEARER_TOKEN_BEDROCK",)),
    )
    openrouter_api_key: Secret | None = secret_setting(
        "OPENROUTER_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for OpenRouter. Separate several keys with commas.",
    )
    mistral_api_key: Secret | None = secret_setting(
        "MISTRAL_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for Mistral. Separate several keys with commas.",
    )
    xai_api_key: Secret | None = secret_setting(
        "XAI_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description="The API key for xAI. Separate several keys with commas.",
    )
    openai_base_url: str = setting(
        "OPENAI_BASE_URL",
        parsers.web_address,
        "https://api.openai.com/v1",
        section=Section.KEYS,
        description=(
            "The address of OpenAI's API or of a compatible server, such as a gateway. If .env sets the address of "
            "another machine, set OPENAI_API_KEY in the same file. The bot does not start if the key comes from "
            "elsewhere."
        ),
        sensitivity=Sensitivity(keys=("OPENAI_API_KEY",)),
    )
    anthropic_base_url: str = setting(
        "ANTHROPIC_BASE_URL",
        parsers.web_address,
        "https://api.anthropic.com",
        section=Section.KEYS,
        description="The address of Anthropic's API.",
        sensitivity=Sensitivity(keys=("ANTHROPIC_API_KEY",)),
    )
    gemini_base_url: str = setting(
        "GEMINI_BASE_URL",
        parsers.web_address,
        "https://generativelanguage.googleapis.com",
        section=Section.KEYS,
        description="The address of Gemini's API.",
        sensitivity=Sensitivity(keys=("GEMINI_API_KEY",)),
    )
    ollama_base_url: str = setting(
        "OLLAMA_BASE_URL",
        parsers.web_address,
        "http://localhost:11434",
        section=Section.KEYS,
        description="The address of Ollama.",
    )
    llamacpp_base_url: str = setting(
        "LLAMACPP_BASE_URL",
        parsers.web_address,
        "http://localhost:8080",
        section=Section.KEYS,
        description="The address of llama.cpp's server (llama-server).",
    )
    vllm_base_url: str = setting(
        "VLLM_BASE_URL",
        parsers.web_address,
        "http://localhost:8000",
        section=Section.KEYS,
        description="The address of vLLM.",
    )
    lmstudio_base_url: str = setting(
        "LMSTUDIO_BASE_URL",
        parsers.web_address,
        "http://localhost:1234",
        section=Section.KEYS,
        description="The address of LM Studio.",
    )
    azure_endpoint: str = setting(
        "AZURE_OPENAI_ENDPOINT",
        parsers.web_address,
        "",
        section=Section.KEYS,
        description="The address of an Azure OpenAI or Foundry resource.",
        example="https://my-resource.openai.azure.com",
        sensitivity=Sensitivity(keys=("AZURE_OPENAI_API_KEY",), own=AZURE_DOMAINS),
    )
    azure_api_key: Secret | None = secret_setting(
        "AZURE_OPENAI_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description=(
            "The API key for an Azure OpenAI resource. Separate several keys with commas. Without a key, the bot signs "
            "in with Microsoft Entra ID."
        ),
    )
    azure_api_version: str = setting(
        "AZURE_OPENAI_API_VERSION",
        parse_api_version,
        "",
        section=Section.KEYS,
        description="A dated version of Azure OpenAI's API, for resources without the v1 API. Default: the v1 API.",
        example="2024-10-21",
    )
    azure_tenant: str = setting(
        "AZURE_TENANT_ID",
        parsers.text,
        "",
        section=Section.KEYS,
        description="The Microsoft Entra tenant ID of the application in AZURE_CLIENT_ID.",
        example="00000000-0000-0000-0000-000000000000",
    )
    azure_client: str = setting(
        "AZURE_CLIENT_ID",
        parsers.text,
        "",
        section=Section.KEYS,
        description=(
            "The client ID of the application that the bot uses to sign in to Azure. If AZURE_CLIENT_SECRET is not "
            "set, this must be the client ID of a managed identity that is assigned to this machine. Default: the "
            "identity that the environment, the machine, or `az login` provides."
        ),
        example="00000000-0000-0000-0000-000000000000",
    )
    azure_client_secret: Secret | None = secret_setting(
        "AZURE_CLIENT_SECRET",
        section=Section.KEYS,
        description="A client secret of the application in AZURE_CLIENT_ID.",
    )
    google_project: str = setting(
        "GOOGLE_CLOUD_PROJECT",
        parse_project,
        "",
        section=Section.KEYS,
        description=(
            "The ID of the Google Cloud project for Vertex AI. Not needed for Gemini models with VERTEX_API_KEY."
        ),
        example="my-project-123",
    )
    google_location: str = setting(
        "GOOGLE_CLOUD_LOCATION",
        parse_location,
        "global",
        section=Section.KEYS,
        description="The location of Vertex AI's models, such as global, eu, or europe-west1.",
    )
    google_credentials: str = setting(
        "GOOGLE_APPLICATION_CREDENTIALS",
        parsers.text,
        "",
        section=Section.KEYS,
        description=(
            "The path of a JSON file with Google Cloud credentials. Default: the credentials of `gcloud auth "
            "application-default login`, or of this machine."
        ),
        example="/etc/cogency/google.json",
        sensitivity=Sensitivity(secrecy=Secrecy.FILE, runs_code=RUNS_CODE.runs_code),
    )
    vertex_api_key: Secret | None = secret_setting(
        "VERTEX_API_KEY",
        parsers.keys,
        section=Section.KEYS,
        description=(
            "An API key for Vertex AI. Separate several keys with commas. Without a key, the bot signs in with Google "
            "Cloud credentials."
        ),
    )
    vertex_base_url: str = setting(
        "VERTEX_BASE_URL",
        parsers.web_address,
        "https://aiplatform.googleapis.com",
        section=Section.KEYS,
        description="The address of Vertex AI's API. Default: Google's address for GOOGLE_CLOUD_LOCATION.",
        sensitivity=Sensitivity(keys=("VERTEX_API_KEY",), own=GOOGLE_DOMAINS),
    )

    @property
    def region(self) -> str:
        """The region of AWS."""
        return self.aws_region or self.aws_default_region

    @property
    def region_setting(self) -> str:
        """The setting that names the region of AWS."""
        return "AWS_DEFAULT_REGION" if self.aws_default_region and not self.aws_region else "AWS_REGION"

    def endpoint(self, name: str, model: str = "") -> Endpoint:
        """Return the service of that name, at the configured address. The ARN of a `model` of AWS names its region."""
        addresses = {
            "openai": self.openai_base_url,
            "anthropic": self.anthropic_base_url,
            "gemini": self.gemini_base_url,
            "ollama": self.ollama_base_url,
            "llamacpp": self.llamacpp_base_url,
            "vllm": self.vllm_base_url,
            "lmstudio": self.lmstudio_base_url,
            "openai-realtime": self.openai_base_url,
            "gemini-live": self.gemini_base_url,
        }
        if name == BEDROCK.name:
            return bedrock_in(region_of_arn(model) or self.region, self.bedrock_base_url)
        if name == AZURE.name:
            return azure_at(self.azure_endpoint, self.azure_api_version)
        if name == VERTEX.name:
            moved = self.vertex_base_url if self.vertex_base_url != VERTEX.base_url.removesuffix("/v1") else ""
            return vertex_at(self.google_project, self.google_location, moved)
        endpoint = ENDPOINTS[name]
        return endpoint.at(addresses[name]) if name in addresses else endpoint

    def key(self, name: str) -> Secret | None:
        """Return the key for the service of that name. No service ever gets the key of another."""
        keys = {
            "openai": self.openai_api_key,
            "anthropic": self.anthropic_api_key,
            "gemini": self.gemini_api_key,
            "azure": self.azure_api_key,
            "vertex": self.vertex_api_key,
            "bedrock": self.bedrock_api_key,
            "openrouter": self.openrouter_api_key,
            "mistral": self.mistral_api_key,
            "xai": self.xai_api_key,
            "openai-realtime": self.openai_api_key,
            "gemini-live": self.gemini_api_key,
        }
        return keys.get(name)

    def missing(self, endpoint: Endpoint, model: str) -> list[str]:
        """Return the settings that the service still needs for a model, without which its address is not known."""
        values = {
            "AZURE_OPENAI_ENDPOINT": self.azure_endpoint,
            "GOOGLE_CLOUD_PROJECT": self.google_project,
            "AWS_REGION": endpoint.region,
        }
        return missing_needs(endpoint, model, values, has_key=self.key(endpoint.name) is not None)

    def credentials(self, endpoint: Endpoint, key: Secret | None, clock: Clock) -> Key:
        """Return how requests to the service are authorized: by its key, else by this machine's identity in a cloud."""
        if key is not None:
            return key.reveal()
        if not endpoint.identity:
            return None
        secret = self.azure_client_secret.reveal() if self.azure_client_secret else ""
        given = IdentitySettings(
            self.azure_tenant, self.azure_client, secret, self.google_credentials, self.aws_identity
        )
        return identity(endpoint, given, clock)

    @property
    def aws_identity(self) -> AwsIdentity:
        keys = (self.aws_access_key_id, self.aws_secret_access_key, self.aws_session_token)
        access_key_id, secret_access_key, session_token = (key.reveal() if key else "" for key in keys)
        if not (access_key_id and secret_access_key):
            return AwsIdentity(self.aws_profile)
        return AwsIdentity(self.aws_profile, access_key_id, secret_access_key, session_token)
