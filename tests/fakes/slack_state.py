"""A Slack workspace in memory: its state, and the effect of each method of the Web API. No product code.

It follows the documentation of each method: its errors, its limits on length, its rate limit. Arguments are as on the
wire, answers are the fields beside "ok".
"""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from agent.ports.clock import Clock
from tests.fakes.slack_agent import Agents
from tests.fakes.slack_blocks import message_problems, problems, shown_text
from tests.fakes.slack_channels import ChannelHeaders
from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_streams import Streams
from tests.fakes.slack_things import (
    CONFIG_TOKEN,
    FakeApp,
    FakeChannel,
    FakeEphemeral,
    FakeMessage,
    FakeUser,
    Object,
)

# The lower bound that each tier guarantees.
PER_MINUTE = {
    "chat.update": 50,
    "chat.startStream": 20,
    "chat.appendStream": 100,
    "chat.stopStream": 20,
    "chat.delete": 50,
    "chat.postEphemeral": 100,
    "users.info": 100,
    "users.list": 20,
    "usergroups.users.list": 20,
    "conversations.info": 50,
    "conversations.members": 100,
    "users.conversations": 50,
    "conversations.replies": 50,
    "conversations.history": 50,
    "views.open": 100,
    "agents.sessions.setStatus": 50,
    "agents.sessions.rename": 50,
    "reactions.add": 50,
    "reactions.remove": 50,
    "pins.add": 20,
    "pins.remove": 20,
    "conversations.setTopic": 20,
    "conversations.setPurpose": 20,
    "bookmarks.add": 20,
    "bookmarks.list": 50,
    "bookmarks.remove": 20,
    "canvases.create": 20,
    "canvases.edit": 50,
    "canvases.delete": 50,
    "canvases.sections.lookup": 50,
    "team.preferences.list": 50,
    "assistant.threads.setSuggestedPrompts": 100,
    "views.publish": 100,
    "assistant.search.context": 10,
}
HOME = FakeApp()
POSTS_AT_ONCE = 3  # chat.postMessage: one for each second and channel; this many pass as a short burst


class RateLimited(Exception):
    def __init__(self, retry_after_s: int) -> None:
        super().__init__(retry_after_s)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True)
class Call:
    method: str
    args: Object
    time: float
    token: str


class Workspace:
    """`calls` are those that were accepted, in order; `refused` those that hit a rate limit."""

    def __init__(self, clock: Clock, who: FakeApp = HOME) -> None:
        self.clock = clock
        self.who = who
        self.users = {who.user: FakeUser(who.user, "cogency", {"is_bot": True}, who.team)}
        self.channels: dict[str, FakeChannel] = {}
        self.messages: list[FakeMessage] = []
        self.ephemerals: list[FakeEphemeral] = []
        self.statuses: list[tuple[str, str, str]] = []
        self.agents = Agents(clock)
        self.manifest: Object = {}  # The app's configuration
        self.streams = Streams(clock, self.agents, who.team)
        # The maximum length of `markdown_text` in an edit; that of `text` is 4,000.
        self.markdown_in_update = 12_000
        self.groups: dict[str, set[str]] = {}  # The user groups: the ids of their members, by their own
        self.views: list[Object] = []  # The windows that were opened
        self.homes: dict[str, Object] = {}  # Each person's Home tab
        # The address of file uploads, with a slash at its end; `uploaded` holds their content, by their ids.
        self.upload_to = ""
        self.uploaded: dict[str, bytes] = {}
        self.shared: dict[str, Object] = {}  # Every file that users shared, by its id
        # The bot's files: the channel, the title and the content of each.
        self.files: list[tuple[str, str, bytes]] = []
        self.knows_charts = True  # Whether the workspace takes the block for charts
        self.searchable = False  # Whether messages come with a right to search, and the workspace has the search
        self.search_error = ""
        self.action_tokens: dict[str, str] = {}  # The owner of each
        self.revoked = ""  # The error with which Slack refuses the bot's token, once it is revoked
        self.denied = 0  # How often
        self.denials: list[tuple[str, str]] = []  # The calls that were refused for good: the method and the error
        self.pins: dict[str, list[str]] = defaultdict(list)  # The pinned messages of each channel
        self.unknown_blocks: set[str] = set()  # The types of blocks that it does not know yet
        self.preferences: Object = {"who_can_post_general": "ra", "msg_edit_window_mins": -1}
        self.reactions: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.calls: list[Call] = []
        self.stalling: list[str] = []
        self.refused: list[Call] = []
        self._numbers = count(1)
        self.per_minute = dict(PER_MINUTE)
        self._recent: dict[str, deque[float]] = defaultdict(deque)
        self._tokens: dict[str, tuple[float, float]] = {}
        self.headers = ChannelHeaders(self._member_of)
        self._methods: Mapping[str, Callable[[Object], Object]] = {
            **self.headers.methods,
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "chat.startStream": self._start_stream,
            "chat.appendStream": self._append_stream,
            "chat.stopStream": self._stop_stream,
            "chat.delete": self._delete,
            "chat.postEphemeral": self._post_ephemeral,
            "assistant.threads.setStatus": self._set_status,
            "assistant.threads.setSuggestedPrompts": lambda args: self.agents.suggest(self._asked(args), args),
            "agents.sessions.setStatus": lambda args: self.agents.set_status(self._asked(args), args),
            "reactions.add": self._add_reaction,
            "reactions.remove": self._remove_reaction,
            "pins.add": self._add_pin,
            "pins.remove": self._remove_pin,
            "team.preferences.list": lambda _: dict(self.preferences),
            "agents.sessions.rename": lambda args: self.agents.rename(self._asked(args), args),
            "users.info": self._user,
            "users.list": self._users,
            "conversations.info": self._channel,
            "conversations.members": self._members,
            "conversations.open": self._open,
            "users.conversations": self._conversations,
            "conversations.replies": self._replies,
            "conversations.history": self._history,
            "assistant.search.context": self._search,
            "usergroups.users.list": self._group,
            "blocks.validate": self._validate_blocks,
            "bots.info": lambda args: {"bot": {"id": args["bot"], "app_id": self.who.id}},
            "apps.manifest.export": self._manifest,
            "views.open": self._open_view,
            "views.publish": self._publish_view,
            "files.info": self._file_info,
            "files.delete": self._delete_file,
            "files.getUploadURLExternal": self._upload_url,
            "files.completeUploadExternal": self._complete_upload,
        }

    # Setup and inspection by tests

    def user(self, name: str, **facts: Any) -> str:
        """Add a member to the workspace; return the id."""
        user = f"U0{name.upper()}"
        self.users[user] = FakeUser(user, name, facts, self.who.team)
        return user

    def channel(self, name: str, kind: str = "public", *, bot: bool = True, **facts: Any) -> str:
        """Add a channel with all members, and the bot if `bot`; return the id."""
        channel = f"{'D' if kind == 'im' else 'C'}0{name.upper()}"
        members = set(self.users) if bot else set(self.users) - {self.who.user}
        self.channels[channel] = FakeChannel(channel, kind, members, {"name": name, **facts})
        return channel

    def invite_company(self, channel: str, new: str) -> None:
        """Invite another company to a private channel, which gives it a new id."""
        there = self.channels.pop(channel)
        self.channels[new] = replace(there, id=new, facts={**there.facts, "is_pending_ext_shared": True})
        for message in self.messages:
            message.channel = new if message.channel == channel else message.channel

    def share(self, channel: str, other: "Workspace", **facts: Any) -> None:
        """Share the channel with another workspace and its app; both receive its messages."""
        shared = self.channels[channel]
        shared.facts |= facts
        shared.members.add(other.who.user)
        other.channels[channel] = shared
        for user in shared.members:
            if user in self.users:
                other.users.setdefault(user, self.users[user])

    def write(self, user: str, channel: str, text: str, thread_ts: str = "", **more: Any) -> FakeMessage:
        """Add a message without an event. Slack names whoever uploaded a file."""
        more |= {"files": [{"user": user, **file} for file in more["files"]]} if "files" in more else {}
        message = FakeMessage(channel, self.new_ts(), user, [(self.clock.monotonic(), text)], thread_ts, **more)
        self.messages.append(message)
        return message

    def edit(self, message: FakeMessage, text: str) -> None:
        """Change the text of a message without an event."""
        message.versions.append((self.clock.monotonic(), text))
        message.edited_ts = self.new_ts()

    def answers(self, channel: str, thread_ts: str | None = None) -> list[FakeMessage]:
        """Return the bot's messages in a channel, or in one of its threads, in order; without those of files alone."""
        return [
            message
            for message in self.messages
            if message.bot_id == self.who.bot
            and message.channel == channel
            and (thread_ts is None or message.thread_ts == thread_ts)
            and (message.text or not message.files)
        ]

    def handed_over(self, channel: str) -> list[FakeMessage]:
        """Return the bot's messages in a channel that hold files."""
        return [
            message
            for message in self.messages
            if (message.bot_id, message.channel) == (self.who.bot, channel) and message.files
        ]

    def called(self, method: str) -> list[Call]:
        return [call for call in self.calls if call.method == method]

    def new_ts(self) -> str:
        return f"{int(self.clock.now().timestamp())}.{next(self._numbers):06d}"

    # The Web API

    def perform(self, method: str, args: Object, token: str) -> Object:
        """Call a method. Raises Refusal and RateLimited."""
        if method not in self._methods and method not in ("auth.test", "apps.connections.open"):
            raise Refusal("unknown_method")
        if token not in (self.who.bot_token, self.who.app_token, CONFIG_TOKEN):
            raise Refusal("invalid_auth" if token else "not_authed")
        if self.revoked and token == self.who.bot_token:
            self.denied += 1
            raise Refusal(self.revoked)
        special = {"apps.connections.open": self.who.app_token, "apps.manifest.export": CONFIG_TOKEN}
        if token != special.get(method, self.who.bot_token):
            raise Refusal("not_allowed_token_type")
        call = Call(method, args, self.clock.monotonic(), token)
        try:
            self._limit(method, args)
        except RateLimited:
            self.refused.append(call)
            raise
        self.calls.append(call)
        if method == "auth.test":
            called = self.who.workspace
            names = {"url": f"https://{called}.slack.com/", "team": called.capitalize(), "user": "cogency"}
            if self.who.enterprise:
                whole = self.who.is_of_whole_organization
                names |= {"enterprise_id": self.who.enterprise, "is_enterprise_install": whole}
            return {**names, "team_id": self.who.team, "user_id": self.who.user, "bot_id": self.who.bot}
        return self._methods[method](args) if method in self._methods else {}

    def _limit(self, method: str, args: Object) -> None:
        now = self.clock.monotonic()
        if method == "chat.postMessage":
            tokens, as_of = self._tokens.get(args["channel"], (float(POSTS_AT_ONCE), now))
            tokens = min(float(POSTS_AT_ONCE), tokens + now - as_of)
            if tokens < 1:
                raise RateLimited(1)
            self._tokens[args["channel"]] = (tokens - 1, now)
        elif method in self.per_minute:
            recent = self._recent[method]
            while recent and recent[0] <= now - 60:
                recent.popleft()
            if len(recent) >= self.per_minute[method]:
                raise RateLimited(max(1, round(recent[0] + 60 - now + 0.5)))
            recent.append(now)

    def _post(self, args: Object) -> Object:
        kinds = {block["type"] for block in args.get("blocks") or ()}
        if "data_visualization" in kinds and not self.knows_charts:
            raise Refusal("invalid_blocks")
        channel = self._direct_channel(args["channel"]) if args["channel"] in self.users else args["channel"]
        if self._member_of(channel).facts.get("is_archived"):
            raise Refusal("is_archived")
        message = self.write(
            self.who.user,
            channel,
            _shown(args, self.unknown_blocks, limit=12_000),
            args.get("thread_ts") or "",
            bot_id=self.who.bot,
            metadata=args.get("metadata") or {},
            blocks=args.get("blocks") or [],
            unfurl=args.get("unfurl_links") is not False,
        )
        self.agents.written(channel, message.thread_ts)
        return {"channel": channel, "ts": message.ts, "message": message.wire()}

    def _update(self, args: Object) -> Object:
        message = self._own(args, "cant_update_message")
        if self.streams.streams(message):
            raise Refusal("streaming_state_conflict")
        shown = _shown(args, self.unknown_blocks, limit=self.markdown_in_update if args.get("markdown_text") else 4_000)
        message.versions.append((self.clock.monotonic(), shown))
        message.blocks = args.get("blocks") or []
        message.metadata = args.get("metadata") or message.metadata
        self.streams.replaced(message)
        return {"channel": message.channel, "ts": message.ts, "text": message.text}

    def _start_stream(self, args: Object) -> Object:
        self.streams.check_start(self._member_of(args["channel"]), args)
        message = self.write(self.who.user, args["channel"], "", args["thread_ts"], bot_id=self.who.bot, unfurl=False)
        try:
            self.streams.start(message, args)
        except Refusal:
            self.messages.remove(message)
            raise
        self.agents.written(message.channel, message.thread_ts)
        return {"channel": message.channel, "ts": message.ts}

    def _validate_blocks(self, args: Object) -> Object:
        """An answer about exactly one of blocks, message and view; here only blocks, which are a text of JSON."""
        if args.keys() & {"blocks", "message", "view"} != {"blocks"} or not isinstance(args["blocks"], str):
            raise Refusal("invalid_arguments")
        wrong = [
            {"pointer": f"/{at}/type", "code": "failed_constraint", "message": problem}
            for at, block in enumerate(json.loads(args["blocks"]))
            for problem in _block_problems([block], self.unknown_blocks)
        ]
        if wrong:
            raise Refusal("invalid_blocks", errors=wrong)
        return {}

    def _append_stream(self, args: Object) -> Object:
        message = self._own(args, "message_not_owned_by_app")
        self.streams.append(message, args)
        return {"channel": message.channel, "ts": message.ts}

    def _stop_stream(self, args: Object) -> Object:
        message = self._own(args, "message_not_owned_by_app")
        self.streams.stop(message, args)
        return {"channel": message.channel, "ts": message.ts, "message": message.wire()}

    def _delete(self, args: Object) -> Object:
        message = self._own(args, "cant_delete_message")
        self.messages.remove(message)
        return {"channel": message.channel, "ts": message.ts}

    def _post_ephemeral(self, args: Object) -> Object:
        channel = self._member_of(args["channel"])
        if args.get("user") not in channel.members:
            raise Refusal("user_not_in_channel")
        text = _shown(args, self.unknown_blocks, limit=12_000)
        blocks: list[Object] = args.get("blocks") or []
        self.ephemerals.append(FakeEphemeral(channel.id, args["user"], text, blocks, args.get("thread_ts") or ""))
        return {"message_ts": self.new_ts()}

    def _set_status(self, args: Object) -> Object:
        answer = self.agents.set_line(self._asked(args), args)
        self.statuses.append((args["channel_id"], args["thread_ts"], args["status"]))
        return answer

    def _asked(self, args: Object) -> FakeChannel:
        return self._member_of(args["channel_id"])

    def _user(self, args: Object) -> Object:
        if args.get("user") not in self.users:
            raise Refusal("user_not_found")
        return {"user": self.users[args["user"]].info}

    def _users(self, args: Object) -> Object:
        return _cut("members", [user.info for user in self.users.values()], args)

    def _members(self, args: Object) -> Object:
        return _cut("members", sorted(self._visible(args["channel"]).members), args)

    def _open(self, args: Object) -> Object:
        user = self.users.get(args.get("users", ""))
        if user is None:
            raise Refusal("user_not_found")
        if user.facts.get("deleted"):
            raise Refusal("user_disabled")
        return {"channel": {"id": self._direct_channel(user.id)}}

    def _manifest(self, args: Object) -> Object:
        if args.get("app_id") != self.who.id:
            raise Refusal("invalid_app_id")
        return {"manifest": self.manifest}

    def _group(self, args: Object) -> Object:
        if args.get("usergroup") not in self.groups:
            raise Refusal("no_such_subteam")
        return {"users": sorted(self.groups[args["usergroup"]])}

    def _channel(self, args: Object) -> Object:
        return {"channel": self._visible(args["channel"]).payload_for(self.who.user)}

    def _conversations(self, args: Object) -> Object:
        user = args.get("user") or self.who.user
        if user not in self.users:
            raise Refusal("user_not_found")
        kinds = {kind.removesuffix("_channel") for kind in str(args.get("types") or "public_channel").split(",")}
        visible = [
            channel
            for channel in self.channels.values()
            if channel.kind in kinds
            and user in channel.members
            # Of other people's channels, the bot sees the public ones and those that it is in, too.
            and (channel.kind == "public" or self.who.user in channel.members)
        ]
        return _cut("channels", [channel.payload_for(self.who.user) for channel in visible], args)

    def _replies(self, args: Object) -> Object:
        self._member_of(args["channel"])
        root = [m for m in self.messages if m.channel == args["channel"] and m.ts == args["ts"]]
        if not root:
            raise Refusal("thread_not_found")
        replies = [m for m in self.messages if m.channel == args["channel"] and m.thread_ts == args["ts"] != m.ts]
        return self._page([*root, *replies], args)

    def _history(self, args: Object) -> Object:
        self._member_of(args["channel"])
        messages = [m for m in self.messages if m.channel == args["channel"] and m.thread_ts in ("", m.ts)]
        return self._page(messages[::-1], args)

    def action_token(self, user: str) -> str:
        """Return the right to search that comes with a message of this person."""
        token = f"{next(self._numbers)}.{user}.a0c7e5d1"
        self.action_tokens[token] = user
        return token

    def _search(self, args: Object) -> Object:
        """Search by words, as in a workspace without Slack's AI: a message must contain each. Public channels only."""
        if self.search_error or not self.searchable:
            raise Refusal(self.search_error or "feature_not_enabled")
        if args.get("action_token") not in self.action_tokens:
            raise Refusal("invalid_action_token")
        words = str(args["query"]).casefold().split()
        after, before = int(args.get("after") or 0), int(args.get("before") or 9_999_999_999)
        hits = [
            message
            for message in reversed(self.messages)
            if self.channels[message.channel].kind == "public"
            and after < float(message.ts) < before
            and all(word in message.text.casefold() for word in words)
        ][: min(20, int(args.get("limit") or 20))]
        return {
            "results": {"messages": [self._hit(hit, args) for hit in hits]},
            "response_metadata": {"next_cursor": ""},
        }

    def _hit(self, hit: FakeMessage, args: Object) -> Object:
        def excerpt(one: FakeMessage) -> Object:
            return {"text": one.text, "user_id": one.user, "ts": one.ts}

        beside = [m for m in self.messages if m.channel == hit.channel]
        at = beside.index(hit)
        return {
            "author_name": self.users[hit.user].name if hit.user in self.users else "",
            "author_user_id": hit.user,
            "team_id": self.who.team,
            "channel_id": hit.channel,
            "channel_name": self.channels[hit.channel].info["name"],
            "message_ts": hit.ts,
            "content": hit.text,
            "is_author_bot": bool(hit.bot_id),
            **({"blocks": hit.blocks} if args.get("include_message_blocks") else {}),
            "permalink": f"https://fake.slack.com/archives/{hit.channel}/p{hit.ts.replace('.', '')}",
            "context_messages": {
                "before": [excerpt(one) for one in beside[max(0, at - 2) : at]],
                "after": [excerpt(one) for one in beside[at + 1 : at + 3]],
            },
        }

    def _page(self, messages: list[FakeMessage], args: Object) -> Object:
        inclusive = str(args.get("inclusive", "")).lower() in ("1", "true")
        oldest, latest = str(args.get("oldest") or "0"), str(args.get("latest") or "9999999999")
        within = [m for m in messages if oldest < m.ts < latest or (inclusive and m.ts in (oldest, latest))]
        start, limit = int(args.get("cursor") or 0), int(args.get("limit") or 100)
        metadata = str(args.get("include_all_metadata", "")).lower() in ("1", "true")
        more = start + limit < len(within)
        replies = self._replies_by_thread()
        return {
            "messages": [
                m.wire(metadata=metadata) | _thread_fields(m.ts, replies.get((m.channel, m.ts), ()))
                for m in within[start : start + limit]
            ],
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""},
        }

    def _replies_by_thread(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """Return the times of the replies, by channel and first message."""
        replies = defaultdict[tuple[str, str], list[str]](list)
        for message in self.messages:
            if message.thread_ts and message.thread_ts != message.ts:
                replies[message.channel, message.thread_ts].append(message.ts)
        return replies

    def _add_reaction(self, args: Object) -> Object:
        reactions = self._reacted(args)
        if args["name"] in reactions:
            raise Refusal("already_reacted")
        reactions.append(args["name"])
        return {}

    def _remove_reaction(self, args: Object) -> Object:
        reactions = self._reacted(args)
        if args["name"] not in reactions:
            raise Refusal("no_reaction")
        reactions.remove(args["name"])
        return {}

    def _add_pin(self, args: Object) -> Object:
        pinned = self._pinned(args)
        if args["timestamp"] in pinned:
            raise Refusal("already_pinned")
        pinned.append(args["timestamp"])
        return {}

    def _remove_pin(self, args: Object) -> Object:
        pinned = self._pinned(args)
        if args["timestamp"] not in pinned:
            raise Refusal("no_pin")
        pinned.remove(args["timestamp"])
        return {}

    def _pinned(self, args: Object) -> list[str]:
        if self._member_of(args["channel"]).facts.get("is_archived"):
            raise Refusal("is_archived")
        if not any((one.channel, one.ts) == (args["channel"], args["timestamp"]) for one in self.messages):
            raise Refusal("message_not_found")
        return self.pins[args["channel"]]

    def _reacted(self, args: Object) -> list[str]:
        """The bot's own reactions to a message."""
        for message in self.messages:
            if (message.channel, message.ts) == (args["channel"], args["timestamp"]):
                return self.reactions[message.channel, message.ts]
        raise Refusal("message_not_found")

    def _open_view(self, args: Object) -> Object:
        view = self._view(args["view"], "modal")
        self.views.append(view)
        return {"view": view}

    def _publish_view(self, args: Object) -> Object:
        if args.get("user_id") not in self.users:
            raise Refusal("user_not_found")
        view = self.homes[args["user_id"]] = self._view(args["view"], "home")
        return {"view": view}

    def _view(self, view: Object, kind: str) -> Object:
        if view["type"] != kind or problems(view):
            raise Refusal("invalid_arguments")
        return {**view, "id": f"V{next(self._numbers)}"}

    def _file_info(self, args: Object) -> Object:
        if args.get("file") not in self.shared:
            raise Refusal("file_not_found")
        return {"file": self.shared[args["file"]]}

    def _upload_url(self, args: Object) -> Object:
        if not args.get("filename") or int(args["length"]) <= 0:
            raise Refusal("invalid_arguments")
        file = f"F{next(self._numbers)}"
        return {"upload_url": f"{self.upload_to}{file}", "file_id": file}

    def _complete_upload(self, args: Object) -> Object:
        self._member_of(args["channel_id"])
        for file in args["files"]:
            if file["id"] not in self.uploaded:
                raise Refusal("file_not_found")
            self.files.append((args["channel_id"], file["title"], self.uploaded[file["id"]]))
        files = [
            {"id": file["id"], "name": file["title"], "size": len(self.uploaded[file["id"]])} for file in args["files"]
        ]
        self.write(self.who.user, args["channel_id"], "", args.get("thread_ts") or "", bot_id=self.who.bot, files=files)
        return {"files": args["files"]}

    def _delete_file(self, args: Object) -> Object:
        holding = [m for m in self.messages if any(file["id"] == args["file"] for file in m.files)]
        if not holding:
            raise Refusal("file_not_found")
        for message in holding:
            message.files = [file for file in message.files if file["id"] != args["file"]]
            if not (message.files or message.text):
                self.messages.remove(message)
        return {}

    def _own(self, args: Object, otherwise: str) -> FakeMessage:
        for message in self.messages:
            if message.channel == args["channel"] and message.ts == args["ts"]:
                if message.bot_id != self.who.bot:
                    raise Refusal(otherwise)
                return message
        raise Refusal("message_not_found")

    def _visible(self, channel: str) -> FakeChannel:
        found = self.channels.get(channel)
        if found is None or (found.kind != "public" and self.who.user not in found.members):
            raise Refusal("channel_not_found")
        return found

    def _member_of(self, channel: str) -> FakeChannel:
        found = self._visible(channel)
        if self.who.user not in found.members:
            raise Refusal("not_in_channel")
        return found

    def _direct_channel(self, user: str) -> str:
        return next((c.id for c in self.channels.values() if c.kind == "im" and user in c.members), "") or self.channel(
            self.users[user].name, "im"
        )


def _thread_fields(first: str, replies: Sequence[str]) -> Object:
    """Return the thread's fields of its first message."""
    return {"reply_count": len(replies), "latest_reply": max(replies), "thread_ts": first} if replies else {}


def _cut(name: str, items: list[Any], args: Object) -> Object:
    """Return one page of a list."""
    start, limit = int(args.get("cursor") or 0), int(args.get("limit") or 100)
    more = str(start + limit) if start + limit < len(items) else ""
    return {name: items[start : start + limit], "response_metadata": {"next_cursor": more}}


def _block_problems(blocks: list[Object], unknown: AbstractSet[str]) -> list[str]:
    """Return Slack's errors for the blocks of a message, in a workspace that does not know some types yet."""
    unsupported = [kind for block in blocks if (kind := block.get("type")) in unknown]
    return [*(f"unsupported type: {kind}" for kind in unsupported), *message_problems(blocks)]


def _shown(args: Object, unknown: AbstractSet[str], *, limit: int) -> str:
    """Return the shown text of a message; an update accepts at most 4,000 characters of `text`."""
    text: str = args.get("text") or ""
    markdown: str = args.get("markdown_text") or ""
    blocks: list[Object] = args.get("blocks") or []
    if markdown and (text or blocks):
        raise Refusal("markdown_text_conflict")
    if not (text or markdown or blocks):
        raise Refusal("no_text")
    if len(markdown or text) > limit:
        raise Refusal("msg_too_long")
    if _block_problems(blocks, unknown):
        raise Refusal("invalid_blocks")
    return markdown or shown_text(blocks) or text
