"""Findings about the application's configuration, from Discord's responses. Pure.

Rule: what Discord did not return is None in the facts, and becomes a finding that says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias

import discord

from agent.errors import Refused
from bot.chat.findings import Finding, Level, clock_finding
from bot.chat.texts.formatting import counted, enumerated
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.options import (
    PERMISSIONS,
    DiscordOptions,
    needed_permissions,
    required_features,
    server_link,
)
from bot.platforms.discord.settings import OtherServers

WHERE: Final = "Discord"
problem = partial(Finding, Level.PROBLEM, WHERE)
warning = partial(Finding, Level.WARNING, WHERE)
note = partial(Finding, Level.NOTE, WHERE)
good = partial(Finding, Level.GOOD, WHERE)
PORTAL: Final = "in the developer portal"
MAX_GUILDS: Final = 200  # Discord's largest page; an operator of more servers knows them
# A bot with so few sessions left has lost its connection repeatedly.
FEW_SESSIONS: Final = 50

# From this number of users in an application's servers on, Discord reviews whether it may have the message content
# intent, since 10 June 2026, and again each year:
# https://docs.discord.com/developers/gateway/getting-started-with-privileged-intent-review
REVIEWED_FROM: Final = 10_000
NEAR_REVIEW: Final = REVIEWED_FROM * 4 // 5
_GRANTED: Final = 1 << 18
# The application's flags for the message content intent: granted after a review, or switched on by its owner.
_CONTENT: Final = _GRANTED | 1 << 19
_ADMINISTRATOR: Final = 1 << 3

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DiscordFacts:
    """Discord's responses; None where it gave none. `gateway`: its response about connections."""

    settings: DiscordOptions
    application: Payload | None = None
    guilds: tuple[Payload, ...] | None = None
    gateway: Payload | None = None
    owned: frozenset[str] = frozenset()
    """The servers that belong to the application's owner; they are used if the settings name none."""
    ours: datetime | None = None
    theirs: datetime | None = None
    """Our time and Discord's time at the same moment."""


def findings(facts: DiscordFacts) -> list[Finding]:
    return [*_clock(facts), *_application(facts), *_guilds(facts), *_reach(facts), *_gateway(facts)]


def _clock(facts: DiscordFacts) -> Iterator[Finding]:
    if facts.ours is not None and facts.theirs is not None:
        yield clock_finding(WHERE, WHERE, facts.ours, facts.theirs)


def _application(facts: DiscordFacts) -> Iterator[Finding]:
    app = facts.application
    if app is None:
        yield _unknown("the application's setup")
        return
    yield good(f"the token belongs to “{app.get('name', '?')}”")
    yield _content(int(app.get("flags") or 0), facts.settings)
    if app.get("interactions_endpoint_url"):
        yield problem(
            "commands and buttons go to a URL instead of this bot",
            platforms_texts.EMPTY_ENDPOINT.format(portal=PORTAL),
        )
    if app.get("bot_require_code_grant"):
        yield problem(
            "the bot cannot be added to a server with an install link",
            platforms_texts.SWITCH_CODE_GRANT_OFF.format(portal=PORTAL),
        )
    if app.get("bot_public"):
        yield warning("anyone can add the bot to their server", platforms_texts.SWITCH_PUBLIC_OFF.format(portal=PORTAL))
    elif "bot_public" in app:
        yield good("only the application's owner can add the bot to a server")
    yield from _installs(app.get("integration_types_config"))


def _content(flags: int, settings: DiscordOptions) -> Finding:
    consequence = "in threads, the bot sees only messages that mention it"
    if not settings.chosen.message_content:
        return note(f"COGENCY_DISCORD_MESSAGE_CONTENT is off: {consequence}")
    if flags & _CONTENT:
        return good("the message content intent is granted")
    return warning(
        f"the message content intent is off: {consequence}", platforms_texts.SWITCH_CONTENT_ON.format(portal=PORTAL)
    )


def _installs(contexts: object) -> Iterator[Finding]:
    if not isinstance(contexts, dict):
        return
    if "0" not in contexts:
        yield warning("the bot cannot be added to servers", platforms_texts.ALLOW_GUILD_INSTALL.format(portal=PORTAL))
    if "1" not in contexts:
        yield note(
            "nobody can use the bot's commands outside its servers",
            platforms_texts.ALLOW_USER_INSTALL.format(portal=PORTAL),
        )


def _guilds(facts: DiscordFacts) -> Iterator[Finding]:
    if facts.guilds is None:
        yield _unknown("which servers the bot is in")
        return
    application, chosen = str((facts.application or {}).get("id", "APPLICATION_ID")), facts.settings.chosen
    link = server_link(application, required_features(chosen, acts=facts.settings.acts))
    if not facts.guilds:
        yield warning("the bot is not in any server", platforms_texts.OPEN_LINK.format(link=link))
    for guild in facts.guilds:
        name, missing = guild.get("name", "?"), missing_titles(int(guild.get("permissions") or 0), facts.settings)
        if missing:
            remedy = platforms_texts.GIVE_RIGHTS.format(link=link)
            yield warning(f"in “{name}”, the bot lacks {', '.join(missing)}", remedy)
        else:
            yield good(f"in “{name}”, the bot has all the permissions that it needs")
        yield from _unlisted(guild, facts)
    known = {str(guild.get("id")) for guild in facts.guilds}
    for home in sorted(facts.settings.servers - known):
        yield warning(
            f"the settings list the server {home}, but the bot is not in it",
            platforms_texts.OPEN_LINK.format(link=link),
        )


def _unlisted(guild: Payload, facts: DiscordFacts) -> Iterator[Finding]:
    """Report how a server that the settings do not name is handled."""
    number, settings = str(guild.get("id")), facts.settings
    if number in (settings.servers or facts.owned):
        return
    if settings.chosen.other_servers is OtherServers.SERVE:
        what, level = "the bot answers its members there, but not elsewhere", Level.NOTE
    elif settings.chosen.other_servers is OtherServers.LEAVE:
        what, level = "the bot leaves it", Level.NOTE
    else:
        what, level = "the bot does not answer anyone there", Level.WARNING
    remedy = platforms_texts.SERVE_SERVER.format(number=number)
    yield Finding(
        level,
        WHERE,
        f"the server “{guild.get('name', '?')}” ({number}) is not listed in the settings, so {what}",
        remedy,
    )


def _reach(facts: DiscordFacts) -> Iterator[Finding]:
    """Report how many users can see the bot: at most the sum of its servers' members, with duplicates."""
    counts = [guild.get("approximate_member_count") for guild in facts.guilds or ()]
    numbers = [count for count in counts if isinstance(count, int)]
    flags = int((facts.application or {}).get("flags") or 0)
    if not numbers or not facts.settings.chosen.message_content:
        return
    users = sum(numbers)
    part = platforms_texts.REACH_PART.format(servers=MAX_GUILDS) if len(counts) >= MAX_GUILDS else ""
    if flags & _GRANTED:
        yield note(platforms_texts.REACH_GRANTED.format(users=users, part=part), platforms_texts.REACH_RENEW)
    elif users >= REVIEWED_FROM:
        yield warning(
            platforms_texts.REACH_OVER.format(users=users, part=part, limit=REVIEWED_FROM), platforms_texts.REACH_APPLY
        )
    else:
        text = platforms_texts.REACH_UNDER.format(users=users, part=part, limit=REVIEWED_FROM)
        yield good(text) if users < NEAR_REVIEW else note(text, platforms_texts.REACH_APPLY)


def missing_titles(granted: int, settings: DiscordOptions) -> list[str]:
    """Return the titles of the permissions that these settings need, and this set lacks."""
    if granted & _ADMINISTRATOR:
        return []
    needed = needed_permissions(required_features(settings.chosen, acts=settings.acts))
    return [permission.title for permission in needed if not granted & permission.bit]


def _gateway(facts: DiscordFacts) -> Iterator[Finding]:
    if facts.gateway is None:
        yield _unknown("how many connections the bot can open")
        return
    starts: Payload = facts.gateway.get("session_start_limit") or {}
    remaining, hours = int(starts.get("remaining", 0)), int(starts.get("reset_after", 0)) / 3_600_000
    until = f" in the next {hours:.1f} h" if hours else ""  # Discord counts from the first one on
    what = f"{counted(remaining, 'more connection is', 'more connections are')} allowed{until}"
    level = Level.GOOD if remaining > FEW_SESSIONS else Level.WARNING if remaining else Level.PROBLEM
    remedy = "" if level is Level.GOOD else platforms_texts.DO_NOT_RESTART
    yield Finding(level, WHERE, what, remedy)
    yield from _shards(int(facts.gateway.get("shards", 1)), facts.settings.chosen.shards)
    yield from _home(facts.settings)


def _home(settings: DiscordOptions) -> Iterable[Finding]:
    """Report unnamed servers: authors of DMs are looked up in servers, of which one process may serve only a part."""
    if settings.chosen.shards == 1 or settings.servers or settings.home:
        return ()
    return (note(platforms_texts.SHARDS_UNNAMED, platforms_texts.NAME_SERVERS),)


def _shards(recommended: int, chosen: int | None) -> Iterable[Finding]:
    if chosen is None or chosen >= recommended:
        return ()
    what = platforms_texts.SHARDS_RECOMMENDED.format(recommended=recommended, chosen=chosen)
    return (warning(what, platforms_texts.SHARDS_AUTO),)


def _unknown(what: str) -> Finding:
    return warning(f"the bot could not check {what}", platforms_texts.TRY_LATER)


# The permissions that the bot needs and lacks in a server, and what prevents an answer in a channel.
#
# Rule: what is not known, as in a server that is not cached, counts as permitted: Discord will refuse it if not.

# Replying to a message requires the permission to read it.
_IN_CHANNELS: Final = ("view_channel", "send_messages", "read_message_history")
_IN_THREADS: Final = ("view_channel", "send_messages_in_threads")

Channel: TypeAlias = discord.abc.GuildChannel | discord.Thread


def missing_permissions(granted: discord.Permissions, settings: DiscordOptions) -> list[str]:
    """Return the permissions that the bot lacks in a whole server; single channels may differ."""
    return missing_titles(granted.value, settings)


def may_start_threads(channel: discord.TextChannel) -> bool:
    """Return whether the bot can start a thread from a message there, and write in it."""
    granted = _granted(channel)
    return granted is None or (granted.create_public_threads and granted.send_messages_in_threads)


def check(channel: object, *, in_thread: bool) -> None:
    """Raises Refused, with what is missing, if the bot cannot answer there.

    `in_thread`: the answer goes to a thread, which this channel is, or contains.
    """
    granted = _granted(channel) if isinstance(channel, Channel) else None
    if not isinstance(channel, Channel) or granted is None:
        return
    if isinstance(channel, discord.Thread) and channel.locked and not granted.manage_threads:
        raise Refused(platforms_texts.THREAD_LOCKED.format(name=channel.name))
    needed = _IN_THREADS if in_thread else _IN_CHANNELS
    missing = [PERMISSIONS[name].title for name in needed if not getattr(granted, name)]
    if missing:
        raise Refused(platforms_texts.ROLE_LACKS.format(channel=channel.name, missing=enumerated(missing)))


def may_answer(granted: discord.Permissions, *, in_thread: bool) -> bool:
    """Return whether the bot can write messages with these permissions, and not only respond to commands."""
    return all(getattr(granted, name) for name in (_IN_THREADS if in_thread else _IN_CHANNELS))


def _granted(channel: Channel) -> discord.Permissions | None:
    """Return the bot's current permissions there; None if not known."""
    guild = channel.guild
    unknown = guild.get_role(guild.id) is None or (isinstance(channel, discord.Thread) and channel.parent is None)
    return None if unknown else channel.permissions_for(guild.me)
