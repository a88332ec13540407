"""The known services by name: their URLs, their protocols, and the settings that they need. Pure."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlsplit

from agent import texts
from agent.model_names import deployment_of, model_behind
from agent.providers.converse_models import traits_of

GEMINI_PATH = "/v1beta"  # Of the two versions of the API, the one that knows all model names
_GOOGLE = "https://generativelanguage.googleapis.com"
_OWN_MODEL = re.compile(r"(gpt-(?!oss)|o\d|chatgpt|codex)")


class Mode(StrEnum):
    """How the rounds of one turn are sent to a model (seed 004)."""

    AUTO = "auto"
    """Only new messages if the vendor can keep the context without storing it; else the whole context."""
    RESUME = "resume"
    """Only new messages if the vendor can keep the context, even if it stores it until it is deleted."""
    REPLAY = "replay"
    """The whole context in every round."""


def is_loopback(host: str) -> bool:
    """Return whether data for this host stays on the machine."""
    try:
        address = ipaddress.ip_address(host)
        # Newer Pythons call an IPv4 loopback address inside of an IPv6 one loopback. It is never one here.
        return address.is_loopback and getattr(address, "ipv4_mapped", None) is None
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class ToolsForm(StrEnum):
    """The form in which a model receives its tools by Chat Completions."""

    AUTO = "auto"
    """The form in which a check found the model better; text if no check did."""
    TEXT = "text"
    NATIVE = "native"


# Up to nine billion parameters, by the names of open models: qwen3:8b, Llama-3.1-8B-Instruct, SmolLM2-135M-Instruct.
_SMALL = re.compile(r"(?:^|[:_-])(?:[0-9](?:\.\d)?b|[1-9]\d\dm)(?![a-z0-9])")


def is_small(model: str) -> bool:
    """Return whether the name of an open model says that it is small."""
    return _SMALL.search(model.lower()) is not None


# For a server on this machine of which only the address is known.
WIDEN_ANY = "start its server with a larger context (llama-server: -c, Ollama: num_ctx, vLLM: --max-model-len)"


@dataclass(frozen=True, slots=True)
class KnownRefusal:
    """What a service means by a refusal, as a sentence for the operator that says what to do.

    It applies to these statuses, if the code or the message contains one of `words` (in lower case; none: always), and
    if the request had a fixed key (`with_key`), or other credentials (False). `person`: the sentence for all others.
    The sentences may contain {label}, {status}, {model}, {address} and {setting}, the setting of the key.
    """

    sentence: str
    statuses: frozenset[int]
    words: tuple[str, ...] = ()
    with_key: bool | None = None
    person: str = texts.ASK_OPERATOR


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One service. `base_url` ends before "/chat/completions", "/messages" or "/models".

    `key_setting` and `url_setting` are the names of the settings for its key and its URL, "" if there is none. `path`
    is appended to the URL of that setting; with `own_path`, a URL with a path is already complete. `start` says how to
    start a local server, `fetch` how to get a missing model, `widen` how to give the model a larger context.
    `key_page`: where the vendor's customers create keys. `region`: where a cloud serves the model ("us-east-1").
    `identity`: the extra by which the service is used without a key. `needs`: the settings without which its URL is not
    known. `api_version`: of Azure OpenAI, "" for its API v1. `refusals`: those that only this service has; the first
    that applies counts. `on_limit` says what the operator can do if requests are limited.
    """

    name: str
    label: str
    base_url: str
    key_setting: str = ""
    url_setting: str = ""
    key_required: bool = False
    path: str = "/v1"
    own_path: bool = False
    key_header: str = "authorization"
    start: str = ""
    fetch: str = ""
    widen: str = ""
    key_page: str = ""
    region: str = ""
    identity: str = ""
    needs: tuple[str, ...] = ()
    api_version: str = ""
    refusals: tuple[KnownRefusal, ...] = ()
    on_limit: str = ""

    def authorisation(self, key: str | None) -> dict[str, str]:
        if not key:
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header == "authorization" else key}

    @property
    def address(self) -> str:
        """The URL without credentials and query, for messages: scheme, host, port and path."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def port(self) -> int:
        parts = urlsplit(self.base_url)
        return parts.port or (443 if parts.scheme == "https" else 80)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine, which a proxy cannot reach."""
        return is_loopback(self.host)

    @property
    def is_self_hosted(self) -> bool:
        """Whether the operator runs the server: on this machine, or a server that is made for that."""
        return self.is_local or bool(self.start)

    def at(self, address: str) -> "Endpoint":
        """Return the same service at the URL of its setting."""
        trimmed = address.strip().rstrip("/")
        if not self.path:
            trimmed = trimmed.removesuffix(GEMINI_PATH)
        complete = trimmed.endswith(self.path) or (self.own_path and urlsplit(trimmed).path)
        base_url = trimmed if complete else trimmed + self.path
        if base_url == self.base_url:
            return self
        moved = replace(self, base_url=base_url, key_required=False)
        return moved if moved.widen or not moved.is_local else replace(moved, widen=WIDEN_ANY)

    def url(self, path: str, model: str) -> str:
        """Return the URL for a path of this service, such as "/chat/completions"."""
        if not self.api_version:
            return f"{self.base_url}{path}"
        deployment = quote(deployment_of(model), safe="")
        return f"{self.base_url}/deployments/{deployment}{path}?api-version={quote(self.api_version, safe='')}"

    def name_for(self, model: str) -> str:
        """Return how requests name the model."""
        return deployment_of(model) if self.name == "azure" else model

    def speaks_responses(self, model: str) -> bool:
        """Return whether this is one of OpenAI's own models, at OpenAI, at Azure or behind a gateway.

        Servers of other models also have a Responses API, but few implement all of it. Of Azure, only API v1 has it.
        """
        is_offered = self.name == "openai" or (self.name == "azure" and not self.api_version)
        return is_offered and _OWN_MODEL.match(model_behind(self.name, model)) is not None

    def offers_forms(self, model: str) -> bool:
        """Return whether the form of the model's tools can be chosen: by Chat Completions, and Converse of Bedrock."""
        if self.name == "bedrock":
            return traits_of(model).tools
        return not self.speaks_responses(model) and self.name not in _OTHER_PROTOCOLS

    def stops_at_sequences(self, model: str) -> bool:
        """Return whether `stop` may be sent. OpenAI's reasoning models, which are all since GPT-4, refuse it."""
        if self.name != "azure":
            return self.host != "api.openai.com" or model.startswith(_STOPPING)
        behind = model_behind(self.name, model)
        return behind.startswith(_STOPPING) or _OWN_MODEL.match(behind) is None


_STOPPING = ("gpt-4", "gpt-3.5", "gpt-35", "chatgpt-4o")


# No service says which of its models think before they answer, so it is read from their names.
_REASONERS = re.compile(
    r"(?:^|[/_:-])(?:o\d|gpt-(?:[5-9]|oss)|codex|gemini-(?:2\.5|[3-9])|claude-[a-z]{2,9}-[5-9]|grok-[4-9]|grok-3-mini"
    r"|deepseek-(?:r\d|reasoner)|qwq|qwen3|magistral)|think|reason"
)
_ANSWER_AT_ONCE = re.compile(r"instruct|non-?(?:thinking|reasoning)|-lite|chat-latest")


def reasons(model: str) -> bool:
    """Return whether a model of this name reasons before it writes. In doubt it does not: it may then think aloud."""
    name = model.lower()
    return _REASONERS.search(name) is not None and _ANSWER_AT_ONCE.search(name) is None


# Services with a protocol of their own for all their models.
_OTHER_PROTOCOLS = frozenset({"anthropic", "gemini", "openai-realtime", "gemini-live", "vertex"})

OPENAI = Endpoint(
    "openai",
    "OpenAI",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    key_required=True,
    key_page="https://platform.openai.com/api-keys",
    own_path=True,
)
ANTHROPIC = Endpoint(
    "anthropic",
    "Anthropic",
    "https://api.anthropic.com/v1",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    key_required=True,
    key_page="https://console.anthropic.com/settings/keys",
    key_header="x-api-key",
)
GEMINI = Endpoint(
    "gemini",
    "Gemini",
    f"{_GOOGLE}{GEMINI_PATH}",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    key_required=True,
    key_page="https://aistudio.google.com/apikey",
    path=GEMINI_PATH,
    own_path=True,
    key_header="x-goog-api-key",
)
# OpenAI's voice models, over a WebSocket and in text.
REALTIME = replace(OPENAI, name="openai-realtime", label="OpenAI Realtime")
# Gemini's voice models, over a WebSocket. Its paths start at the root of the URL.
LIVE = replace(GEMINI, name="gemini-live", label="Gemini Live", base_url=_GOOGLE, path="", own_path=False)
OLLAMA = Endpoint(
    "ollama",
    "Ollama",
    "http://localhost:11434/v1",
    url_setting="OLLAMA_BASE_URL",
    start="start it with `ollama serve`",
    fetch="get it with `ollama pull {model}`",
    widen="start Ollama with a larger OLLAMA_CONTEXT_LENGTH (the model's num_ctx)",
)
LLAMACPP = Endpoint(
    "llamacpp",
    "llama.cpp",
    "http://localhost:8080/v1",
    url_setting="LLAMACPP_BASE_URL",
    start="start it with `llama-server`",
    widen="start llama-server with a larger -c",
)
VLLM = Endpoint(
    "vllm",
    "vLLM",
    "http://localhost:8000/v1",
    url_setting="VLLM_BASE_URL",
    start="start it with `vllm serve`",
    widen="start vLLM with a larger --max-model-len",
)
LMSTUDIO = Endpoint(
    "lmstudio",
    "LM Studio",
    "http://localhost:1234/v1",
    url_setting="LMSTUDIO_BASE_URL",
    start="start it with `lms server start`",
    widen="load the model with a larger context length",
)
OPENROUTER = Endpoint(
    "openrouter",
    "OpenRouter",
    "https://openrouter.ai/api/v1",
    "OPENROUTER_API_KEY",
    key_required=True,
    key_page="https://openrouter.ai/settings/keys",
)
MISTRAL = Endpoint(
    "mistral",
    "Mistral",
    "https://api.mistral.ai/v1",
    "MISTRAL_API_KEY",
    key_required=True,
    key_page="https://console.mistral.ai/api-keys",
)
XAI = Endpoint("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", key_required=True, key_page="https://console.x.ai")

# Domains of the parts of AWS that are separate from the others, by the beginning of a region's name.
_AWS_DOMAINS = {"cn-": "amazonaws.com.cn", "eusc-": "amazonaws.eu"}
_AWS_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}")


def is_aws_region(name: str) -> bool:
    """Return whether this has the form of a region's name ("us-east-1", "us-gov-west-1")."""
    return _AWS_REGION.fullmatch(name) is not None


def bedrock_address(region: str) -> str:
    """Return the public address of Amazon Bedrock in a region."""
    domain = next((domain for begin, domain in _AWS_DOMAINS.items() if region.startswith(begin)), "amazonaws.com")
    return f"https://bedrock-runtime.{region}.{domain}"


def region_of_arn(model: str) -> str:
    """Return the region in the ARN of a model; "" if it is no ARN, or has none."""
    fields = model.split(":", 5)
    return fields[3] if len(fields) == 6 and fields[0] == "arn" and is_aws_region(fields[3]) else ""


_US_EAST_1 = "us-east-1"
# Requests without an API key are signed.
BEDROCK = Endpoint(
    "bedrock",
    "Amazon Bedrock",
    bedrock_address(_US_EAST_1),
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    key_page="https://console.aws.amazon.com/bedrock/home#/api-keys",
    path="",
    region=_US_EAST_1,
    identity="bedrock",
    needs=("AWS_REGION",),
    on_limit=texts.BEDROCK_ON_LIMIT,
)

_REFUSED = frozenset({401, 403})
_FORBIDDEN = frozenset({403})
_BAD = frozenset({400})

AZURE = Endpoint(
    "azure",
    "Azure OpenAI",
    "https://RESOURCE.openai.azure.com/openai/v1",
    "AZURE_OPENAI_API_KEY",
    "AZURE_OPENAI_ENDPOINT",
    path="/openai/v1",
    key_page="https://ai.azure.com",
    key_header="api-key",
    identity="azure",
    needs=("AZURE_OPENAI_ENDPOINT",),
    refusals=(
        KnownRefusal(
            texts.AZURE_CONTENT_FILTER,
            _BAD,
            ("content_filter", "responsibleaipolicyviolation"),
            person=texts.QUESTION_REFUSED,
        ),
        KnownRefusal(texts.AZURE_DEPLOYMENT_UNKNOWN, frozenset({404}), ("deploymentnotfound", "deployment")),
        KnownRefusal(
            texts.AZURE_API_VERSION_REFUSED,
            frozenset({400, 404}),
            ("api version", "api-version", "apiversion", "resource not found"),
        ),
        KnownRefusal(texts.AZURE_KEYS_DISABLED, _REFUSED, ("authenticationtypedisabled", "key based authentication")),
        KnownRefusal(
            texts.AZURE_NETWORK_CLOSED, _FORBIDDEN, ("public access is disabled", "virtual network", "firewall")
        ),
        KnownRefusal(texts.AZURE_ROLE_MISSING, _REFUSED, ("permissiondenied", "lacks the required data action")),
        KnownRefusal(texts.AZURE_KEY_REFUSED, frozenset({401}), with_key=True),
        KnownRefusal(texts.AZURE_SIGN_IN_OUTDATED, frozenset({401}), with_key=False),
        KnownRefusal(texts.AZURE_ROLE_MISSING, _FORBIDDEN, with_key=False),
    ),
    on_limit=texts.AZURE_ON_LIMIT,
)

VERTEX = Endpoint(
    "vertex",
    "Vertex AI",
    "https://aiplatform.googleapis.com/v1",
    "VERTEX_API_KEY",
    "VERTEX_BASE_URL",
    key_page="https://console.cloud.google.com/apis/credentials",
    key_header="x-goog-api-key",
    identity="vertex",
    needs=("GOOGLE_CLOUD_PROJECT",),
    refusals=(
        KnownRefusal(texts.VERTEX_API_DISABLED, _FORBIDDEN, ("service_disabled", "has not been used", "is disabled")),
        KnownRefusal(texts.VERTEX_NO_BILLING, _FORBIDDEN, ("billing",)),
        KnownRefusal(texts.VERTEX_MODEL_UNKNOWN, frozenset({404}), ("publisher model", "model", "not_found")),
        KnownRefusal(
            texts.VERTEX_MODEL_UNKNOWN,
            _BAD,
            ("not servable in region", "not supported in region", "not available in region", "unsupported location"),
        ),
        KnownRefusal(texts.KEY_REFUSED, frozenset({401}), with_key=True),
        KnownRefusal(texts.VERTEX_SIGN_IN_OUTDATED, frozenset({401}), with_key=False),
        KnownRefusal(texts.VERTEX_ROLE_MISSING, _FORBIDDEN, with_key=False),
    ),
    on_limit=texts.VERTEX_ON_LIMIT,
)

_ALL = (
    *(OPENAI, ANTHROPIC, GEMINI, AZURE, VERTEX, BEDROCK, OLLAMA, LLAMACPP, VLLM, LMSTUDIO, OPENROUTER, MISTRAL, XAI),
    *(REALTIME, LIVE),
)
ENDPOINTS = {endpoint.name: endpoint for endpoint in _ALL}

# Where Azure's and Google's own services are, and nobody else's: tokens of an identity are sent to no other hosts.
AZURE_DOMAINS: Final = tuple(
    f"{service}.azure.{ending}"
    for service in ("openai", "services.ai", "cognitiveservices")
    for ending in ("com", "us", "cn")
)
GOOGLE_DOMAINS: Final = ("googleapis.com",)


def is_below(host: str, domains: tuple[str, ...]) -> bool:
    """Return whether a host is in one of these domains."""
    return host.lower().endswith(tuple(f".{domain}" for domain in domains))


_AZURE_PATHS: Final = re.compile(r"/openai(?:/|$)|/api/projects/")


def azure_at(address: str, api_version: str = "") -> Endpoint:
    """Return Azure OpenAI at the address of a resource, in any form that its portal shows. "" leaves it open.

    With an `api_version`, such as "2024-10-21", its older API is used, in which the URL names the deployment.
    """
    if not address:
        return replace(AZURE, api_version=api_version)
    parts = urlsplit(address.strip())
    prefix = _AZURE_PATHS.split(parts.path, maxsplit=1)[0].rstrip("/")
    path = f"{prefix}/openai" if api_version else f"{prefix}/openai/v1"
    return replace(AZURE, base_url=f"{parts.scheme}://{parts.netloc}{path}", api_version=api_version)


_MULTI_REGIONS: Final = frozenset({"us", "eu"})


def vertex_at(project: str = "", location: str = "", address: str = "") -> Endpoint:
    """Return Vertex AI for a project and a location, such as "europe-west1"; "" is "global".

    Without a project it is express mode, which needs a key. `address` replaces Google's own.
    """
    location = location.strip().lower() or "global"
    if not address:
        is_regional = location != "global" and project
        host = "aiplatform.googleapis.com"
        if is_regional and location in _MULTI_REGIONS:
            host = f"aiplatform.{location}.rep.googleapis.com"
        elif is_regional:
            host = f"{quote(location, safe='')}-aiplatform.googleapis.com"
        address = f"https://{host}"
    base_url = f"{address.strip().rstrip('/').removesuffix('/v1')}/v1"
    if project:
        base_url = f"{base_url}/projects/{quote(project.strip(), safe='')}/locations/{quote(location, safe='')}"
    return replace(VERTEX, base_url=base_url)


def bedrock_in(region: str, address: str = "") -> Endpoint:
    """Return Amazon Bedrock in a region of AWS. A text that is no region's name leaves it open.

    `address` replaces the public address of the region.
    """
    if not is_aws_region(region):
        return replace(BEDROCK, region="")
    endpoint = replace(BEDROCK, region=region, base_url=bedrock_address(region))
    return endpoint.at(address) if address else endpoint


def missing_needs(endpoint: Endpoint, model: str, values: Mapping[str, str], *, has_key: bool) -> list[str]:
    """Return the settings that a service still needs for a model. With a key, Gemini at Vertex AI needs no project."""
    is_express = endpoint.name == VERTEX.name and has_key and not model.startswith("claude")
    return [] if is_express else [name for name in endpoint.needs if not values.get(name)]
