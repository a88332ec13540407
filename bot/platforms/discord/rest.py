"""The REST calls that a reply needs, each one documented request, and the errors they raise."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import aiohttp
import discord
from discord.http import Route

from bot.chat.reply.surface import (
    OutFile,
    PageGone,
    PageInvalid,
    PageLimited,
    PageLocked,
    PageRefused,
    PageUnsent,
    SurfaceError,
)
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.buttons import NONE, Components
from bot.platforms.discord.http_client import ONCE, wait_at_most
from bot.platforms.failed_requests import failure_reason

SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
HAS_THREAD = 1 << 5
IS_COMPONENTS_V2 = 1 << 15
ANNOUNCEMENT_THREAD, PUBLIC_THREAD = 10, 11  # Types of channels

ARCHIVE_MINUTES = 1440  # A thread leaves the channel list after a day without messages; a new message brings it back

UNKNOWN_INTERACTION = 10062
_GONE = {10003, 10004, 10008, 10070}  # Unknown channel, server, message or event
# No access, no DM with this user, no permission, message to reply to not readable, locked thread.
_REFUSED = {50001, 50007, 50013, 160002, 160005}
# Unknown webhook, invalid webhook token, too many follow-ups: the interaction has ended, or was never acknowledged.
_TOKEN_GONE = {10015, 40094, 50027, UNKNOWN_INTERACTION}
_LOCKED = {30046, 50005, 50083}  # Too many edits of an old message, another author's message, an archived thread
_HAS_A_THREAD = 160004
_NOTHING_THERE = {10003, 10008}

MAX_SEARCHED = 100  # Discord's limit of one page of history
LOOK_BACK = 50  # Messages read to find one that was posted moments ago

LIMITED_FOR_S = 5.0  # How long to wait when Discord does not say: its usual window

# A call waits for a rate limit within itself up to this long. Otherwise its text would be outdated, and a user would
# wait without a sign.
LIMIT_WAIT_S = 2.0

THREAD_S = 5.0  # The deadline for starting a thread: an answer can also be shown without one

# Paths of discord.py's `Route`, which fills in the ids.
_MESSAGES = "/channels/{channel_id}/messages"
_MESSAGE = f"{_MESSAGES}/{{message_id}}"
_REACTION = f"{_MESSAGE}/reactions/{{emoji}}/@me"
_CHANNEL = "/channels/{channel_id}"
_THREADS = f"{_CHANNEL}/threads"
_PIN = f"{_MESSAGES}/pins/{{message_id}}"
_EVENTS = "/guilds/{guild_id}/scheduled-events"
_EVENT = f"{_EVENTS}/{{event_id}}"
_END_POLL = "/channels/{channel_id}/polls/{message_id}/expire"
_WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"
_RESPONSE = f"{_WEBHOOK}/messages/@original"
_ANSWER = f"{_WEBHOOK}/messages/{{message_id}}"

Payload = dict[str, Any]

NO_PINGS: Payload = {"parse": [], "replied_user": False}  # A text by a model notifies no user


class TokenGone(PageLocked):
    """The interaction can no longer be answered in place."""


class NoThread(SurfaceError):
    """No thread can be started from this message now; a reply in the channel may be possible."""


@dataclass(frozen=True, slots=True)
class Token:
    """The right to answer one interaction."""

    application: str
    token: str


class Rest:
    """`client` is logged in.

    `http_client` sets the deadline of a request. discord.py miscounts if a call is cancelled: never cancel one.

    Why not discord.py's message objects: with them the response to an interaction cannot suppress embeds, and a thread
    cannot be started before its server is cached, as after a restart.

    Every method raises a SurfaceError:
         PageLimited   rate-limited by Discord, for more than LIMIT_WAIT_S
         PageGone      the message or the channel does not exist; `PageRefused` if the bot may not write there
         PageLocked    this message can no longer be edited; `TokenGone` if only because its interaction has ended
         PageInvalid   any other error of ours: a text or components that Discord does not accept
         PageUnsent    any other failure: it may work later, and it may have taken effect
    """

    def __init__(self, client: discord.Client) -> None:
        self._http = client.http
        # The authors of the bot's messages and of its responses: one id, except for very old applications.
        self._author_ids = {str(client.user and client.user.id), str(client.application_id)}

    async def send(
        self, channel: str, text: str, nonce: str, reply_to: str = "", components: Components = NONE, mentions: str = ""
    ) -> tuple[str, bool]:
        """Post a message; return its id, and whether it shows this text and has components or not, as requested.

        `mentions`: the ids of the only users whom the text may notify, and of roles after "&", separated by commas.

        For some minutes the same nonce creates no second message: Discord answers with the first one as it was posted.
        So a process that continues after a crash between posting and storing the id uses the same message.
        """
        body = _body(text, components=components) | {"nonce": nonce, "enforce_nonce": True}
        if mentions:
            ids = mentions.split(",")
            users, roles = ([id_.lstrip("&") for id_ in ids if id_.startswith("&") is role] for role in (False, True))
            body["allowed_mentions"] = NO_PINGS | {"users": users} | ({"roles": roles} if roles else {})
        if reply_to:
            body["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
        message = await self._request("POST", _MESSAGES, body, channel_id=channel)
        same_text = str(message.get("content", text)).strip() == text.strip()
        return str(message["id"]), same_text and bool(message.get("components", components)) == bool(components)

    async def edit(self, channel: str, message: str, text: str, components: Components | None = None) -> None:
        """Set the text, and the components; None leaves the components as they are."""
        await self._call("PATCH", _MESSAGE, _body(text, components=components), channel_id=channel, message_id=message)

    async def read(self, channel: str, message: str) -> tuple[str, Components]:
        """Return the text of a message and its components."""
        found = await self._request("GET", _MESSAGE, None, channel_id=channel, message_id=message)
        return str(found.get("content", "")), found.get("components") or NONE

    async def delete(self, channel: str, message: str) -> None:
        await self._call("DELETE", _MESSAGE, None, channel_id=channel, message_id=message)

    async def type(self, channel: str) -> None:
        """Show for some ten seconds that the bot is typing."""
        await self._call("POST", "/channels/{channel_id}/typing", None, channel_id=channel)

    async def react(self, channel: str, message: str, emoji: str) -> None:
        """Add a reaction of the bot's own; there is never more than one with this emoji."""
        await self._call("PUT", _REACTION, None, channel_id=channel, message_id=message, emoji=emoji)

    async def unreact(self, channel: str, message: str, emoji: str) -> None:
        await self._call("DELETE", _REACTION, None, channel_id=channel, message_id=message, emoji=emoji)

    async def pin(self, channel: str, message: str, *, on: bool) -> None:
        """Pin a message in its channel, or unpin it; nothing changes if it is so already."""
        await self._call("PUT" if on else "DELETE", _PIN, None, channel_id=channel, message_id=message)

    async def send_poll(
        self, channel: str, question: str, options: Sequence[str], hours: int, nonce: str, reply_to: str = ""
    ) -> str:
        """Post a poll of one choice; return the message's id. `nonce`: as for `send`."""
        answers = [{"poll_media": {"text": option}} for option in options]
        poll: Payload = {"question": {"text": question}, "answers": answers, "duration": hours}
        body: Payload = {"poll": poll | {"allow_multiselect": False}, "allowed_mentions": NO_PINGS}
        body |= {"nonce": nonce, "enforce_nonce": True}
        if reply_to:
            body["message_reference"] = {"message_id": reply_to, "fail_if_not_exists": False}
        return await self._message("POST", _MESSAGES, body, channel_id=channel)

    async def end_poll(self, channel: str, message: str) -> None:
        """Close a poll of the bot now."""
        await self._call("POST", _END_POLL, None, channel_id=channel, message_id=message)

    async def start_thread(self, channel: str, message: str, name: str) -> str:
        """Return the id of this message's thread, started if there is none.

        Raises NoThread if that is impossible, or a rate limit does not allow it within LIMIT_WAIT_S.
        """
        path = f"{_MESSAGE}/threads"
        body = {"name": name, "auto_archive_duration": ARCHIVE_MINUTES}
        arguments: Payload = {"json": body, "timeout": aiohttp.ClientTimeout(total=THREAD_S)}
        try:
            return _id(await self._ask("POST", path, arguments, channel_id=channel, message_id=message))
        except PageLimited as limited:
            raise NoThread(f"no thread can be started here for {limited.retry_after_s:g} s") from limited
        except SurfaceError as error:
            refusal = error.__cause__
            if not isinstance(refusal, discord.HTTPException) or not 400 <= refusal.status < 500:
                raise
            if refusal.code == _HAS_A_THREAD:
                return message
            if refusal.code in _NOTHING_THERE:
                raise
            raise NoThread("no thread can be started here") from error

    async def rename_thread(self, thread: str, name: str) -> None:
        """Rename a thread that the bot started; an archived one stays archived. Other channels are left unchanged."""
        channel = await self._request("GET", _CHANNEL, None, channel_id=thread)
        if str(channel.get("owner_id")) not in self._author_ids or "thread_metadata" not in channel:
            return
        await self._change_thread(thread, channel, {"name": name})

    async def set_tag(self, thread: str, tag: str, *, on: bool) -> None:
        """Add a tag to a forum post, or remove it; its other tags stay, and an archived post stays archived."""
        channel = await self._request("GET", _CHANNEL, None, channel_id=thread)
        tags = [one for one in map(str, channel.get("applied_tags") or ()) if one != tag]
        await self._change_thread(thread, channel, {"applied_tags": [*tags, tag] if on else tags})

    async def _change_thread(self, thread: str, state: Payload, change: Payload) -> None:
        archived = state.get("thread_metadata", {}).get("archived", False)
        unarchive = {"archived": False} if archived else {}  # Discord does not change an archived thread
        await self._call("PATCH", _CHANNEL, {**change, **unarchive}, channel_id=thread)
        if archived:
            await self._call("PATCH", _CHANNEL, {"archived": True}, channel_id=thread)

    async def has_thread(self, channel: str, message: str) -> bool:
        """Return whether a thread was started from this message."""
        found = await self._request("GET", _MESSAGE, None, channel_id=channel, message_id=message)
        return bool(found.get("thread")) or bool(int(found.get("flags") or 0) & HAS_THREAD)

    async def start_thread_alone(self, channel: str, name: str, *, announces: bool) -> str:
        """Start a public thread from no message; return its id. `announces`: in an announcement channel. The request
        is sent once: after PageUnsent it may have taken effect.
        """
        kind = ANNOUNCEMENT_THREAD if announces else PUBLIC_THREAD
        return await self._start(channel, {"name": name, "type": kind})

    async def start_post(self, forum: str, name: str, text: str, tags: Sequence[str], mentions: str) -> str:
        """Start a post in a forum; return its id, which is also that of its first message. `tags`: ids. `mentions`: as
        for `send`. The request is sent once: after PageUnsent it may have taken effect.
        """
        message = _body(text)
        if mentions:
            message["allowed_mentions"] = NO_PINGS | {"users": mentions.split(",")}
        return await self._start(
            forum, {"name": name, "message": message} | ({"applied_tags": [*tags]} if tags else {})
        )

    async def _start(self, channel: str, about: Payload) -> str:
        body = about | {"auto_archive_duration": ARCHIVE_MINUTES}
        return _id(await self._ask("POST", _THREADS, {"json": body, "middlewares": ONCE}, channel_id=channel))

    async def set_topic(self, channel: str, topic: str) -> None:
        await self._call("PATCH", _CHANNEL, {"topic": topic}, channel_id=channel)

    async def create_event(self, guild: str, event: Payload) -> str:
        """Schedule an event; return its id. `event`: the fields that Discord documents. The request is sent once: after
        PageUnsent it may have taken effect.
        """
        arguments: Payload = {"json": event, "middlewares": ONCE}
        return _id(await self._ask("POST", _EVENTS, arguments, guild_id=guild))

    async def read_event(self, guild: str, event: str) -> Payload:
        return await self._request("GET", _EVENT, None, guild_id=guild, event_id=event)

    async def edit_event(self, guild: str, event: str, change: Payload) -> Payload:
        """Change the given fields of an event; return the event."""
        return await self._request("PATCH", _EVENT, change, guild_id=guild, event_id=event)

    async def delete_event(self, guild: str, event: str) -> None:
        await self._call("DELETE", _EVENT, None, guild_id=guild, event_id=event)

    async def open_dm(self, person: str) -> str:
        return await self._message("POST", "/users/@me/channels", {"recipient_id": person})

    async def answer(self, token: Token, text: str, components: Components = NONE) -> str:
        """Fill in the deferred response of an interaction and return its id; a second call edits the same message."""
        return await self._message("PATCH", _RESPONSE, _body(text, components=components), **_of(token))

    async def follow_up(self, token: Token, text: str, components: Components = NONE, *, private: bool) -> str:
        body = _body(text, EPHEMERAL if private else 0, components)
        return await self._message("POST", _WEBHOOK, body, **_of(token))

    async def follow_up_panel(self, token: Token, components: Components, *, private: bool = True) -> str:
        """Send a message of components only. `private`: to the user of the command only."""
        flags = IS_COMPONENTS_V2 | (EPHEMERAL if private else 0)
        body: Payload = {"components": components, "allowed_mentions": NO_PINGS, "flags": flags}
        return await self._message("POST", _WEBHOOK, body, **_of(token))

    async def send_panel(self, channel: str, components: Components, nonce: str) -> str:
        """Post a message of components only, and return its id; as in `send`, a nonce creates one message."""
        body: Payload = {"components": components, "allowed_mentions": NO_PINGS, "flags": IS_COMPONENTS_V2}
        body |= {"nonce": nonce, "enforce_nonce": True}
        return await self._message("POST", _MESSAGES, body, channel_id=channel)

    async def edit_panel(self, channel: str, message: str, components: Components) -> None:
        body: Payload = {"components": components, "allowed_mentions": NO_PINGS, "flags": IS_COMPONENTS_V2}
        await self._call("PATCH", _MESSAGE, body, channel_id=channel, message_id=message)

    async def edit_answer(self, token: Token, message: str, text: str, components: Components | None = None) -> None:
        await self._call("PATCH", _ANSWER, _body(text, components=components), message_id=message, **_of(token))

    async def delete_answer(self, token: Token, message: str) -> None:
        await self._call("DELETE", _ANSWER, None, message_id=message, **_of(token))

    async def delete_response(self, token: Token) -> None:
        """Delete the deferred response of an interaction."""
        await self._call("DELETE", _RESPONSE, None, **_of(token))

    async def hand_over(self, channel: str, files: Sequence[OutFile], nonce: str) -> str:
        """Post a message with files and return its id; for some minutes the same nonce creates no second message."""
        body = _body("") | {"nonce": nonce, "enforce_nonce": True}
        form = _form(body, files)
        return _id(await self._ask("POST", _MESSAGES, {"form": form}, channel_id=channel))

    async def follow_up_with(self, token: Token, files: Sequence[OutFile], *, private: bool) -> str:
        form = _form(_body("", EPHEMERAL if private else 0), files)
        return _id(await self._ask("POST", _WEBHOOK, {"form": form}, **_of(token)))

    async def following(self, channel: str, interaction: str) -> list[str]:
        """Return the ids of the bot's texts that followed the public response to an interaction, oldest first."""
        messages = await self._history(channel, after=interaction, limit=LOOK_BACK)
        return sorted(
            (str(message["id"]) for message in messages if message["content"] and _follows(message, interaction)),
            key=int,
        )

    async def with_buttons(self, channel: str, after: str, ids: Collection[str]) -> str:
        """Return the id of the bot's oldest message after `after` with a button of these ids; "" for none."""
        messages = await self._history(channel, after=after, limit=MAX_SEARCHED)
        ours = [
            str(message["id"])
            for message in messages
            if message["author"]["id"] in self._author_ids
            and any(
                component.get("custom_id") in ids
                for row in message.get("components", ())
                for component in row.get("components", ())
            )
        ]
        return min(ours, key=int, default="")

    async def with_button(self, channel: str, id_: str) -> str:
        """Return the id of the bot's newest message with this button; "" for none of the last ones."""
        messages = await self._history(channel, limit=LOOK_BACK)
        ours = [
            str(message["id"])
            for message in messages
            if message["author"]["id"] in self._author_ids
            and any(
                component.get("custom_id") == id_
                for row in message.get("components", ())
                for component in row.get("components", ())
            )
        ]
        return max(ours, key=int, default="")

    async def with_files(self, channel: str, files: Collection[OutFile]) -> list[str]:
        """Return the ids of the bot's latest messages that hold exactly files of these names and sizes."""
        messages = await self._history(channel, limit=LOOK_BACK)
        expected = sorted((file.name, len(file.content)) for file in files)
        return [
            str(message["id"])
            for message in messages
            if message["author"]["id"] in self._author_ids
            and sorted((file["filename"], file["size"]) for file in message["attachments"]) == expected
        ]

    async def _history(self, channel: str, **params: str | int) -> list[Payload]:
        response = await self._ask("GET", _MESSAGES, {"params": params}, channel_id=channel)
        return cast("list[Payload]", response if isinstance(response, list) else [])

    async def _message(self, method: str, path: str, body: Payload, **ids: str) -> str:
        return str((await self._request(method, path, body, **ids))["id"])

    async def _request(self, method: str, path: str, body: Payload | None, **ids: str) -> Payload:
        """Return the response to a request, which must have an id."""
        response = await self._call(method, path, body, **ids)
        _id(response)
        return cast("Payload", response)

    async def _call(self, method: str, path: str, body: Payload | None, **ids: str) -> object:
        return await self._ask(method, path, {} if body is None else {"json": body}, **ids)

    async def _ask(self, method: str, path: str, arguments: Payload, **ids: str) -> object:
        """`arguments`: further arguments of the request, as discord.py takes them."""
        try:
            with wait_at_most(LIMIT_WAIT_S):
                return await self._http.request(Route(method, path, **ids), **arguments)
        except (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError, RuntimeError) as error:
            # RuntimeError: aiohttp raises it for a client that was closed, as at the end of the process.
            raise translated(error) from error


def translated(error: Exception) -> SurfaceError:
    """Return the SurfaceError for a failed request."""
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
            return PageRefused(f"Discord refused it with error {code}.", platforms_texts.DISCORD_REMEDIES.get(code, ""))
        case discord.HTTPException(code=code, status=status) if code in _GONE or status == 404:
            return PageGone(f"the message or its place is gone (Discord's error {code})")
        case discord.HTTPException(status=401):
            return PageUnsent(explained(error))
        case discord.HTTPException(code=code, status=status) if 400 <= status < 500:
            return PageInvalid(f"Discord did not accept it (error {code})")
        case discord.HTTPException():
            return PageUnsent(f"Discord answered {error.status} (error {error.code})")
        case _:
            return PageUnsent(platforms_texts.DISCORD_UNREACHED.format(why=failure_reason(error)))


def explained(error: Exception) -> str:
    """Describe a failed request in one sentence for the log, with a remedy; it contains no text by users."""
    match error:
        case discord.RateLimited():
            return platforms_texts.DISCORD_LIMITED.format(seconds=error.retry_after)
        case discord.HTTPException(status=401):
            return platforms_texts.DISCORD_ANSWERED.format(
                status=401, code=40001, remedy=platforms_texts.DISCORD_REMEDIES[40001]
            )
        case discord.HTTPException(code=code):
            remedy = platforms_texts.DISCORD_REMEDIES.get(code, "")
            return platforms_texts.DISCORD_ANSWERED.format(status=error.status, code=code, remedy=remedy).rstrip()
        case _:
            return platforms_texts.DISCORD_UNREACHED.format(why=failure_reason(error))


def _follows(message: Payload, interaction: str) -> bool:
    """Return whether a message is a follow-up of this interaction: only follow-ups name the original response."""
    metadata: Payload = message.get("interaction_metadata") or {}
    return str(metadata.get("id")) == interaction and bool(metadata.get("original_response_message_id"))


def _body(text: str, flags: int = 0, components: Components | None = None) -> Payload:
    body = {"content": text, "allowed_mentions": NO_PINGS, "flags": flags | SUPPRESS_EMBEDS}
    return body if components is None else body | {"components": components}


def _id(response: object) -> str:
    if not isinstance(response, dict) or "id" not in response:
        raise PageUnsent("Discord's answer lacks the id of the new message")
    return str(cast("Payload", response)["id"])


def _form(body: Payload, files: Sequence[OutFile]) -> list[Payload]:
    """Return the parts of a request with files: the message's payload, then each file."""
    descriptions = [
        {"id": str(number), "filename": file.name} | ({"description": file.alt} if file.alt else {})
        for number, file in enumerate(files)
    ]
    payload: Payload = {"name": "payload_json", "value": json.dumps(body | {"attachments": descriptions})}
    return [
        payload,
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
