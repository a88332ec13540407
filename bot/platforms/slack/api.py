"""The Web API, as much of it as we use, and how often its methods may be called.

Rules: every call names its `Method`, so that the manifest can be held to the scopes that the code needs. Whatever is
written goes out harmless (see `outgoing`), so that no caller has to think of it.

SlackError
├── SlackLimited    too fast: not before `retry_after_s`
├── SlackDown       unreachable, too slow, or broken (5xx); whether the call took effect is not known
└── SlackRefused    Slack said no; `code` is its word for why
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
from urllib.request import proxy_bypass

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse
from yarl import URL

from agent.errors import CogencyError
from agent.messages import Json, JsonObject
from bot.caches import MINUTE, MethodQueue, MethodRate, Replicas
from bot.platforms.slack.markup import neutral
from bot.platforms.slack.options import PLATFORM, Method, RotatingToken
from bot.setting_parsers import Secret
from bot.telemetry import SILENT, RateLimited, Telemetry
from bot.texts import reply_texts

# What leaves for Slack: nothing in it pings anybody, and no link in it unfolds. Pure.
#
# Rule: every text that somebody may read is made harmless, wherever it stands in a message, a stream, a view or a
# title. What only a machine reads comes back as it was sent.

# Fields that nobody reads: they come back at a click, or lead somewhere.
_OPAQUE: Final = frozenset(
    {"value", "private_metadata", "metadata", "action_id", "block_id", "callback_id", "external_id", "url", "id"}
    | {"query", "action_token"}
)
_USER: Final = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
# What a person finds in a field of a window, to be changed: shown as plain characters, and sent back by them.
_TYPED: Final = frozenset({"initial_value"})

NO_UNFURL: Final[Mapping[str, Json]] = {"unfurl_links": False, "unfurl_media": False}


def harmless(value: Json) -> Json:
    """The same value with every text in it made harmless; lengths stay."""
    match value:
        case str():
            return neutral(value)
        case list():
            return [harmless(item) for item in value]
        case dict():
            return harmless_fields(value)
        case _:
            return value


def harmless_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The same for the fields of an object, or the arguments of a method."""
    return {name: value if name in _OPAQUE | _TYPED else harmless(value) for name, value in fields.items()}


def mentioning(message: dict[str, Json], user: str) -> dict[str, Json]:
    """A message that is harmless but for calling this user; "" or what is no user's id calls nobody."""
    if not _USER.fullmatch(user):
        return message
    call, blocks = f"<@{user}>", message.get("blocks")
    first: Json = {"type": "section", "text": {"type": "mrkdwn", "text": call}}
    called: dict[str, Json] = {**message, "text": f"{call} {message.get('text', '')}"}
    return {**called, "blocks": [first, *blocks]} if isinstance(blocks, list) else called


# Reading what Slack sends, where every field may be missing. Pure.
#
# Rule: nothing here raises. A field that is missing or of another type reads as empty.

Value: TypeAlias = "Json | JsonObject"


def at(value: Value, *path: str) -> Value:
    """The value under these keys, one inside the other; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text(value: Value, *path: str) -> str:
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def first_text(value: Value, *keys: str) -> str:
    """The first of these fields that holds a text."""
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
    """The texts of a list; everything else in it is left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def items(value: Value, *path: str) -> list[JsonObject]:
    """The objects of a list; everything else in it is left out."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


_CURSOR: Final = ("response_metadata", "next_cursor")


def has_more(page: JsonObject) -> bool:
    """Whether another page follows this one."""
    return bool(text(page, *_CURSOR))


TIMEOUT_S = 10  # Slack answers within a second or is in trouble; a write in flight holds up a shutdown for no longer

FILE_TIMEOUT = ClientTimeout(total=30)  # Twenty megabytes on a slow line; whoever reads a file may have less patience

CHUNK_BYTES = 16_384

_FILE_URL: Final = re.compile(
    r"(?P<origin>https?://[a-z0-9.-]+(?::[0-9]{1,5})?)(?P<path>/files-(?:pri|tmb)(?:/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)+)"
    r"(?:\?[A-Za-z0-9._~%!$&'()*+,;=:@/-]*)?"
)
# Of a path only what has one reading: no dot segments, and nothing encoded that is a separator once it is decoded.
_TRICKS: Final = re.compile(r"/\.{1,2}(?:/|$)|%(?:2e|2f|5c|25|[01][0-9a-f]|7f)|%(?![0-9a-f]{2})", re.IGNORECASE)
_FILE_ORIGIN: Final = re.compile(r"https://(?:files\.slack\.com|(?:[a-z0-9-]+\.)+slack-files\.com)")

DEFAULT_RETRY_AFTER_S = 30.0  # When a limit comes without its header: Slack's own default

# What is answered once an app was uninstalled, or its token revoked.
REVOKED: Final = frozenset({"account_inactive", "invalid_auth", "token_revoked"})

_DOWN = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org", "accesslimited"}
    | {"org_login_required", "ekm_access_denied"}
)


class _Response(Protocol):
    """What slack-sdk answers, as far as we read it."""

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
        super().__init__(reply_texts.SLACK_LIMITED.format(seconds=retry_after_s, method=method))
        self.retry_after_s = retry_after_s


class SlackDown(SlackError):
    pass


class SlackRefused(SlackError):
    def __init__(self, method: str, code: str) -> None:
        super().__init__(reply_texts.SLACK_REFUSED.format(method=method, code=code))
        self.code = code

    @property
    def remedy(self) -> str:
        """What somebody can do who wanted something written there."""
        known = (why for code, why in reply_texts.SLACK_REMEDIES.items() if self.code.startswith(code))
        return next(known, reply_texts.SLACK_REMEDY)


def file_url(url: str, api_base_url: str) -> URL | None:
    """The address of a file of Slack, exactly as it is requested; None for any other, which gets no token. Pure.

    Files lie on Slack's file hosts, and where the Web API has an address of one's own, beside that: everywhere under
    /files-pri/ or /files-tmb/ alone.
    """
    scheme, separator, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    found = _FILE_URL.fullmatch(f"{scheme.lower()}{separator}{host.lower()}{slash}{path}")
    if found is None or _TRICKS.search(found["path"]):
        return None
    base = urlsplit(api_base_url.lower())
    beside_the_api = (
        not f".{base.hostname}".endswith(".slack.com") and found["origin"] == f"{base.scheme}://{base.netloc}"
    )
    is_slacks = _FILE_ORIGIN.fullmatch(found["origin"].removesuffix(":443")) is not None
    return URL(found[0], encoded=True) if is_slacks or beside_the_api else None


class SlackApi:
    """One workspace's Web API. `session` carries every request, so that connections are reused."""

    def __init__(
        self, client: AsyncWebClient, session: ClientSession, telemetry: Telemetry = SILENT, known_as: str = PLATFORM
    ) -> None:
        self._telemetry = telemetry
        self._known_as = known_as
        self._client = cast("_Client", client)  # slack-sdk's own types are incomplete
        self._session = session
        self._proxy = client.proxy
        self._base_url = client.base_url
        self._signed_in = False
        self.granted: frozenset[str] = frozenset()  # The scopes of the bot token, as far as Slack said
        self.said_at: datetime | None = None  # What time it was there
        self.rotating: RotatingToken | None = None  # the token, where it is replaced while this is in use
        self.revoked = asyncio.Event()  # Set once Slack took this bot token for good, after it had accepted it

    async def call(self, method: Method, mentions: str = "", /, **args: Json) -> JsonObject:
        """The method's answer. Raises SlackError; None among the arguments means: leave it out.

        `mentions`: the id of whom the message calls, before its words.
        """
        given = {name: value for name, value in args.items() if value is not None}
        if method.verb == "GET":
            return _body(await self._send(method, params=given, http_verb="GET"))
        given = mentioning(harmless_fields(given), mentions)
        return _body(await self._send(method, json={**NO_UNFURL, **given} if method is Method.POST else given))

    async def pages(self, method: Method, most: int, **args: Json) -> AsyncGenerator[JsonObject]:
        """The method's answers page by page, so many at most; see `has_more`. Raises SlackError."""
        cursor: str | None = None
        for _ in range(most):
            page = await self.call(method, cursor=cursor, **args)
            yield page
            cursor = text(page, *_CURSOR)
            if not cursor:
                return

    async def sign_in(self) -> JsonObject:
        """Who the bot token belongs to; its scopes are then in `granted`, Slack's time in `said_at`.

        Raises SlackError.
        """
        response = await self._send(Method.AUTH_TEST)
        self.granted = _scopes(response)
        self.said_at = _date(response)
        self._signed_in = True
        return _body(response)

    async def open_connection(self, app_token: Secret) -> str:
        """The address of a new socket. Raises SlackError."""
        headers = {"Authorization": f"Bearer {app_token.reveal()}"}
        return text(_body(await self._send(Method.OPEN_CONNECTION, headers=headers)), "url")

    async def export_manifest(self, app: str, config_token: Secret) -> JsonObject:
        """The manifest of an app as it is set up. Raises SlackError."""
        headers = {"Authorization": f"Bearer {config_token.reveal()}"}
        answer = _body(await self._send(Method.EXPORT_MANIFEST, headers=headers, json={"app_id": app}))
        return fields(answer, "manifest")

    async def download(self, url: str, token: Secret, limit: int) -> bytes:
        """The first `limit` bytes of a file of Slack; nothing is asked of any other address. The token does not follow
        a redirect. Raises SlackError.
        """
        address = file_url(url, self._base_url)
        if address is None:
            raise SlackRefused("a file", "not an address of Slack's files")
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        content = bytearray()
        try:
            async with self._session.get(
                address, headers=headers, allow_redirects=False, proxy=self._proxy, timeout=FILE_TIMEOUT
            ) as response:
                if response.status != 200:
                    raise SlackRefused("a file", f"status {response.status}")
                async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                    content += chunk
                    if len(content) >= limit:
                        break
        except (ClientError, TimeoutError) as error:
            raise SlackDown(reply_texts.SLACK_UNREACHABLE.format(method="a file", why=_in_words(error))) from error
        return bytes(content[:limit])

    async def upload(self, url: str, content: bytes) -> None:
        """Put a file where Slack said. Raises SlackError."""
        try:
            async with self._session.post(url, data=content, proxy=self._proxy, timeout=FILE_TIMEOUT) as response:
                status = response.status
        except (ClientError, TimeoutError, ValueError) as error:
            raise SlackDown(reply_texts.SLACK_UNREACHABLE.format(method="a file", why=_in_words(error))) from error
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
        sent = self._client.token or ""
        try:
            return await self._client.api_call(method, http_verb=http_verb, params=params, json=json, headers=headers)
        except SlackApiError as error:
            meant = _translated(method, error)
            refused = meant.code if isinstance(meant, SlackRefused) and headers is None else ""
            if rotating is not None and await rotating.is_newer_than(sent, refused):
                return await self._send(method, http_verb=http_verb, params=params, json=json)
            if isinstance(meant, SlackLimited):
                self._telemetry.tell(RateLimited(self._known_as))
            elif refused in REVOKED and self._signed_in:
                self.revoked.set()
            raise meant from error
        except (ClientError, SlackClientError, TimeoutError, ValueError, AttributeError) as error:
            # The last: JSON that is no object, from whatever stands between; slack-sdk takes it for one.
            raise SlackDown(reply_texts.SLACK_UNREACHABLE.format(method=method, why=_in_words(error))) from error

    async def respond(self, url: str, **message: Json) -> None:
        """Answer through a `response_url`: valid for 30 minutes and five answers. None and errors as in `call`."""
        given = {name: value for name, value in message.items() if value is not None}
        said = {**NO_UNFURL, **harmless_fields(given)}
        try:
            async with self._session.post(url, json=said, proxy=self._proxy) as response:
                status, answer = response.status, await response.text()
        except (ClientError, TimeoutError) as error:
            raise SlackDown(
                reply_texts.SLACK_UNREACHABLE.format(method="response_url", why=_in_words(error))
            ) from error
        if status == 429:
            self._telemetry.tell(RateLimited(self._known_as))
            raise SlackLimited("response_url", _seconds(response.headers.get("Retry-After", "")))
        if status >= 500:
            raise SlackDown(reply_texts.SLACK_FAILED.format(method="response_url", why=f"status {status}"))
        if status != 200 or _refusal(answer):
            raise SlackRefused("response_url", _refusal(answer) or f"status {status}")


def _in_words(error: Exception) -> str:
    match error:
        case TimeoutError():
            return "no answer in time"
        case ClientError():
            return "the connection failed"
        case _:
            return "an answer that cannot be read"


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


def _translated(method: Method, error: SlackApiError) -> SlackError:
    if not isinstance(error.response, AsyncSlackResponse):
        return SlackDown(reply_texts.SLACK_FAILED.format(method=method, why="no readable answer"))
    response = cast("_Response", error.response)
    code = text(_body(response), "error")
    if response.status_code == 429 or code in ("ratelimited", "rate_limited"):
        return SlackLimited(method, _seconds(_header(response, "retry-after")))
    if response.status_code >= 500 or code in _DOWN or not code:
        return SlackDown(
            reply_texts.SLACK_FAILED.format(method=method, why=f"status {response.status_code} {code}".rstrip())
        )
    return SlackRefused(method, code)


def _seconds(header: str) -> float:
    try:
        return max(0.0, float(header))
    except ValueError:
        return DEFAULT_RETRY_AFTER_S


def _refusal(said: str) -> str:
    """The error in an answer of a `response_url`: "ok" and {"ok": true} are none."""
    try:
        answer: Json = json.loads(said)
    except ValueError:
        return ""
    return text(answer, "error") if isinstance(answer, dict) and answer.get("ok") is False else ""


# slack-sdk's client, as we use it.

LOCAL: Final = ("localhost", "127.0.0.1", "::1")


def web_client(base_url: str, session: ClientSession, token: str | None = None) -> AsyncWebClient:
    """Without retries: a repeated post would be a second message, and replies repeat what may be repeated."""
    client = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
    host = urlsplit(base_url).hostname or ""
    if host in LOCAL or proxy_bypass(host):
        client.proxy = None  # slack-sdk takes the environment's proxy for every host
    return client


# How often the methods may be called, by all processes of this app in this workspace.


@dataclass(slots=True)
class MethodRates:
    """One workspace's share of each method that replies use, for all open replies: a little less than its tier. `app`:
    whose calls they are, for the processes that count them together.
    """

    app: str = ""
    replicas: Replicas | None = None
    updates: MethodRate = field(init=False)
    """chat.update: tier 3, 50 a minute."""
    starts: MethodRate = field(init=False)
    appends: MethodRate = field(init=False)
    stops: MethodRate = field(init=False)
    """chat.startStream, appendStream and stopStream: tier 2, 20 a minute, but for the second: tier 4, 100."""
    _queues: dict[str, MethodQueue] = field(default_factory=dict[str, MethodQueue])

    def __post_init__(self) -> None:
        self.updates = self.rate(Method.UPDATE, 48)
        self.starts = self.rate(Method.START_STREAM, 19)
        self.appends = self.rate(Method.APPEND_STREAM, 96)
        self.stops = self.rate(Method.STOP_STREAM, 19)

    def rate(self, name: str, calls: int) -> MethodRate:
        """So many in any minute."""
        return MethodRate(calls, MINUTE, f"{self.app} {name}", self.replicas)

    def queue(self, name: str, interval_s: float) -> MethodQueue:
        """The one of this name."""
        if name not in self._queues:
            self._queues[name] = MethodQueue(interval_s, f"{self.app} {name}", self.replicas)
        return self._queues[name]

    def posts(self, channel: str) -> MethodQueue:
        """chat.postMessage: one a second for each channel; short bursts pass, but nobody says how short."""
        return self.queue(f"{Method.POST} {channel}", 1.0)

    def left(self, who: str) -> None:
        """This reply has ended."""
        for budget in (self.updates, self.starts, self.appends, self.stops):
            budget.left(who)
