"""How the bytes of an attached file are fetched from Slack.

Rules. A file is read as a stream and cut at the caller's bound, whatever its announced size. The bot's token goes to
Slack's own files only (`api.file_url` says which addresses these are), and never along with a redirect. What lies
elsewhere, and is only linked in Slack as a remote file, is not fetched.
"""

import logging
from collections.abc import Sequence

from agent.messages import Json
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackRefused, fields, items, number, text
from bot.platforms.slack.inbound import ReplyTo, SlackBot, url_of_file
from bot.platforms.slack.options import Method
from bot.reply_surface import OutFile
from bot.setting_parsers import Secret
from bot.texts import reply_texts


class SlackFiles:
    def __init__(self, api: SlackApi, token: Secret) -> None:
        self._api = api
        self._token = token

    async def fetch(self, address: str, limit: int) -> bytes | None:
        """The first `limit` bytes of the file at an address as `inbound` makes it: its id, and its URL if known.

        None if Slack does not give them, or somebody else would have to.
        """
        file, _, url = address.partition(" ")
        try:
            url = url or await self._ask(file)
            return await self._api.download(url, self._token, limit) if url else None
        except SlackError:
            return None

    async def _ask(self, file: str) -> str:
        """Of a file from another workspace an event tells no more than its id."""
        return url_of_file(fields(await self._api.call(Method.FILE, file=file), "file"))


# Handing files over in Slack: asked for a place, put there, and then shared in a thread.
#
# Slack shows a file as soon as its sharing is complete, in one message for all of them, which it posts by itself.
# Nothing can be written into that message to find it by, so after a crash it is known by the names and sizes of its
# files.

log = logging.getLogger(__name__)

LOOK_BACK = 100  # Messages read to find what was shared: it was moments ago


async def share_files(api: SlackApi, files: Sequence[OutFile], channel: str, thread_ts: str) -> tuple[str, ...]:
    """Share the files in one message; their ids, also where Slack failed at the end, so that whoever deletes the reply
    deletes what may be shown. Raises SlackError.
    """
    placed: list[tuple[str, str]] = []
    for file in files:
        place = await api.call(Method.UPLOAD_URL, filename=file.name, length=len(file.content))
        await api.upload(text(place, "upload_url"), file.content)
        placed.append((text(place, "file_id"), file.name))
    told: list[Json] = [{"id": file, "title": name} for file, name in placed]
    try:
        await api.call(Method.COMPLETE_UPLOAD, files=told, channel_id=channel, thread_ts=thread_ts or None)
    except SlackDown as error:
        log.warning("whether the files of a reply are shown is not known: %s", error)
    return tuple(file for file, _ in placed)


async def share_alone(api: SlackApi, files: Sequence[OutFile], user: str) -> tuple[str, ...]:
    """Share the files where only this person sees them: in their direct messages. Raises SlackError."""
    posted = await api.call(
        Method.POST, channel=user, text=reply_texts.FILES_BELOW, unfurl_links=False, unfurl_media=False
    )
    return await share_files(api, files, text(posted, "channel"), text(posted, "ts"))


async def shared(api: SlackApi, me: SlackBot, to: ReplyTo, files: Sequence[OutFile]) -> tuple[str, ...]:
    """The ids under which these files of ours stand behind the question; () if not all do. Raises SlackError."""
    where: dict[str, Json] = {"channel": to.channel, "oldest": to.after or "0", "limit": LOOK_BACK}
    where |= {"ts": to.thread_ts} if to.thread_ts else {}
    try:
        said = await api.call(Method.REPLIES if to.thread_ts else Method.HISTORY, **where)
    except SlackRefused:  # we may not look
        return ()
    ours = [
        file
        for message in items(said, "messages")
        if text(message, "user") == me.user or text(message, "bot_id") == me.bot
        for file in items(message, "files")
    ]
    found = {(text(file, "name") or text(file, "title"), number(file, "size")): text(file, "id") for file in ours}
    wanted = [(file.name, len(file.content)) for file in files]
    return tuple(found[one] for one in wanted) if all(one in found for one in wanted) else ()


async def delete_shown(api: SlackApi, channel: str, page: str) -> None:
    """Delete what a reply has shown: a message by its time stamp, a file by its id. Raises SlackError."""
    if is_file(page):
        await api.call(Method.DELETE_FILE, file=page)
    else:
        await api.call(Method.DELETE, channel=channel, ts=page)


def is_file(page: str) -> bool:
    """Whether a page's id is that of a file."""
    return page.startswith("F")
