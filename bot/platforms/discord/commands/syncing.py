"""Tells Discord which commands there are, only when they have changed.

Above: `desk`. Below: discord.py.

Discord lets an application make 200 commands a day in a server, and every client loads them anew when they are put. So
what it has is read first, with its translations, and compared with the tree: of each command what we say of it, and not
what Discord adds, in any order of the commands. A value that means the same as none counts as none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import discord
from discord.http import Route

from bot.platforms.discord.commands.interactions import Tree
from bot.platforms.discord.commands.translations import Translator

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
"""What we say of a command, its options and their choices."""
_SETS: Final = frozenset({"contexts", "integration_types", "channel_types"})
_TABLES: Final = frozenset({"name_localizations", "description_localizations"})


async def sync(client: discord.Client, tree: Tree) -> bool:
    """Whether the commands had changed, and were put. Raises discord.HTTPException."""
    translator = tree.translator or Translator()
    wanted = [await command.get_translated_payload(tree, translator) for command in tree.get_commands()]
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
