"""The objects in a Slack workspace: people, channels, messages with every edit and its time."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

TEAM, BOT_USER, BOT_ID, APP = "T0TEAM", "U0BOT", "B0BOT", "A0APP"
BOT_TOKEN, APP_TOKEN = "xoxb-fake", "xapp-fake"
CONFIG_TOKEN = "xoxe.xoxp-fake"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


@dataclass(frozen=True)
class FakeApp:
    """One app in its workspace; the defaults are those of most tests."""

    team: str = TEAM
    user: str = BOT_USER
    bot: str = BOT_ID
    id: str = APP
    bot_token: str = BOT_TOKEN
    app_token: str = APP_TOKEN
    secret: str = SIGNING_SECRET
    path: str = "/slack/events"
    workspace: str = "fake"
    enterprise: str = ""  # The organisation of the workspace
    is_of_whole_organization: bool = False  # It was installed in the organisation, and its token opens all workspaces


def other_app(name: str, path: str = "") -> FakeApp:
    """Return an app of another workspace."""
    big = name.upper()
    tokens = (f"xoxb-{name}", f"xapp-{name}", f"{name}-secret")
    return FakeApp(f"T0{big}", f"U0BOT{big}", f"B0BOT{big}", f"A0{big}", *tokens, path or f"/slack/events/{name}", name)


def of_organization(team: str, enterprise: str, *teams: str) -> Object:
    """Return the fields of a user with an account in an organisation."""
    known = {"id": "W0", "enterprise_id": enterprise, "teams": [team, *teams], "is_admin": False, "is_owner": False}
    return {"team_id": team, "enterprise_user": known}


RESPONSES = 5  # The number of answers that one `response_url` accepts


@dataclass
class FakeUser:
    id: str
    name: str
    facts: Object = field(default_factory=dict[str, Any])
    team: str = TEAM

    @property
    def info(self) -> Object:
        profile = {"display_name": self.name, "real_name": self.name}
        return {
            "id": self.id,
            "team_id": self.team,
            "name": self.name,
            "tz": "Europe/Paris",
            "profile": profile,
            **self.facts,
        }


@dataclass
class FakeChannel:
    """`kind`: public, private, mpim or im. `members` includes the bot's user where it is a member."""

    id: str
    kind: str = "public"
    members: set[str] = field(default_factory=set[str])
    facts: Object = field(default_factory=dict[str, Any])

    @property
    def info(self) -> Object:
        return self.payload_for(BOT_USER)

    def payload_for(self, bot: str) -> Object:
        """Return it as the app with this user receives it."""
        kinds = {
            "public": {"is_channel": True, "is_private": False},
            "private": {"is_channel": True, "is_private": True},
            "mpim": {"is_channel": True, "is_private": True, "is_mpim": True},
            "im": {"is_im": True},
        }
        payload = {"id": self.id, "name": self.id[2:].lower(), **kinds[self.kind]}
        payload |= {} if self.kind == "im" else {"is_member": bot in self.members, "is_archived": False}
        return payload | self.facts

    @property
    def event_type(self) -> str:
        return {"public": "channel", "private": "group", "mpim": "mpim", "im": "im"}[self.kind]


@dataclass
class FakeMessage:
    """`versions` are all of its contents, each with its start time; the last one is current."""

    channel: str
    ts: str
    user: str
    versions: list[tuple[float, str]]
    thread_ts: str = ""
    bot_id: str = ""
    metadata: Object = field(default_factory=dict[str, Any])
    blocks: list[Object] = field(default_factory=list[Object])
    files: list[Object] = field(default_factory=list[Object])
    unfurl: bool = True
    edited_ts: str = ""
    facts: Object = field(default_factory=dict[str, Any])  # Further fields: attachments, the name of an app

    @property
    def text(self) -> str:
        return self.versions[-1][1]

    @property
    def edits(self) -> int:
        return len(self.versions) - 1

    def wire(self, *, metadata: bool = False) -> Object:
        payload: Object = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts}
        payload |= {"thread_ts": self.thread_ts} if self.thread_ts else {}
        payload |= {"bot_id": self.bot_id} if self.bot_id else {}
        payload |= {"edited": {"user": self.user, "ts": self.edited_ts}} if self.edited_ts else {}
        payload |= {"files": self.files} if self.files else {}
        payload |= {"blocks": self.blocks} if self.blocks else {}
        payload |= {"metadata": self.metadata} if metadata and self.metadata else {}
        return payload | self.facts


@dataclass
class FakeEphemeral:
    """A message that only `user` sees."""

    channel: str
    user: str
    text: str
    blocks: list[Object]
    thread_ts: str = ""
    url: str = ""


@dataclass
class ResponseUrl:
    channel: str
    user: str
    ephemeral: FakeEphemeral | None = None
    used: int = 0
