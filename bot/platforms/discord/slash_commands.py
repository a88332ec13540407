"""The application commands: what Discord is told of those that are declared, and the help about them."""

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import discord
from discord import app_commands
from discord.http import Route

from agent.records import Incoming
from bot.commands import discovery
from bot.commands.declaration import (
    Argument,
    ArgumentKind,
    Command,
    CommandScope,
    Suggest,
    command_meant,
    command_named,
    nearest,
    nearly_meant,
)
from bot.platforms.discord.conversations import SETTINGS
from bot.platforms.discord.inbound import budget_ids
from bot.platforms.discord.interactions import Choice, Interaction, Tree
from bot.texts import command_texts

COMMANDS: Final = (*discovery.COMMANDS, SETTINGS)

Given: TypeAlias = Mapping[str, Any]  # What was given to a command, by the names of its arguments
Use: TypeAlias = Callable[[Command, Interaction, Given], Awaitable[None]]
Suggesting: TypeAlias = Callable[[Suggest, Interaction, str], Awaitable[list[Choice]]]


def offered_in(*, direct: bool) -> tuple[Command, ...]:
    """Those that can be used there."""
    elsewhere = CommandScope.SERVERS if direct else CommandScope.DIRECT
    return tuple(command for command in COMMANDS if command.scope is not elsewhere)


def help_text(*, direct: bool) -> str:
    """The commands that can be used there, each with what it does."""
    said = {f"/{one.name}": one.summary for one in offered_in(direct=direct)}
    return f"{command_texts.help_text(said)}\n\n{command_texts.HOW_ON_DISCORD}"


def command_in(incoming: Incoming, *, direct: bool) -> str:
    """The command that a whole message means, without its slash; "" for every other message.

    Nobody but the asker may see its answer, which Discord shows only in answer to the command itself.
    """
    said = incoming.text.rstrip(" .!?")
    if not said.startswith("/"):
        offered = offered_in(direct=direct)
        if (meant := command_meant(said, offered, incoming.time, budget_ids)) is not None:
            return meant.command.name
        return nearly_meant(said, offered, incoming.time).partition(" ")[0]
    name, _, words = said[1:].partition(" ")
    command = command_named(name, COMMANDS)
    if command is None:
        return nearest(name, words, COMMANDS)
    reachable = not (direct and command.scope is CommandScope.SERVERS)
    return command.name if reachable and command.name not in ("ask", "stop") else ""


def register(tree: Tree, use: Use, suggesting: Suggesting) -> None:
    """Make all commands known to a command tree."""
    for command in COMMANDS:
        direct, servers = command.scope is CommandScope.DIRECT, command.scope is CommandScope.SERVERS
        made = app_commands.Command[Any, ..., None](
            name=command.name,
            description=command.summary,
            callback=_callback(command, use, suggesting),
            allowed_contexts=app_commands.AppCommandContext(
                guild=not direct, dm_channel=not servers, private_channel=not (direct or servers)
            ),
            allowed_installs=app_commands.AppInstallationType(guild=True, user=not servers),
        )
        tree.add_command(made)


def _callback(command: Command, use: Use, suggesting: Suggesting) -> Callable[..., Any]:
    """What the library calls; it reads the options from the function's signature and marks."""

    async def run(interaction: Interaction, **given: Any) -> None:  # noqa: ANN401 -- an option's value, as Discord has it
        await use(command, interaction, given)

    options = [_parameter(argument) for argument in command.arguments]
    caller = inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Interaction)
    setattr(run, "__signature__", inspect.Signature([caller, *options]))  # noqa: B010 -- functions have no such attribute in their type
    app_commands.describe(**{argument.name: argument.summary for argument in command.arguments})(run)
    for argument in command.arguments:
        if argument.choices:
            choices = [app_commands.Choice(name=label, value=value) for value, label in argument.choices.items()]
            app_commands.choices(**{argument.name: choices})(run)
        if argument.suggests is not None:
            app_commands.autocomplete(**{argument.name: _completing(argument.suggests, suggesting)})(run)
    return run


def _completing(
    suggests: Suggest, suggesting: Suggesting
) -> Callable[[Interaction, str], Coroutine[Any, Any, list[Choice]]]:
    async def complete(interaction: Interaction, typed: str) -> list[Choice]:
        return await suggesting(suggests, interaction, typed)

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


# Tells Discord which commands there are, only when they have changed.
#
# Discord lets an application make 200 commands a day in a server, and every client loads them anew when they are put.
# So what it has is read first, with translations that an earlier version made, and compared: of each what we say of it,
# and not what Discord adds, in any order of the commands. A value that means the same as none counts as none.

# What we say of a command, its options and their choices.
_SAID: Final = frozenset(
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
    """Whether the commands had changed, and were put. Raises discord.HTTPException."""
    wanted = [command.to_dict(tree) for command in tree.get_commands()]
    path = "/applications/{application_id}/commands"
    here = {"application_id": str(client.application_id)}
    known = await client.http.request(Route("GET", path, **here), params={"with_localizations": "true"})
    if isinstance(known, list) and same(wanted, cast("list[Mapping[str, Any]]", known)):
        return False
    await client.http.request(Route("PUT", path, **here), json=wanted)
    return True


def same(wanted: Sequence[Mapping[str, Any]], known: Sequence[Mapping[str, Any]]) -> bool:
    """Whether both are the same commands for people. Pure."""
    return _by_name(wanted) == _by_name(known)


def _by_name(commands: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], object]:
    return {(str(one["name"]), int(one.get("type") or 1)): _plain({"type": 1, **one}) for one in commands}


def _plain(value: object) -> object:
    """Without what Discord adds, and without what means nothing."""
    if isinstance(value, Mapping):
        kept = {key: _value(key, one) for key, one in cast("Mapping[str, object]", value).items() if key in _SAID}
        return {key: one for key, one in kept.items() if one not in (None, False, "", [], {})}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in cast("Sequence[object]", value)]
    return value


def _value(key: str, value: object) -> object:
    if key in _SETS and isinstance(value, Sequence):
        return sorted(cast("Sequence[int]", value))
    return dict(cast("Mapping[str, object]", value)) if key in _TABLES and isinstance(value, Mapping) else _plain(value)
