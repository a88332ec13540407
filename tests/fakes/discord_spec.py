"""Discord's own description of its HTTP API, against which the fake validates every request.

`discord_api/openapi.json` is `specs/openapi.json` of https://github.com/discord/discord-api-spec (MIT, see the LICENSE
beside it), reduced to the requests that the bot makes. To renew it:

    python -m tests.fakes.discord_spec path/to/openapi.json

Discord ignores unknown properties; here a property or a parameter that the description does not name is an error,
because a misspelt one would be lost silently.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, cast

from jsonschema import Draft202012Validator, ValidationError

Schema = dict[str, Any]

DESCRIPTION: Final = Path(__file__).parent / "discord_api" / "openapi.json"
REF: Final = "#/components/schemas/"
# The bot's requests. To allow another one, add it here and renew the description.
KEPT: Final = {
    "/users/@me": ["get"],
    "/users/{user_id}": ["get"],
    "/users/@me/guilds": ["get"],
    "/users/@me/guilds/{guild_id}": ["delete"],
    "/users/@me/channels": ["post"],
    "/gateway/bot": ["get"],
    "/applications/@me": ["get"],
    "/oauth2/applications/@me": ["get"],
    "/applications/{application_id}/commands": ["get", "put"],
    "/guilds/{guild_id}": ["get"],
    "/guilds/{guild_id}/channels": ["get"],
    "/guilds/{guild_id}/threads/active": ["get"],
    "/guilds/{guild_id}/members/{user_id}": ["get"],
    "/channels/{channel_id}": ["get", "patch"],
    "/channels/{channel_id}/threads/archived/public": ["get"],
    "/channels/{channel_id}/thread-members/{user_id}": ["get"],
    "/channels/{channel_id}/typing": ["post"],
    "/channels/{channel_id}/messages": ["get", "post"],
    "/channels/{channel_id}/messages/{message_id}": ["get", "patch", "delete"],
    "/channels/{channel_id}/messages/pins/{message_id}": ["put", "delete"],
    "/channels/{channel_id}/messages/{message_id}/threads": ["post"],
    "/channels/{channel_id}/threads": ["post"],
    "/guilds/{guild_id}/scheduled-events": ["post"],
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}": ["get", "patch", "delete"],
    "/channels/{channel_id}/polls/{message_id}/expire": ["post"],
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me": ["put", "delete"],
    "/interactions/{interaction_id}/{interaction_token}/callback": ["post"],
    "/webhooks/{webhook_id}/{webhook_token}": ["post"],
    "/webhooks/{webhook_id}/{webhook_token}/messages/@original": ["get", "patch", "delete"],
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}": ["get", "patch", "delete"],
}

# Missing from its description: properties of commands in the documentation, and what discord.py always sends.
UNNAMED: Final[Mapping[str, Schema]] = {
    "MessageEditRequestPartial": {"tts": {"type": "boolean"}},
    "ApplicationCommandUpdateRequest": {"nsfw": {"type": "boolean"}},
    "IncomingWebhookUpdateRequestPartial": {"tts": {"type": "boolean"}},
    "IncomingWebhookUpdateForInteractionCallbackRequestPartial": {"tts": {"type": "boolean"}},
}


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    method: str
    path: re.Pattern[str]
    body: Any  # a Draft202012Validator, whose types are partial; None without a body
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def problems(self, body: Any, query: Mapping[str, str]) -> Iterator[str]:
        if self.body is not None:
            yield from _misfits(self, json.dumps(body))
        elif body:
            yield "a body where none belongs"
        for name, value in query.items():
            if name not in self.query:
                yield f"the parameter {name!r} is unknown"
            elif not any(self.query[name].is_valid(read) for read in _readings(value)):
                yield f"the parameter {name!r} has a value that it cannot have"


@lru_cache(maxsize=64)
def _misfits(operation: Operation, body: str) -> Sequence[str]:
    """Return the errors in a JSON body. Each start of the bot sends all of its commands: they are validated once."""
    found: list[str] = []
    for error in operation.body.iter_errors(json.loads(body)):
        every = [*_reasons(error)]
        reasons = [one for one in every if one.validator not in {"enum", "type"}] or every
        found.append(" or ".join(f"{reason.json_path}: {reason.message[-200:]}" for reason in reasons)[:600])
    return found


def _reasons(error: ValidationError) -> Iterator[ValidationError]:
    """Return the errors in each of the forms that a value could have had."""
    if not error.context:
        yield error
    for inner in error.context or ():
        yield from _reasons(inner)


def problems(method: str, path: str, body: object, query: Mapping[str, str]) -> list[str]:
    """Return the errors in a request, `path` without the API's version; empty if it fits Discord's description."""
    fitting = [one for one in _operations() if one.method == method and one.path.fullmatch(path)]
    if not fitting:
        return [f"{method} {path}: there is no such request in KEPT of tests/fakes/discord_spec.py"]
    return [f"{method} {path}: {problem}" for problem in fitting[0].problems(body, query)]


@cache
def _operations() -> tuple[Operation, ...]:
    described = json.loads(DESCRIPTION.read_text())
    shared = {"components": described["components"]}
    found = [
        Operation(
            method.upper(),
            re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))),
            Draft202012Validator({**operation["body"], **shared}) if "body" in operation else None,
            {name: Draft202012Validator({**schema, **shared}) for name, schema in operation["query"].items()},
        )
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
    ]
    return tuple(sorted(found, key=lambda one: "[^/]+/messages/[^/]+" in one.path.pattern))


def _readings(value: str) -> Iterator[object]:
    """Return the values that a text in an address may represent."""
    yield value
    if value in {"true", "false", "1", "0"}:
        yield value in {"true", "1"}
    if value.isdecimal():
        yield int(value)


def trimmed(described: Schema) -> Schema:
    """Return the parts of Discord's description that KEPT needs, each object without additional properties."""
    schemas = described["components"]["schemas"]
    paths: Schema = {}
    for path, methods in KEPT.items():
        whole = described["paths"][path]
        paths[path] = {
            method: _operation(whole[method], [*whole.get("parameters", []), *whole[method].get("parameters", [])])
            for method in methods
        }
    needed, waiting = dict[str, Schema](), [*_references(paths)]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = _closed(schemas[name])
            needed[name].get("properties", {}).update(UNNAMED.get(name, {}))
            if name == "SnowflakeType":  # discord.py sends some ids as numbers, and Discord accepts them
                needed[name]["type"] = ["string", "integer"]
            waiting += _references(needed[name])
    return {"paths": paths, "components": {"schemas": dict(sorted(needed.items()))}}


def _operation(operation: Schema, parameters: list[Schema]) -> Schema:
    query = {one["name"]: _closed(one["schema"]) for one in parameters if one["in"] == "query"}
    if "requestBody" not in operation:
        return {"query": query}
    return {"query": query, "body": _closed(operation["requestBody"]["content"]["application/json"]["schema"])}


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in cast("Schema", schema).items() if not _says_nothing(key, value)}
    return {"additionalProperties": False, **closed} if isinstance(closed.get("properties"), dict) else closed


def _says_nothing(key: str, value: Any) -> bool:
    return key.startswith("x-") or (key in {"description", "title", "format"} and isinstance(value, str))


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for one in cast("list[Any]", schema):
            yield from _references(one)
    elif isinstance(schema, dict):
        for key, value in cast("Schema", schema).items():
            if key == "$ref":
                yield value.removeprefix(REF)
            else:
                yield from _references(value)


if __name__ == "__main__":
    description = trimmed(json.loads(Path(sys.argv[1]).read_text()))
    DESCRIPTION.write_text(
        json.dumps(description, ensure_ascii=False, separators=(",", ":")).replace('},"', '},\n"') + "\n"
    )
