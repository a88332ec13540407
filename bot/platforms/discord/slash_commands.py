"""The application commands: their registration with Discord, and the help about them."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, cast

import discord
from discord import app_commands
from discord.http import Route

from agent.incoming import Incoming
from bot import commands as discovery
from bot.chat.commands.declaration import (
    AnyCommand,
    Argument,
    ArgumentKind,
    CommandScope,
    command_meant,
    command_named,
    nearest,
    nearly_meant,
)
from bot.chat.texts import formatting
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.inbound import budget_ids
from bot.platforms.discord.interactions import Choice, Interaction, Tree
from bot.platforms.discord.settings_command import SETTINGS

COMMANDS: Final = (*discovery.COMMANDS, SETTINGS)

Given: TypeAlias = Mapping[str, Any]  # The values of a command's options, by name
Use: TypeAlias = Callable[[AnyCommand, Interaction, Given], Awaitable[None]]
# Returns the suggestions for an argument, by its name, that contain what was typed so far.
Suggesting: TypeAlias = Callable[[AnyCommand, str, Interaction, str], Awaitable[list[Choice]]]


def offered_in(*, direct: bool) -> tuple[AnyCommand, ...]:
    """Return the commands that can be used in DMs, or in servers."""
    elsewhere = CommandScope.SERVERS if direct else CommandScope.DIRECT
    return tuple(command for command in COMMANDS if command.scope is not elsewhere)


def help_text(*, direct: bool) -> str:
    """Return the commands that can be used there, with their summaries."""
    summaries = {f"/{command.name}": command.summary for command in offered_in(direct=direct)}
    return f"{formatting.help_text(summaries)}\n\n{platforms_texts.HOW_ON_DISCORD}"


def command_in(incoming: Incoming, *, direct: bool) -> str:
    """Return the name of the command that a whole message is, without its slash; "" for any other message.

    The message is then answered with a reference to the command: Discord shows ephemeral answers only to commands.
    """
    text = incoming.text.rstrip(" .!?")
    if not text.startswith("/"):
        offered = offered_in(direct=direct)
        if (meant := command_meant(text, offered, incoming.time, budget_ids)) is not None:
            return meant.command.name
        return nearly_meant(text, offered, incoming.time).partition(" ")[0]
    name, _, words = text[1:].partition(" ")
    command = command_named(name, COMMANDS)
    if command is None:
        return nearest(name, words, COMMANDS)
    reachable = not (direct and command.scope is CommandScope.SERVERS)
    return command.name if reachable and command.name not in ("ask", "stop") else ""


def register(tree: Tree, use: Use, suggesting: Suggesting) -> None:
    """Add all commands to a command tree."""
    for command in COMMANDS:
        direct, servers = command.scope is CommandScope.DIRECT, command.scope is CommandScope.SERVERS
        app_command = app_commands.Command[Any, ..., None](
            name=command.name,
            description=command.summary,
            callback=_callback(command, use, suggesting),
            allowed_contexts=app_commands.AppCommandContext(
                guild=not direct, dm_channel=not servers, private_channel=not (direct or servers)
            ),
            allowed_installs=app_commands.AppInstallationType(guild=True, user=not servers),
        )
        tree.add_command(app_command)


def _callback(command: AnyCommand, use: Use, suggesting: Suggesting) -> Callable[..., Any]:
    """Return the callback for the library, which reads the options from the function's signature and annotations."""

    async def run(interaction: Interaction, **values: Any) -> None:  # noqa: ANN401 -- an option's value, as Discord has it
        await use(command, interaction, values)

    options = [_parameter(argument) for argument in command.arguments]
    caller = inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Interaction)
    setattr(run, "__signature__", inspect.Signature([caller, *options]))  # noqa: B010 -- functions have no such attribute in their type
    app_commands.describe(**{argument.name: argument.summary for argument in command.arguments})(run)
    for argument in command.arguments:
        if argument.choices:
            choices = [app_commands.Choice(name=label, value=value) for value, label in argument.choices.items()]
            app_commands.choices(**{argument.name: choices})(run)
        if argument.name in command.suggests:
            complete = _autocomplete(partial(suggesting, command, argument.name))
            app_commands.autocomplete(**{argument.name: complete})(run)
    return run


def _autocomplete(
    suggesting: Callable[[Interaction, str], Awaitable[list[Choice]]],
) -> Callable[[Interaction, str], Coroutine[Any, Any, list[Choice]]]:
    """Return a function of the shape that the library checks for: a coroutine function with these two parameters."""

    async def complete(interaction: Interaction, typed: str) -> list[Choice]:
        return await suggesting(interaction, typed)

    return complete


def _parameter(argument: Argument) -> inspect.Parameter:
    missing: object = inspect.Parameter.empty if argument.required else None
    match argument.kind:
        case ArgumentKind.TEXT:
            kind: object = app_commands.Range[str, 1, argument.max_chars] if argument.max_chars else str
        case ArgumentKind.FLAG:
            kind = bool
        case ArgumentKind.FILE:
            kind = discord.Attachment
    annotation = kind if argument.required else cast("type", kind) | None
    return inspect.Parameter(argument.name, inspect.Parameter.KEYWORD_ONLY, default=missing, annotation=annotation)


# Registration of the commands with Discord, only if they have changed.
#
# Discord allows an application to create 200 commands a day in a server, and every client reloads them when they are
# put. So the registered commands are read first, with translations from earlier versions, and compared: by the keys
# that we set, not those that Discord adds, and in any order. An empty value counts as missing.

# The keys that we set for a command, its options and their choices.
_OUR_KEYS: Final = frozenset(
    {
        "name",
        "name_localizations",
        "description",
        "description_localizations",
        "type",
        "options",
        "choices",
        "value",
        "required",
        "autocomplete",
        "min_length",
        "max_length",
        "min_value",
        "max_value",
        "channel_types",
        "contexts",
        "integration_types",
        "default_member_permissions",
        "nsfw",
    }
)
_SETS: Final = frozenset({"contexts", "integration_types", "channel_types"})
_TABLES: Final = frozenset({"name_localizations", "description_localizations"})


async def sync(client: discord.Client, tree: Tree) -> bool:
    """Put the commands if they have changed; return whether they had. Raises discord.HTTPException."""
    commands = [command.to_dict(tree) for command in tree.get_commands()]
    path = "/applications/{application_id}/commands"
    ids = {"application_id": str(client.application_id)}
    registered = await client.http.request(Route("GET", path, **ids), params={"with_localizations": "true"})
    if isinstance(registered, list) and same(commands, cast("list[Mapping[str, Any]]", registered)):
        return False
    await client.http.request(Route("PUT", path, **ids), json=commands)
    return True


def same(commands: Sequence[Mapping[str, Any]], registered: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether both lists define the same commands for users. Pure."""
    return _by_name(commands) == _by_name(registered)


def _by_name(commands: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], object]:
    return {
        (str(command["name"]), int(command.get("type") or 1)): _plain({"type": 1, **command}) for command in commands
    }


def _plain(value: object) -> object:
    """Return the value without keys that Discord adds and without empty values."""
    if isinstance(value, Mapping):
        ours = {key: _value(key, item) for key, item in cast("Mapping[str, object]", value).items() if key in _OUR_KEYS}
        return {key: item for key, item in ours.items() if item not in (None, False, "", [], {})}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    return value


def _value(key: str, value: object) -> object:
    if key in _SETS and isinstance(value, Sequence):
        return sorted(cast("Sequence[int]", value))
    return dict(cast("Mapping[str, object]", value)) if key in _TABLES and isinstance(value, Mapping) else _plain(value)
