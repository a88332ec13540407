"""The client of Slack's Web API, and the rates of its methods.

Rules: every call names its `Method`, so that a test compares the manifest's scopes with those that the code needs.
Everything that is sent is made harmless here (`harmless`), so that no caller has to do it.

SlackError
├── SlackLimited    rate limited: not again before `retry_after_s`
├── SlackDown       unreachable, too slow, or broken (5xx); whether the call took effect is not known
└── SlackRefused    Slack refused the call; `code` is its error code
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from agent.certificates import sentence_of
from agent.errors import CogencyError
from agent.messages import Json, JsonObject, is_too_deep
from agent.providers.http_client import proxy_for
from bot.chat.method_queue import MethodQueue
from bot.chat.rates import MINUTE, MethodRate
from bot.chat.replicas import Replicas
from bot.chat.telemetry import SILENT, RateLimited, Telemetry
from bot.platforms import texts as platforms_texts
from bot.platforms.failed_requests import failure_reason
from bot.platforms.slack.markup import NeutralText, neutral
from bot.platforms.slack.options import PLATFORM, Method, RotatingToken
from bot.settings.secret import Secret

# Makes what is sent to Slack harmless: no text mentions a user, and no link unfurls. Pure.
#
# Rule: every text that a user may read is made harmless, anywhere in a message, a stream, a view or a title. Fields
# that only a program reads stay as they are.

# Fields that no user reads: Slack sends them back at a click, or they are addresses.
_OPAQUE: Final = frozenset(
    {"value", "private_metadata", "metadata", "action_id", "block_id", "callback_id", "external_id", "url", "id"}
    | {"query", "action_token"}
)
_USER: Final = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_GROUP: Final = re.compile(r"S[A-Z0-9]{1,30}", re.ASCII)
# The initial text of an input field: Slack shows it as plain characters, and the user sends it back.
_EDITABLE: Final = frozenset({"initial_value"})
_UNCHANGED: Final = _OPAQUE | _EDITABLE

NO_UNFURL: Final[Mapping[str, Json]] = {"unfurl_links": False, "unfurl_media": False}


def harmless(value: Json) -> Json:
    """Return the value with every text in it made harmless; the texts keep their lengths."""
    match value:
        case NeutralText():
            return value
        case str():
            return neutral(value)
        case list():
            return [harmless(item) for item in value]
        case dict():
            return harmless_fields(value)
        case _:
            return value


def harmless_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of an object, or the arguments of a method, made harmless."""
    return {name: value if name in _UNCHANGED else harmless(value) for name, value in fields.items()}


def mentioning(message: dict[str, Json], ids: str) -> dict[str, Json]:
    """Return a harmless message that mentions these users (U…) and user groups (S…) first; the ids are separated by
    commas. Unchanged for "" or what are no such ids.
    """
    mention = " ".join(filter(None, map(_mention, ids.split(","))))
    if not mention:
        return message
    blocks = message.get("blocks")
    first: Json = {"type": "section", "text": {"type": "mrkdwn", "text": mention}}
    prefixed: dict[str, Json] = {**message, "text": f"{mention} {message.get('text', '')}"}
    return {**prefixed, "blocks": [first, *blocks]} if isinstance(blocks, list) else prefixed


def _mention(id_: str) -> str:
    if _USER.fullmatch(id_):
        return f"<@{id_}>"
    return f"<!subteam^{id_}>" if _GROUP.fullmatch(id_) else ""


# Accessors for what Slack sends, in which every field may be missing. Pure.
#
# Rule: they raise nothing. A field that is missing or of another type reads as empty.

Value: TypeAlias = "Json | JsonObject"


def at(value: Value, *path: str) -> Value:
    """Return the value at this path of keys; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: Value, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def first_text(value: Value, *keys: str) -> str:
    """Return the first non-empty text among these fields; "" for none."""
    return next((found for key in keys if (found := text(value, key))), "")


def flag(value: Value, *path: str) -> bool:
    return at(value, *path) is True


def number(value: Value, *path: str) -> int:
    found = at(value, *path)
    return found if isinstance(found, int) else 0


def fields(value: Value, *path: str) -> JsonObject:
    found = at(value, *path)
    return found if isinstance(found, dict) else {}


def texts(value: Value, *path: str) -> list[str]:
    """Return the texts in a list; other values in it are left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def items(value: Value, *path: str) -> list[JsonObject]:
    """Return the objects in a list; other values in it are left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


_CURSOR: Final = ("response_metadata", "next_cursor")


def has_more(page: JsonObject) -> bool:
    """Whether another page follows this one."""
    return bool(text(page, *_CURSOR))


TIMEOUT_S = 10  # Slack normally answers within a second; a write in flight delays a shutdown by up to this

FILE_TIMEOUT = ClientTimeout(total=30)  # Twenty megabytes on a slow line; a caller may allow less time

CHUNK_BYTES = 16_384

# Only Slack's paths of files get the token: an address with a username, dots or another path could send it elsewhere.
_FILE_URL: Final = re.compile(
    r"(?P<origin>https?://[a-z0-9.-]+(?::[0-9]{1,5})?)(?P<path>/files-(?:pri|tmb)(?:/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)+)"
    r"(?:\?[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?"
)
# Ambiguous paths are refused: dot segments, and encoded characters that are separators once they are decoded.
_TRICKS: Final = re.compile(r"/\.{1,2}(?:/|$)|%(?:2e|2f|5c|25|[01][0-9a-f]|7f)|%(?![0-9a-f]{2})", re.IGNORECASE)
_FILE_ORIGIN: Final = re.compile(r"https://(?:files\.slack\.com|(?:[a-z0-9-]+\.)+slack-files\.com)")

DEFAULT_RETRY_AFTER_S = 30.0  # Without a Retry-After header: Slack's own default
MAX_RETRY_AFTER_S = 600.0  # Its limits are per minute; a proxy before it may say anything
_WAIT: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)

# Error codes after an app was uninstalled, or its token revoked.
REVOKED: Final = frozenset({"account_inactive", "invalid_auth", "token_revoked"})

_DOWN = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "accesslimited"}
    | {"org_login_required"}
)


class _Response(Protocol):
    """The fields of slack-sdk's response that are read here."""

    data: object
    headers: Mapping[str, str]
    status_code: int


class _Client(Protocol):
    token: str | None

    async def api_call(
        self,
        api_method: str,
        *,
        http_verb: str = "POST",
        params: dict[str, Any] | None = None,
        json: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> _Response: ...


class SlackError(CogencyError):
    pass


class SlackLimited(SlackError):
    def __init__(self, method: str, retry_after_s: float) -> None:
        super().__init__(platforms_texts.SLACK_LIMITED.format(seconds=retry_after_s, method=method))
        self.retry_after_s = retry_after_s


class SlackDown(SlackError):
    """`why`: a phrase, if a request was sent. `answered`: it got a response, such as an error of the server."""

    def __init__(self, sentence: str, *, why: str = "", answered: bool = False) -> None:
        super().__init__(sentence)
        self.why, self.answered = why, answered

    @classmethod
    def unreached(cls, method: str, error: Exception, url: str) -> "SlackDown":
        address, why = URL(url).origin(), failure_reason(error)
        otherwise = platforms_texts.SLACK_UNREACHABLE.format(method=method, why=why)
        return cls(sentence_of(error, "Slack", str(address), otherwise), why=why)

    @classmethod
    def failed(cls, method: str, why: str) -> "SlackDown":
        return cls(platforms_texts.SLACK_FAILED.format(method=method, why=why), why=why, answered=True)


class SlackRefused(SlackError):
    """`answer`: the whole answer, for a method that says more than its code."""

    def __init__(self, method: str, code: str, answer: JsonObject | None = None) -> None:
        super().__init__(platforms_texts.SLACK_REFUSED.format(method=method, code=code))
        self.code = code
        self.answer: JsonObject = answer or {}

    @property
    def remedy(self) -> str:
        """What the user can do about it, as a sentence."""
        known = (why for code, why in platforms_texts.SLACK_REMEDIES.items() if self.code.startswith(code))
        return next(known, platforms_texts.SLACK_REMEDY)


def file_url(url: str, api_base_url: str) -> URL | None:
    """Return the URL of a file of Slack exactly as it is to be requested; None for any other URL, which must not get
    the token. Pure.

    Files are on Slack's file hosts, or, if `api_base_url` is not Slack's, on that host; always under /files-pri/ or
    /files-tmb/.
    """
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    match = _FILE_URL.fullmatch(f"{scheme.lower()}{separator}{host.lower()}{slash}{path}")
    if match is None or _TRICKS.search(match["path"]):
        return None
    base = urlsplit(api_base_url.lower())
    is_beside_api = (
        not f".{base.hostname}".endswith(".slack.com") and match["origin"] == f"{base.scheme}://{base.netloc}"
    )
    is_of_slack = _FILE_ORIGIN.fullmatch(match["origin"].removesuffix(":443")) is not None
    return URL(match[0], encoded=True) if is_of_slack or is_beside_api else None


class SlackApi:
    """One workspace's Web API. `session` carries every request, so that connections are reused."""

    def __init__(
        self, client: AsyncWebClient, session: ClientSession, telemetry: Telemetry = SILENT, known_as: str = PLATFORM
    ) -> None:
        self._telemetry = telemetry
        self.known_as = known_as
        self._client = cast("_Client", client)  # slack-sdk's own types are incomplete
        self._session = session
        self._base_url = client.base_url
        self._signed_in = False
        self.granted: frozenset[str] = frozenset()  # The scopes of the bot token; empty if Slack did not say
        self.server_time: datetime | None = None  # Slack's clock when `sign_in` was answered
        self.rotating: RotatingToken | None = None  # The bot token, if it is replaced while this is in use
        self.doubted = asyncio.Event()  # Set when Slack refuses the bot token after it had accepted it

    async def call(self, method: Method, mentions: str = "", /, **args: Json) -> JsonObject:
        """Call a method and return its answer. Arguments that are None are left out. Raises SlackError.

        `mentions`: whom the message mentions before its text; see `mentioning`.
        """
        sent_args = {name: value for name, value in args.items() if value is not None}
        if method.verb == "GET":
            return _body(await self._send(method, params=sent_args, http_verb="GET"))
        sent_args = mentioning(harmless_fields(sent_args), mentions)
        return _body(await self._send(method, json={**NO_UNFURL, **sent_args} if method is Method.POST else sent_args))

    async def pages(self, method: Method, max_pages: int, **args: Json) -> AsyncGenerator[JsonObject]:
        """Yield the method's answers page by page, up to `max_pages`; see `has_more`. Raises SlackError."""
        cursor: str | None = None
        for _ in range(max_pages):
            page = await self.call(method, cursor=cursor, **args)
            yield page
            cursor = text(page, *_CURSOR)
            if not cursor:
                return

    async def sign_in(self) -> JsonObject:
        """Return the owner of the bot token (auth.test); sets `granted` and `server_time`. Raises SlackError."""
        response = await self._send(Method.AUTH_TEST)
        self.granted = _scopes(response)
        self.server_time = _date(response)
        self._signed_in = True
        return _body(response)

    async def open_connection(self, app_token: Secret) -> str:
        """Return the address of a new socket. Raises SlackError."""
        headers = {"Authorization": f"Bearer {app_token.reveal()}"}
        return text(_body(await self._send(Method.OPEN_CONNECTION, headers=headers)), "url")

    async def export_manifest(self, app: str, config_token: Secret) -> JsonObject:
        """Return the manifest of an app (A…) as it is configured in Slack. Raises SlackError."""
        headers = {"Authorization": f"Bearer {config_token.reveal()}"}
        answer = _body(await self._send(Method.EXPORT_MANIFEST, headers=headers, json={"app_id": app}))
        return fields(answer, "manifest")

    async def download(self, url: str, token: Secret, limit: int) -> bytes:
        """Return the first `limit` bytes of a file of Slack. No other address is requested, and no redirect followed.
        Raises SlackError.
        """
        address = file_url(url, self._base_url)
        if address is None:
            raise SlackRefused("a file", "not an address of Slack's files")
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        content = bytearray()
        try:
            async with self._session.get(
                address, headers=headers, allow_redirects=False, proxy=proxy_for(url), timeout=FILE_TIMEOUT
            ) as response:
                if response.status != 200:
                    raise SlackRefused("a file", f"status {response.status}")
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    content += chunk
                    if len(content) >= limit:
                        break
        except (ClientError, TimeoutError) as error:
            raise SlackDown.unreached("a file", error, url) from error
        return bytes(content[:limit])

    async def upload(self, url: str, content: bytes) -> None:
        """Upload a file to the URL that Slack gave. Raises SlackError."""
        try:
            async with self._session.post(url, data=content, proxy=proxy_for(url), timeout=FILE_TIMEOUT) as response:
                status = response.status
        except (ClientError, TimeoutError, ValueError) as error:
            raise SlackDown.unreached("a file", error, url) from error
        if status != 200:
            raise SlackRefused("a file", f"status {status}")

    async def _send(
        self,
        method: Method,
        *,
        http_verb: str = "POST",
        params: dict[str, Any] | None = None,
        json: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> _Response:
        if (rotating := self.rotating) is not None:
            self._client.token = rotating.reveal()
        sent_token = self._client.token or ""
        try:
            return await self._client.api_call(method, http_verb=http_verb, params=params, json=json, headers=headers)
        except SlackApiError as error:
            translated = _translate(method, error)
            refusal_code = translated.code if isinstance(translated, SlackRefused) and headers is None else ""
            if rotating is not None and await rotating.is_newer_than(sent_token, refusal_code):
                return await self._send(method, http_verb=http_verb, params=params, json=json)
            if isinstance(translated, SlackLimited):
                self._telemetry.record(RateLimited(self.known_as))
            elif refusal_code in REVOKED and self._signed_in:
                self.doubted.set()
            raise translated from error
        except (ClientError, SlackClientError, TimeoutError, ValueError, AttributeError) as error:
            # AttributeError: JSON that is no object, from a proxy; slack-sdk takes it for one.
            raise SlackDown.unreached(method, error, self._base_url) from error

    async def respond(self, url: str, **message: Json) -> None:
        """Answer through a `response_url`, which takes five answers within 30 minutes. Arguments, errors: as `call`."""
        sent_fields = {name: value for name, value in message.items() if value is not None}
        payload = {**NO_UNFURL, **harmless_fields(sent_fields)}
        try:
            async with self._session.post(url, json=payload, proxy=proxy_for(url)) as response:
                status, answer = response.status, await response.text()
        except (ClientError, TimeoutError) as error:
            raise SlackDown.unreached("response_url", error, url) from error
        if status == 429:
            self._telemetry.record(RateLimited(self.known_as))
            raise SlackLimited("response_url", _seconds(response.headers.get("Retry-After", "")))
        if status >= 500:
            raise SlackDown.failed("response_url", f"status {status}")
        if status != 200 or _refusal(answer):
            raise SlackRefused("response_url", _refusal(answer) or f"status {status}")


def sign_in_sentence(error: SlackError, address: str) -> str:
    """Return why nobody signed in at the API at this address, and what to do, as sentences for the operator."""
    if not isinstance(error, SlackDown) or not error.why:
        return str(error)
    sentence = platforms_texts.SLACK_BROKEN if error.answered else platforms_texts.SLACK_AWAY
    return sentence_of(error, "Slack", address, sentence.format(address=address, why=error.why))


def _body(response: _Response) -> JsonObject:
    data = response.data
    return cast("JsonObject", data) if isinstance(data, dict) else {}


def _header(response: _Response, name: str) -> str:
    return next((value for key, value in response.headers.items() if key.lower() == name), "")


def _date(response: _Response) -> datetime | None:
    try:
        return parsedate_to_datetime(_header(response, "date")).astimezone(UTC)
    except ValueError:
        return None


def _scopes(response: _Response) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, _header(response, "x-oauth-scopes").split(","))))


def _translate(method: Method, error: SlackApiError) -> SlackError:
    if not isinstance(error.response, AsyncSlackResponse):
        return SlackDown.failed(method, platforms_texts.ANSWER_UNREADABLE)
    response = cast("_Response", error.response)
    code = text(_body(response), "error")
    if response.status_code == 429 or code in ("ratelimited", "rate_limited"):
        return SlackLimited(method, _seconds(_header(response, "retry-after")))
    if response.status_code >= 500 or code in _DOWN or not code:
        return SlackDown.failed(method, f"status {response.status_code} {code}".rstrip())
    return SlackRefused(method, code, _body(response))


def _seconds(header: str) -> float:
    """Return how long Slack asks to wait, up to MAX_RETRY_AFTER_S: what waits for it is held for so long."""
    return min(float(header), MAX_RETRY_AFTER_S) if _WAIT.fullmatch(header.strip()) else DEFAULT_RETRY_AFTER_S


def _refusal(body: str) -> str:
    """Return the error in the answer of a `response_url`; "" for "ok" and {"ok": true}."""
    try:
        answer: Json = None if is_too_deep(body) else json.loads(body)
    except ValueError:
        return ""
    return text(answer, "error") if isinstance(answer, dict) and answer.get("ok") is False else ""


def web_client(base_url: str, session: ClientSession, token: str | None = None) -> AsyncWebClient:
    """Return a client without retries: a repeated post would be a second message, and replies retry by themselves."""
    client = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
    client.proxy = proxy_for(base_url)  # slack-sdk would take the environment's for every host
    return client


@dataclass(slots=True)
class MethodRates:
    """The call budgets of one app in one workspace, for all its replies and processes: each a little below Slack's
    limit. `app`: names them for the replicas, which count together.
    """

    app: str = ""
    replicas: Replicas | None = None
    updates: MethodRate = field(init=False)  # chat.update: tier 3, 50 a minute
    starts: MethodRate = field(init=False)  # chat.startStream: tier 2, 20 a minute
    appends: MethodRate = field(init=False)  # chat.appendStream: tier 4, 100 a minute
    stops: MethodRate = field(init=False)  # chat.stopStream: tier 2, 20 a minute
    _queues: dict[str, MethodQueue] = field(default_factory=dict[str, MethodQueue])

    def __post_init__(self) -> None:
        self.updates = self.rate(Method.UPDATE, 48)
        self.starts = self.rate(Method.START_STREAM, 19)
        self.appends = self.rate(Method.APPEND_STREAM, 96)
        self.stops = self.rate(Method.STOP_STREAM, 19)

    def rate(self, name: str, calls: int) -> MethodRate:
        """Return a budget of this many calls in any minute."""
        return MethodRate(calls, MINUTE, f"{self.app} {name}", self.replicas)

    def queue(self, name: str, interval_s: float, burst: int = 1) -> MethodQueue:
        """Return the queue with this name; the first call makes it."""
        if name not in self._queues:
            self._queues[name] = MethodQueue(interval_s, f"{self.app} {name}", self.replicas, burst)
        return self._queues[name]

    def posts(self, channel: str) -> MethodQueue:
        """Return the queue of chat.postMessage for a channel: one a second. Slack allows short bursts, of a length that
        it does not document: two, for a command's question and the first words below it.
        """
        return self.queue(f"{Method.POST} {channel}", 1.0, burst=2)

    def remove(self, who: str) -> None:
        """Forget a reply that has ended, by its name in the budgets."""
        for budget in (self.updates, self.starts, self.appends, self.stops):
            budget.remove(who)
