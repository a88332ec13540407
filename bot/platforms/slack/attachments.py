"""Fetches attached files from Slack, and shares the files of replies.

Rules. A file is read as a stream and cut at the caller's limit, whatever its announced size. The bot's token is sent
only to Slack's own file addresses (`api.file_url`), and never along with a redirect. A remote file, which Slack only
links to, is not fetched.
"""

import logging
from collections.abc import Sequence

from agent.messages import Json, JsonObject
from bot.chat.reply.surface import OutFile
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackRefused, fields, items, number, text
from bot.platforms.slack.inbound import SlackBot, is_ours, url_of_file
from bot.platforms.slack.options import Method
from bot.platforms.slack.reply_to import ReplyTo
from bot.settings.secret import Secret


class SlackFiles:
    def __init__(self, api: SlackApi, token: Secret) -> None:
        self._api = api
        self._token = token

    async def fetch(self, address: str, limit: int) -> bytes | None:
        """Return the first `limit` bytes of a file. `address`: "<id> <url>", or the id alone (`inbound.attachment`).

        None if Slack refuses, or does not store the file.
        """
        file, _, url = address.partition(" ")
        try:
            url = url or await self._find_url(file)
            return await self._api.download(url, self._token, limit) if url else None
        except SlackError:
            return None

    async def _find_url(self, file: str) -> str:
        """Return the URL of a file whose event gave only the id, as from another workspace. Raises SlackError."""
        return url_of_file(fields(await self._api.call(Method.FILE, file=file), "file"))


# Sharing files: each is uploaded to a URL that Slack gives, then all are shared in a thread.
#
# Slack itself posts one message for all files once they are shared. It can hold no key, so after a crash it is
# found by the names and sizes of its files.

log = logging.getLogger(__name__)

CANVAS_PAGE = "canvas:"  # The prefix of the id of a page that is a canvas
LOOK_BACK = 100  # Messages read to find shared files: they were posted moments ago


async def share_files(api: SlackApi, files: Sequence[OutFile], channel: str, thread_ts: str) -> tuple[str, ...]:
    """Share the files in one message and return their ids. These are returned also if Slack failed at the end, so that
    files that may be shown are deleted with the reply. Raises SlackError.
    """
    uploaded: list[tuple[str, str]] = []
    for file in files:
        size, alt = len(file.content), file.alt or None
        place = await api.call(Method.UPLOAD_URL, filename=file.name, length=size, alt_txt=alt)
        await api.upload(text(place, "upload_url"), file.content)
        uploaded.append((text(place, "file_id"), file.name))
    shared_files: list[Json] = [{"id": file, "title": name} for file, name in uploaded]
    try:
        await api.call(Method.COMPLETE_UPLOAD, files=shared_files, channel_id=channel, thread_ts=thread_ts or None)
    except SlackDown as error:
        log.warning("Slack did not say whether the files of a reply are visible: %s", error)
    return tuple(file for file, _ in uploaded)


async def share_alone(api: SlackApi, files: Sequence[OutFile], user: str) -> tuple[str, ...]:
    """Share the files in this user's direct messages, where only they see them; return the ids. Raises SlackError."""
    posted = await api.call(
        Method.POST, channel=user, text=platforms_texts.FILES_BELOW, unfurl_links=False, unfurl_media=False
    )
    return await share_files(api, files, text(posted, "channel"), text(posted, "ts"))


async def find_shared(api: SlackApi, me: SlackBot, to: ReplyTo, files: Sequence[OutFile]) -> tuple[str, ...]:
    """Return the ids of these files if the bot has shared them all since the question; else (). Raises SlackError."""
    where: dict[str, Json] = {"channel": to.channel, "oldest": to.after or "0", "limit": LOOK_BACK}
    where |= {"ts": to.thread_ts} if to.thread_ts else {}
    try:
        page = await api.call(Method.REPLIES if to.thread_ts else Method.HISTORY, **where)
    except SlackRefused:  # the bot may not read there
        return ()
    ours = [file for message in items(page, "messages") if is_ours(message, me) for file in items(message, "files")]
    found = {(text(file, "name") or text(file, "title"), number(file, "size")): text(file, "id") for file in ours}
    expected = [(file.name, len(file.content)) for file in files]
    return tuple(found[key] for key in expected) if all(key in found for key in expected) else ()


async def delete_shown(api: SlackApi, channel: str, page: str) -> JsonObject:
    """Delete a page of a reply: a message by its time stamp, a file by its id (F…), a canvas by CANVAS_PAGE and its id.
    Raises SlackError.
    """
    if page.startswith(CANVAS_PAGE):
        return await api.call(Method.DELETE_CANVAS, canvas_id=page.removeprefix(CANVAS_PAGE))
    if is_file(page):
        return await api.call(Method.DELETE_FILE, file=page)
    where, ts = place_of_page(channel, page)
    return await api.call(Method.DELETE, channel=where, ts=ts)


def place_of_page(channel: str, page: str) -> tuple[str, str]:
    """Return the channel and the time stamp of a page of a reply in `channel`: a page elsewhere names its own."""
    where, _, ts = page.rpartition("/")
    return where or channel, ts


def is_file(page: str) -> bool:
    """Whether a page's id is that of a file."""
    return page.startswith("F")
