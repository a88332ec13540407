"""The methods of the Web API and the events that we use, each with the scopes that Slack asks for it.

Rule: every call names its `Method`, and every event that is read stands here, so that the manifest asks for exactly
what the code needs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Method(StrEnum):
    AUTH_TEST = "auth.test"
    OPEN_CONNECTION = "apps.connections.open"
    POST = "chat.postMessage"
    POST_EPHEMERAL = "chat.postEphemeral"
    UPDATE = "chat.update"
    DELETE = "chat.delete"
    START_STREAM = "chat.startStream"
    APPEND_STREAM = "chat.appendStream"
    STOP_STREAM = "chat.stopStream"
    SET_STATUS = "assistant.threads.setStatus"
    SUGGEST_PROMPTS = "assistant.threads.setSuggestedPrompts"
    SET_SESSION = "agents.sessions.setStatus"
    RENAME_SESSION = "agents.sessions.rename"
    USER = "users.info"
    USERS = "users.list"
    CHANNEL = "conversations.info"
    MEMBERS = "conversations.members"
    CONVERSATIONS = "users.conversations"
    REPLIES = "conversations.replies"
    HISTORY = "conversations.history"
    OPEN_VIEW = "views.open"
    PUBLISH_VIEW = "views.publish"
    FILE = "files.info"
    DELETE_FILE = "files.delete"
    UPLOAD_URL = "files.getUploadURLExternal"
    COMPLETE_UPLOAD = "files.completeUploadExternal"
    GROUP_MEMBERS = "usergroups.users.list"
    BOT = "bots.info"
    EXPORT_MANIFEST = "apps.manifest.export"


_HISTORY = ("channels:history", "groups:history", "im:history", "mpim:history")

METHOD_SCOPES: Mapping[Method, tuple[str, ...]] = {
    Method.AUTH_TEST: (),
    Method.OPEN_CONNECTION: (),  # the app-level token has its own, connections:write
    Method.POST: ("chat:write",),
    Method.POST_EPHEMERAL: ("chat:write",),
    Method.UPDATE: ("chat:write",),
    Method.DELETE: ("chat:write",),
    Method.START_STREAM: ("chat:write",),
    Method.APPEND_STREAM: ("chat:write",),
    Method.STOP_STREAM: ("chat:write",),
    Method.SET_STATUS: ("chat:write",),
    Method.SUGGEST_PROMPTS: ("assistant:write",),
    Method.SET_SESSION: ("chat:write",),
    Method.RENAME_SESSION: ("chat:write",),
    Method.USER: ("users:read",),
    Method.USERS: ("users:read",),
    Method.CHANNEL: ("channels:read", "groups:read", "mpim:read"),  # never asked about a DM
    Method.MEMBERS: ("channels:read",),  # asked about public channels only
    Method.CONVERSATIONS: ("channels:read", "groups:read", "im:read", "mpim:read"),
    Method.REPLIES: _HISTORY,
    Method.HISTORY: _HISTORY,
    Method.OPEN_VIEW: (),
    Method.PUBLISH_VIEW: (),
    Method.FILE: ("files:read",),
    Method.DELETE_FILE: ("files:write",),
    Method.UPLOAD_URL: ("files:write",),
    Method.COMPLETE_UPLOAD: ("files:write",),
    Method.GROUP_MEMBERS: ("usergroups:read",),
    Method.BOT: ("users:read",),
    Method.EXPORT_MANIFEST: (),  # an app configuration token has its own, app_configurations:read
}
EVENT_SCOPES: Mapping[str, str] = {
    "agent_session_stopped": "chat:write",
    "agent_session_title_changed": "chat:write",
    "app_context_changed": "assistant:write",
    "app_home_opened": "",  # needs none
    "app_mention": "app_mentions:read",
    "app_uninstalled": "",  # needs none
    "channel_deleted": "channels:read",
    "channel_shared": "channels:read",
    "group_deleted": "groups:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
}

READS: Final = frozenset(
    {
        Method.USER,
        Method.USERS,
        Method.CHANNEL,
        Method.MEMBERS,
        Method.CONVERSATIONS,
        Method.REPLIES,
        Method.HISTORY,
        Method.FILE,
        Method.UPLOAD_URL,
        Method.GROUP_MEMBERS,
        Method.BOT,
    }
)
"""Called with GET: these take no JSON."""
