"""The services, by name: where they are, what they speak, and what a person must set. Pure."""

import ipaddress
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlsplit

GEMINI_PATH = "/v1beta"  # Of the two versions that are served, the one that knows every name of a model
_GOOGLE = "https://generativelanguage.googleapis.com"
_OWN_MODEL = re.compile(r"(gpt-(?!oss)|o\d|chatgpt|codex)")


class Mode(StrEnum):
    """How the rounds of one answer reach a model (seed 004)."""

    AUTO = "auto"
    """Only what is new, where the vendor can keep the rest without storing it; else the whole context."""
    RESUME = "resume"
    """Only what is new wherever the vendor can keep the rest, even if it stores it until it is deleted."""
    REPLAY = "replay"
    """The whole context in every round."""


def is_loopback(host: str) -> bool:
    """Whether what is sent to this host stays on the machine."""
    try:
        address = ipaddress.ip_address(host)
        # An IPv4 address inside of an IPv6 one is loopback to newer Pythons alone: to all of them it is none here.
        return address.is_loopback and getattr(address, "ipv4_mapped", None) is None
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class ToolsForm(StrEnum):
    """How a model that is asked by Chat Completions is offered its tools."""

    AUTO = "auto"
    """In its vendor's form if it is small and runs on this machine: it was trained on that, and bends to no other."""
    TEXT = "text"
    NATIVE = "native"

    def is_native(self, endpoint: "Endpoint", model: str) -> bool:
        if self is ToolsForm.AUTO:
            return endpoint.is_local and _SMALL.search(model.lower()) is not None
        return self is ToolsForm.NATIVE


# At most nine thousand million parameters, as the names of open models say it: qwen3:8b, Llama-3.1-8B-Instruct.
_SMALL = re.compile(r"(?:^|[:_-])[0-9](?:\.\d)?b(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One service. `base_url` ends where "/chat/completions", "/messages" or "/models" begin.

    `key_setting` and `url_setting` name the settings that hold its key and its address, "" where there is none. `path`
    is what follows the address in that setting; with `own_path`, an address that has a path already is complete.
    `start` says how to start a local server, `fetch` how to get a model that it lacks.
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

    def authorisation(self, key: str | None) -> dict[str, str]:
        if not key:
            return {}
        return {self.key_header: f"Bearer {key}" if self.key_header == "authorization" else key}

    @property
    def address(self) -> str:
        """What may be shown of the address: scheme, host, port and path; never credentials or a query."""
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
        """Whether it runs on this machine, which no proxy can reach."""
        return is_loopback(self.host)

    def at(self, address: str) -> "Endpoint":
        """The same service, at the address that its setting holds."""
        trimmed = address.strip().rstrip("/")
        if not self.path:
            trimmed = trimmed.removesuffix(GEMINI_PATH)
        complete = trimmed.endswith(self.path) or (self.own_path and urlsplit(trimmed).path)
        base_url = trimmed if complete else trimmed + self.path
        return self if base_url == self.base_url else replace(self, base_url=base_url, key_required=False)

    def speaks_responses(self, model: str) -> bool:
        """Whether this is a model of OpenAI's own, at OpenAI or behind somebody's gateway.

        Servers of other models offer Responses too, but few of them all of it.
        """
        return self.name == "openai" and _OWN_MODEL.match(model) is not None

    def stops_at_sequences(self, model: str) -> bool:
        """Whether `stop` may be sent. OpenAI's reasoning models, which is all since GPT-4, refuse it."""
        return self.host != "api.openai.com" or model.startswith(("gpt-4", "gpt-3.5", "chatgpt-4o"))


_REASONERS = re.compile(
    r"(?:^|[/_:-])(?:o\d|gpt-(?:[5-9]|oss)|codex|gemini-(?:2\.5|[3-9])|claude-[a-z]{2,9}-[5-9]|grok-[4-9]|grok-3-mini"
    r"|deepseek-(?:r\d|reasoner)|qwq|qwen3|magistral)|think|reason"
)
_ANSWER_AT_ONCE = re.compile(r"instruct|non-?(?:thinking|reasoning)|-lite|chat-latest")


def reasons(model: str) -> bool:
    """Whether a model of this name reasons by itself before it writes; in doubt not: it may then think aloud."""
    name = model.lower()
    return _REASONERS.search(name) is not None and _ANSWER_AT_ONCE.search(name) is None


OPENAI = Endpoint(
    "openai",
    "OpenAI",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    key_required=True,
    own_path=True,
)
ANTHROPIC = Endpoint(
    "anthropic",
    "Anthropic",
    "https://api.anthropic.com/v1",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    key_required=True,
    key_header="x-api-key",
)
GEMINI = Endpoint(
    "gemini",
    "Gemini",
    f"{_GOOGLE}{GEMINI_PATH}",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    key_required=True,
    path=GEMINI_PATH,
    own_path=True,
    key_header="x-goog-api-key",
)
# OpenAI's voice models, over a WebSocket and in text; not Chat Completions.
REALTIME = replace(OPENAI, name="openai-realtime", label="OpenAI Realtime")
# Gemini's voice models, over a WebSocket; not Chat Completions. Its paths begin at the address's root.
LIVE = replace(GEMINI, name="gemini-live", label="Gemini Live", base_url=_GOOGLE, path="", own_path=False)
OLLAMA = Endpoint(
    "ollama",
    "Ollama",
    "http://localhost:11434/v1",
    url_setting="OLLAMA_BASE_URL",
    start="start it with `ollama serve`",
    fetch="get it with `ollama pull {model}`",
)
LLAMACPP = Endpoint("llamacpp", "llama.cpp", "http://localhost:8080/v1", start="start it with `llama-server`")
VLLM = Endpoint("vllm", "vLLM", "http://localhost:8000/v1", start="start it with `vllm serve`")
LMSTUDIO = Endpoint("lmstudio", "LM Studio", "http://localhost:1234/v1", start="start it with `lms server start`")
OPENROUTER = Endpoint(
    "openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", key_required=True
)
MISTRAL = Endpoint("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", key_required=True)
XAI = Endpoint("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", key_required=True)

_ALL = (OPENAI, ANTHROPIC, GEMINI, OLLAMA, LLAMACPP, VLLM, LMSTUDIO, OPENROUTER, MISTRAL, XAI, REALTIME, LIVE)
ENDPOINTS = {endpoint.name: endpoint for endpoint in _ALL}
