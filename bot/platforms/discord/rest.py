"""The calls that showing a reply needs, each one documented request; and what their failures mean."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
import discord
from discord.http import Route

from bot.platforms.discord.buttons import NONE, Components
from bot.reply_surface import OutFile, PageGone, PageLimited, PageLocked, PageRefused, PageUnsent, SurfaceError
from bot.texts import reply_texts

SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
IS_COMPONENTS_V2 = 1 << 15

ARCHIVE_MINUTES = 1440  # A thread disappears from the channel's list after a quiet day; writing in it brings it back

UNKNOWN_INTERACTION = 10062
_GONE = {10003, 10004, 10008}  # Unknown channel, server or message
# No access, no DM with this person, no permission, no right to read what is replied to, a locked thread.
_REFUSED = {50001, 50007, 50013, 160002, 160005}
# Unknown webhook, invalid webhook token, too many messages behind it: an interaction that has ended, or was never
# acknowledged.
_TOKEN_GONE = {10015, 40094, 50027, UNKNOWN_INTERACTION}
_LOCKED = {30046, 50005, 50083}  # Too many edits of an old message, somebody else's message, an archived thread
_HAS_A_THREAD = 160004
_NOTHING_THERE = {10003, 10008}

MOST_LOOKED_AT = 100  # Discord's limit, for what was posted behind a moment at which nobody asked anything
LOOK_BACK = 50  # Messages read to find one again that was posted moments ago

LIMITED_FOR_S = 5.0  # How long to wait when Discord does not say: its usual window

Payload = dict[str, Any]

NO_PINGS: Payload = {"parse": [], "replied_user": False}  # Whatever a model writes, nobody is notified


class TokenGone(PageLocked):
    """The interaction can no longer be answered in place."""


class NoThread(SurfaceError):
    """No thread can be started from this message here; a reply in the channel may still be possible."""


@dataclass(frozen=True, slots=True)
class Token:
    """The right to answer one interaction."""

    application: str
    token: str


class Rest:
    """`client` is logged in.

    discord.py waits for a rate limit inside the awaited call, and loses count if such a call is cancelled: never do
    that.

    Why not its message objects: an interaction's answer could not be told to hide embeds, and a thread could not be
    started before the server is in the cache, as after a restart.

    Every method raises a SurfaceError:
        PageLimited   too fast, by Discord's own word
        PageGone      the message or the channel is gone; `PageRefused` if it is our right to write there
        PageLocked    this message can no longer be edited; `TokenGone` if only because its interaction has ended
        PageUnsent    everything else: it may work later
    """

    def __init__(self, client: discord.Client) -> None:
        self._http = client.http
        # Who writes the bot's messages, and its answers to interactions: one number, but for very old applications.
        self._ours = {str(client.user and client.user.id), str(client.application_id)}

    async def send(
        self, channel: str, text: str, nonce: str, reply_to: str = "", components: Components = NONE, mentions: str = ""
    ) -> tuple[str, bool]:
        """Post a message and return its id, and whether it shows what it should. `mentions`: who alone may be called by
        its text.

        Within some minutes the same nonce makes no second message: Discord answers with the first one, as it was. So a
        process that died between posting and storing the id goes on in its message.
        """
        body = _body(text, components=components) | {"nonce": nonce, "enforce_nonce": True}
        if mentions:
            body["allowed_mentions"] = NO_PINGS | {"users": [mentions]}
        if reply_to:
            body["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
        made = await self._made("POST", "/channels/{channel_id}/messages", body, channel_id=channel)
        same_text = str(made.get("content", text)).strip() == text.strip()
        return str(made["id"]), same_text and bool(made.get("components", components)) == bool(components)

    async def edit(self, channel: str, message: str, text: str, components: Components | None = None) -> None:
        """Put `text` there, and `components` below it; without any, those that are there stay."""
        path = "/channels/{channel_id}/messages/{message_id}"
        await self._call("PATCH", path, _body(text, components=components), channel_id=channel, message_id=message)

    async def read(self, channel: str, message: str) -> tuple[str, Components]:
        """The text of a message, and what stands below it."""
        path = "/channels/{channel_id}/messages/{message_id}"
        made = await self._made("GET", path, None, channel_id=channel, message_id=message)
        return str(made.get("content", "")), made.get("components") or NONE

    async def delete(self, channel: str, message: str) -> None:
        path = "/channels/{channel_id}/messages/{message_id}"
        await self._call("DELETE", path, None, channel_id=channel, message_id=message)

    async def type(self, channel: str) -> None:
        """Show for some ten seconds that the bot is typing."""
        await self._call("POST", "/channels/{channel_id}/typing", None, channel_id=channel)

    async def start_thread(self, channel: str, message: str, name: str) -> str:
        """The id of the thread of this message, started if there is none. Raises NoThread where that is impossible."""
        path = "/channels/{channel_id}/messages/{message_id}/threads"
        body = {"name": name, "auto_archive_duration": ARCHIVE_MINUTES}
        try:
            return await self._message("POST", path, body, channel_id=channel, message_id=message)
        except SurfaceError as error:
            refusal = error.__cause__
            if not isinstance(refusal, discord.HTTPException) or not 400 <= refusal.status < 500:
                raise
            if refusal.code == _HAS_A_THREAD:
                return message
            if isinstance(error, PageLimited) or refusal.code in _NOTHING_THERE:
                raise
            raise NoThread("no thread can be started here") from error

    async def rename_thread(self, thread: str, name: str) -> None:
        """Give a thread that the bot has started another name; one that is archived stays so. Any other place is left
        as it is.
        """
        path = "/channels/{channel_id}"
        known = await self._made("GET", path, None, channel_id=thread)
        if str(known.get("owner_id")) not in self._ours or "thread_metadata" not in known:
            return
        archived = known["thread_metadata"].get("archived", False)
        opened = {"archived": False} if archived else {}  # Discord changes no archived one
        await self._call("PATCH", path, {"name": name, **opened}, channel_id=thread)
        if archived:
            await self._call("PATCH", path, {"archived": True}, channel_id=thread)

    async def open_dm(self, person: str) -> str:
        return await self._message("POST", "/users/@me/channels", {"recipient_id": person})

    async def answer(self, token: Token, text: str, components: Components = NONE) -> str:
        """Fill in the deferred answer of an interaction and return its id; doing it again changes the same message."""
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
        return await self._message("PATCH", path, _body(text, components=components), **_of(token))

    async def follow_up(self, token: Token, text: str, components: Components = NONE, *, private: bool) -> str:
        body = _body(text, EPHEMERAL if private else 0, components)
        return await self._message("POST", "/webhooks/{webhook_id}/{webhook_token}", body, **_of(token))

    async def follow_up_panel(self, token: Token, components: Components) -> str:
        """One made of components alone, for the person who used the command."""
        flags = EPHEMERAL | IS_COMPONENTS_V2
        body: Payload = {"components": components, "allowed_mentions": NO_PINGS, "flags": flags}
        return await self._message("POST", "/webhooks/{webhook_id}/{webhook_token}", body, **_of(token))

    async def edit_answer(self, token: Token, message: str, text: str, components: Components | None = None) -> None:
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
        await self._call("PATCH", path, _body(text, components=components), message_id=message, **_of(token))

    async def delete_answer(self, token: Token, message: str) -> None:
        path = "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
        await self._call("DELETE", path, None, message_id=message, **_of(token))

    async def hand_over(self, channel: str, files: Sequence[OutFile], nonce: str) -> str:
        """Post a message of files and return its id; within some minutes the same nonce makes no second one."""
        body = _body("") | {"nonce": nonce, "enforce_nonce": True}
        form = _form(body, files)
        return _id(await self._ask("POST", "/channels/{channel_id}/messages", {"form": form}, channel_id=channel))

    async def follow_up_with(self, token: Token, files: Sequence[OutFile], *, private: bool) -> str:
        form = _form(_body("", EPHEMERAL if private else 0), files)
        return _id(await self._ask("POST", "/webhooks/{webhook_id}/{webhook_token}", {"form": form}, **_of(token)))

    async def following(self, channel: str, interaction: str) -> list[str]:
        """The ids of our texts that followed the answer of an interaction where all see it, oldest first."""
        path, look = "/channels/{channel_id}/messages", {"after": interaction, "limit": LOOK_BACK}
        said = await self._ask("GET", path, {"params": look}, channel_id=channel)
        messages = cast("list[Payload]", said if isinstance(said, list) else [])
        return sorted(
            (str(message["id"]) for message in messages if message["content"] and _follows(message, interaction)),
            key=int,
        )

    async def with_buttons(self, channel: str, after: str, ids: Collection[str]) -> str:
        """The oldest of our messages behind that one below which a button of one of these ids stands; "" for none."""
        path, look = "/channels/{channel_id}/messages", {"after": after, "limit": MOST_LOOKED_AT}
        said = await self._ask("GET", path, {"params": look}, channel_id=channel)
        messages = cast("list[Payload]", said if isinstance(said, list) else [])
        ours = [
            str(message["id"])
            for message in messages
            if message["author"]["id"] in self._ours
            and any(
                one.get("custom_id") in ids
                for row in message.get("components", ())
                for one in row.get("components", ())
            )
        ]
        return min(ours, key=int, default="")

    async def with_files(self, channel: str, files: Collection[OutFile]) -> list[str]:
        """The ids of our latest messages that hold exactly files of these names and sizes."""
        path = "/channels/{channel_id}/messages"
        said = await self._ask("GET", path, {"params": {"limit": LOOK_BACK}}, channel_id=channel)
        messages = cast("list[Payload]", said if isinstance(said, list) else [])
        wanted = sorted((file.name, len(file.content)) for file in files)
        return [
            str(message["id"])
            for message in messages
            if message["author"]["id"] in self._ours
            and sorted((file["filename"], file["size"]) for file in message["attachments"]) == wanted
        ]

    async def _message(self, method: str, path: str, body: Payload, **ids: str) -> str:
        return str((await self._made(method, path, body, **ids))["id"])

    async def _made(self, method: str, path: str, body: Payload | None, **ids: str) -> Payload:
        """What a request made; it has at least an id."""
        made = await self._call(method, path, body, **ids)
        _id(made)
        return cast("Payload", made)

    async def _call(self, method: str, path: str, body: Payload | None, **ids: str) -> object:
        return await self._ask(method, path, {} if body is None else {"json": body}, **ids)

    async def _ask(self, method: str, path: str, given: Payload, **ids: str) -> object:
        """`given`: what goes along, as discord.py takes it."""
        try:
            return await self._http.request(Route(method, path, **ids), **given)
        except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError, RuntimeError) as error:
            # RuntimeError: aiohttp's word for a client that was closed, as at the end of the process.
            raise translated(error) from error


def translated(error: Exception) -> SurfaceError:
    """What a failed request means for the page that it was about."""
    match error:
        case discord.RateLimited():
            return PageLimited(error.retry_after)
        case discord.HTTPException(status=429):
            return PageLimited(LIMITED_FOR_S)
        case discord.HTTPException(code=code) if code in _TOKEN_GONE:
            return TokenGone(f"the interaction has ended (Discord's error {code})")
        case discord.HTTPException(code=code) if code in _LOCKED:
            return PageLocked(f"the message can no longer be edited (Discord's error {code})")
        case discord.HTTPException(code=code, status=status) if code in _REFUSED or status == 403:
            return PageRefused(f"Discord refused it with error {code}.", reply_texts.DISCORD_REMEDIES.get(code, ""))
        case discord.HTTPException(code=code, status=status) if code in _GONE or status == 404:
            return PageGone(f"the message or its place is gone (Discord's error {code})")
        case discord.HTTPException(status=401):
            return PageUnsent(explained(error))
        case discord.HTTPException():
            return PageUnsent(f"Discord answered {error.status} (error {error.code})")
        case _:
            return PageUnsent(f"Discord could not be reached ({type(error).__name__})")


def explained(error: Exception) -> str:
    """A failed request in one sentence for the log, with what helps; nothing that people wrote stands in it."""
    match error:
        case discord.RateLimited():
            return reply_texts.DISCORD_LIMITED.format(seconds=error.retry_after)
        case discord.HTTPException(status=401):
            return reply_texts.DISCORD_ANSWERED.format(
                status=401, code=40001, remedy=reply_texts.DISCORD_REMEDIES[40001]
            )
        case discord.HTTPException(code=code):
            remedy = reply_texts.DISCORD_REMEDIES.get(code, "")
            return reply_texts.DISCORD_ANSWERED.format(status=error.status, code=code, remedy=remedy).rstrip()
        case _:
            return reply_texts.DISCORD_UNREACHED.format(kind=type(error).__name__)


def _follows(message: Payload, interaction: str) -> bool:
    """Whether a message followed the answer of this interaction: only such a one names the answer beside it."""
    made: Payload = message.get("interaction_metadata") or {}
    return str(made.get("id")) == interaction and bool(made.get("original_response_message_id"))


def _body(text: str, flags: int = 0, components: Components | None = None) -> Payload:
    body = {"content": text, "allowed_mentions": NO_PINGS, "flags": flags | SUPPRESS_EMBEDS}
    return body if components is None else body | {"components": components}


def _id(made: object) -> str:
    if not isinstance(made, dict) or "id" not in made:
        raise PageUnsent("Discord answered without the id of what it made")
    return str(cast("Payload", made)["id"])


def _form(body: Payload, files: Sequence[OutFile]) -> list[Payload]:
    """The parts of a request with files: what the message is, and then each of them."""
    told = [{"id": str(number), "filename": file.name} for number, file in enumerate(files)]
    about: Payload = {"name": "payload_json", "value": json.dumps(body | {"attachments": told})}
    return [
        about,
        *(
            {
                "name": f"files[{number}]",
                "value": file.content,
                "filename": file.name,
                "content_type": "application/octet-stream",
            }
            for number, file in enumerate(files)
        ),
    ]


def _of(token: Token) -> dict[str, str]:
    return {"webhook_id": token.application, "webhook_token": token.token}
