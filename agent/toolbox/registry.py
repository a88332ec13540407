"""The tools of one turn: their schemas for the model, the check of each call, and the limits of results. Pure.

Rules.
- Tools for everyone come first, in the order of registration, then the others by name. So the prefix of a person in a
  place stays the same, byte for byte, and all prefixes share their beginning.
- If the other tools would take too many tokens, only their names are listed (`agent.toolbox.tool_search`). So the list
  does not grow within a turn, and vendors' caches after it stay valid.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from cachetools import LRUCache
from jsonschema import Draft202012Validator, SchemaError

from agent.addresses import SCHEDULE, texts_of_schema
from agent.citations import FETCH
from agent.incoming import Person
from agent.memory.audience import PersonAudience, label
from agent.messages import Keep, ResultStatus, ToolCall, ToolResult, ToolSpec, estimate_tokens
from agent.ports.tools import (
    NO_SERVERS,
    Asker,
    PlaceTools,
    PlatformTool,
    SituationalTool,
    Tool,
    ToolEffect,
    ToolOutput,
    ToolServers,
    ToolSource,
)
from agent.protocol.render import stands_in
from agent.toolbox.arguments import (
    UncheckableSchema,
    as_chosen,
    as_meant,
    as_named,
    parse_arguments,
    problem_of,
    schema_errors,
    validator_of,
)
from agent.toolbox.results import ToolLimits, result_of
from agent.toolbox.signatures import described, limit_spec, objects_of, spec_of
from agent.toolbox.similar_names import closest_names
from agent.toolbox.tool_search import CALL_TOOL, MAX_SCHEMA_TOKENS, MAX_SHOWN_CHARS, RESERVED, WRAPPED, ToolSearch

# Calls that run without a confirmation, unless a policy requires one or the turn has read texts of others.
UNASKED: Final = frozenset({ToolEffect.READS, ToolEffect.WRITES_HERE})


class Registry:
    """Tools by name: those for everyone, and the `rest`, which may come from other authors.

    Raises ValueError for two tools of one name, SchemaError for an invalid schema of a tool for everyone.
    """

    def __init__(
        self,
        tools: Sequence[Tool],
        limits: ToolLimits = ToolLimits(),  # noqa: B008 -- frozen
        rest: Sequence[Tool] = (),
        away: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        for tool in tools:
            validator_of(json.dumps(tool.schema))
        specs = [spec_of(tool) for tool in tools if not isinstance(tool, SituationalTool)]
        self._situational: Final = [(tool.beside, spec_of(tool)) for tool in tools if isinstance(tool, SituationalTool)]
        others = list(map(limit_spec, rest))
        tokens = sum(estimate_tokens(described(tool)) for tool in others)
        self._search: Final = ToolSearch(others) if tokens > MAX_SCHEMA_TOKENS else None
        self._away: Final = away
        all_tools = (*tools, *rest) if self._search is None else (*tools, *rest, self._search)
        self._tools = {tool.name: tool for tool in all_tools}
        if len(self._tools) != len(all_tools):
            raise ValueError("two tools have one name")
        self._limits = limits
        shown = (*specs, *(others if self._search is None else [spec_of(self._search)]))
        # All tools with their arguments in the order of registration, for the stable prefix.
        self.schemas: Final = "\n".join(map(described, shown))
        # The tools whose arguments may leave: all of other authors, but for those that read the platform, the one that
        # reads web pages, and the one whose schedules call such tools later.
        ours = {tool.name for tool in rest if isinstance(tool, PlatformTool)}
        self.sends: Final = {tool.name for tool in rest} - ours | ({FETCH, SCHEDULE} & self._tools.keys())
        writes = bool(self.sends) or any(tool.effect is not ToolEffect.READS for tool in rest)
        # Whether a call of any tool may need a confirmation.
        self.asks: Final = writes or any(tool.effect not in UNASKED for tool in tools)
        # The same for vendors with their own form of tools.
        self.specs: Final = shown if self._search is None else (*shown, CALL_TOOL)

    def offer(self, texts: Sequence[str]) -> tuple[str, tuple[ToolSpec, ...]]:
        """Return `schemas` and `specs`, followed by the situational tools for these texts (newest first)."""
        more = [spec for beside, spec in self._situational if stands_in(beside, texts)]
        return "\n".join([self.schemas, *map(described, more)]), (*self.specs, *more)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._tools) if self._search is None else frozenset({*self._tools, CALL_TOOL.name})

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools, but for the one that searches among them."""
        return tuple(tool for tool in self._tools.values() if tool is not self._search)

    def get(self, name: str) -> Tool:
        return self._tools[name]

    def names_of_schema(self, name: str) -> frozenset[str]:
        """Return the texts that the schema of a tool of this registry names (see `agent.addresses`)."""
        return texts_of_schema(limit_spec(self._tools[name]).schema)

    def repeatable(self, name: str) -> bool:
        """Return whether a call may be repeated if it is unknown whether it ran."""
        return name in self._tools and self._tools[name].effect is ToolEffect.READS

    def unwrap(self, call: ToolCall) -> ToolCall:
        """Return the call inside of a `call_tool` call; other calls are returned unchanged."""
        if call.name != CALL_TOOL.name or self._search is None:
            return call
        name = call.args.get("name")
        args = call.args.get("args", {key: value for key, value in call.args.items() if key != "name"})
        if isinstance(args, str):
            args = parse_arguments(args)
        return ToolCall(name, args) if isinstance(name, str) and isinstance(args, dict) else call

    def check(self, call: ToolCall) -> str | None:
        """Return what is wrong with the call, as a text for the model, or None."""
        if call.name == CALL_TOOL.name and self._search is not None:
            return f"wrong arguments: {WRAPPED}"
        if call.name not in self._tools:
            return self._unknown(call.name)
        adapted, problems = self.adapt_arguments(call), list[str]()
        try:
            for error in schema_errors(self._validator(call.name), adapted):
                problems.append(problem_of(error.json_path, error.message))
        except (SchemaError, UncheckableSchema):
            return f"the tool {call.name!r} cannot be called: the schema of its arguments is none"
        except (ArithmeticError, ValueError):  # for example in a multiple of 0.01: a float has up to 308 digits
            return "wrong arguments: a number is too large"
        if not problems:
            return None
        return f"wrong arguments: {'; '.join(sorted(problems))}. It is {self._described(call.name)}"

    def _unknown(self, name: str) -> str:
        if reason := self._away().get(name.partition(".")[0]):
            return f"the tools of its server are not there now: {reason} Tell the person, and go on without it"
        if similar := closest_names(name, self._tools):
            hint = f"did you mean {' or '.join(map(repr, similar))}?"
            if len(similar) == 1 and self._search is not None:
                hint += f" It is {self._described(similar[0])}"
        elif self._search is not None:
            hint = "find one by the tool 'tools'"
        else:
            hint = f"there are: {', '.join(sorted(self._tools)) or 'none'}"
        return f"unknown tool {name[:MAX_SHOWN_CHARS]!r}; {hint}"

    def _described(self, name: str) -> str:
        return described(limit_spec(self._tools[name]))

    def _validator(self, name: str) -> Draft202012Validator:
        """The validator of the schema that the model saw, built at the first call: 200 take a third of a second."""
        return validator_of(json.dumps(limit_spec(self._tools[name]).schema))

    def adapt_arguments(self, call: ToolCall) -> ToolCall:
        """Adapt arguments to the schema: a single value becomes a list, a list of texts becomes lines of one text, JSON
        in a text becomes the object or list that is meant, and for a tool that only reads, the beginning or a word of
        one choice becomes this choice, and a name that is near the missing one becomes that.
        """
        tool = self._tools[call.name]
        fields = objects_of(tool.schema.get("properties"))
        named = as_named(call.args, tool.schema) if tool.effect is ToolEffect.READS else call.args
        args = {name: as_meant(value, fields.get(name, {})) for name, value in named.items()}
        if tool.effect is ToolEffect.READS:
            args = {name: as_chosen(value, fields.get(name, {})) for name, value in args.items()}
        return replace(call, args=args)

    def as_run(self, call: ToolCall) -> ToolCall:
        """Return a call with the arguments that its tool gets; as it is if there is no such tool now."""
        return self.adapt_arguments(call) if call.name in self._tools else call

    def result(self, name: str, output: ToolOutput, asker: Person) -> ToolResult:
        """Return the result of a call for the model, within the limits, with its audience."""
        audience = output.audience or PersonAudience(asker.id)
        status = ResultStatus.FAILURE if output.failed else ResultStatus.SUCCESS
        return result_of(name, status, output, label(audience), self._limits)

    def failure(self, name: str, reason: str, asker: Person | None = None, *, keep: Keep = Keep.STORED) -> ToolResult:
        """Return the result of a failed call. `asker`: the only reader, if `reason` is the tool's own text."""
        audience = "" if asker is None else label(PersonAudience(asker.id))
        return result_of(name, ResultStatus.FAILURE, ToolOutput(reason, keep=keep), audience, self._limits)


class ToolPolicy(Protocol):
    """The operator's policy about tools."""

    @property
    def rows(self) -> Sequence[object]:
        """The rows of the policy. Without any, all tools may be offered."""
        ...

    def offers(self, tool: Tool, asker: Asker) -> bool:
        """Return whether this person may use the tool here, with or without a confirmation."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTools:
    """A source with the same tools for everyone, everywhere."""

    all: tuple[Tool, ...] = ()

    def tools(self, asker: Asker) -> tuple[Tool, ...]:  # noqa: ARG002 -- the same for everyone
        return self.all


class Toolbox:
    """All tools: the `core` for everyone, and those that the `sources` currently have for an asker.

    `effects`: the allowed effects of the sources' tools; without a `policy` there are no confirmations. `servers`:
    those behind the sources.
    """

    def __init__(
        self,
        core: Sequence[Tool],
        sources: Sequence[ToolSource] = (),
        policy: ToolPolicy | None = None,
        effects: Collection[ToolEffect] | None = None,
        servers: ToolServers = NO_SERVERS,
    ) -> None:
        self._core, self._sources = tuple(core), tuple(sources)
        self._policy, self.servers = policy, servers
        self._effects = frozenset(effects or (UNASKED if policy is None else ToolEffect))
        self._known: LRUCache[tuple[int, ...], tuple[tuple[Tool, ...], Registry]] = LRUCache(MAX_REGISTRIES)
        self._registry_of(self._core)  # errors in it are raised at the start

    async def prepare(self, asker: Asker) -> None:
        """Look up what decides which tools this person has in this place, before they are collected."""
        await self.servers.prepare(asker)
        for source in self._sources:
            if isinstance(source, PlaceTools):
                await source.look_up(asker)

    def registry(
        self, asker: Asker, *, reads_only: bool = False, allows: Callable[[str], bool] | None = None
    ) -> Registry:
        """Return the current tools of this person in this place; with `reads_only`, those without another effect, and
        with `allows` those of whose names that is true.
        """
        tools, core, policy = self.all(asker), self._core, self._policy
        rest = tools[len(core) :]
        if reads_only:
            core, rest = (tuple(tool for tool in of if tool.effect is ToolEffect.READS) for of in (core, rest))
        if allows is not None:
            core, rest = (tuple(tool for tool in of if allows(tool.name)) for of in (core, rest))
        if policy is not None and policy.rows:
            core, rest = (tuple(tool for tool in tools_of if policy.offers(tool, asker)) for tools_of in (core, rest))
        return self._registry_of(core, rest)

    def all(self, asker: Asker) -> tuple[Tool, ...]:
        """Return all tools, also those that the policy refuses. A tool with a name that is taken is left out."""
        sourced = (tool for source in self._sources for tool in source.tools(asker) if tool.effect in self._effects)
        rest = sorted(sourced, key=lambda tool: tool.name)
        named = {tool.name: tool for tool in (*reversed(rest), *reversed(self._core)) if tool.name not in RESERVED}
        return (*self._core, *(tool for tool in rest if named.get(tool.name) is tool))

    def _registry_of(self, core: tuple[Tool, ...], rest: tuple[Tool, ...] = ()) -> Registry:
        tools = (*core, *rest)
        key = tuple(map(id, tools))
        if key not in self._known:  # the tools are kept with it, so that their ids are not reused
            self._known[key] = tools, Registry(core, rest=rest, away=self.servers.away)
        return self._known[key][1]


MAX_REGISTRIES: Final = 64  # The combinations of people and places in a large workspace
