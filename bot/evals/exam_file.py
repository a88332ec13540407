"""Reads an exam from YAML. Pure.

Rules
  The file is read strictly: an unknown field, a field that is set twice, an anchor, an alias or a tag is refused. Each
  error has the line and the field.
  Size and depth are bounded before the file is parsed as a whole, and no objects are constructed: the parser returns a
  tree of texts, of which each field takes the type that it needs.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NoReturn, TypeVar
from zoneinfo import available_timezones

import regex
import yaml
from jsonschema import Draft202012Validator, SchemaError

from agent.admission_terms import Authority
from agent.errors import SettingsError
from agent.memory.secrets import has_secret
from agent.messages import Json, JsonObject
from agent.ports.tools import ToolEffect
from agent.spending import NANO, Money
from bot.evals import texts
from bot.evals.exam import (
    DM,
    CallsNot,
    CallsTool,
    CannedAnswer,
    Check,
    Cites,
    Contains,
    ContainsNot,
    CostsAtMost,
    Exam,
    ExamPerson,
    ExamPlace,
    ExamTool,
    Judged,
    KnownDocument,
    KnownFact,
    Matches,
    Question,
    Refuses,
    Remembers,
    RemembersNot,
    RevealsNot,
    RunsNot,
    Said,
    WithinSeconds,
    mentions_bot,
)

T = TypeVar("T")

MAX_CHARS: Final = 400_000  # A few thousand questions; the parser reads this in some seconds
MAX_DEPTH: Final = 12
MAX_QUESTIONS: Final = 1_000
MAX_ENTRIES: Final = 50  # Of the lists of one question
MAX_REPEAT: Final = 100
MAX_TEXT: Final = 4_000  # Of a message: the limit of the smaller platforms
MAX_NAME: Final = 60
MAX_PATTERN: Final = 500
MAX_RESULT: Final = 20_000  # Of a tool, and of a document
ANY_TOOL: Final = "any"
OPTIONAL: Final = "optional "  # Before the type of an argument
ROLES: Final[Mapping[str, Authority]] = {
    "employee": Authority.EMPLOYEE,
    "manager": Authority.MANAGER,
    "admin": Authority.ADMIN,
}
EFFECTS: Final[Mapping[str, ToolEffect]] = {
    "reads": ToolEffect.READS,
    "acts": ToolEffect.ACTS_OUTWARD,
    "irreversible": ToolEffect.IRREVERSIBLE,
}
TYPES: Final = frozenset({"string", "number", "integer", "boolean"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{MAX_NAME - 1}}}", re.ASCII)
_TOOL_NAME: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}", re.ASCII)
_NULL, _BOOL, _INT, _FLOAT, _STR = (f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))
_TAGS: Final = frozenset({_NULL, _BOOL, _INT, _FLOAT, _STR, "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"})

USUAL_PEOPLE: Final[Mapping[str, ExamPerson]] = {
    "ann": ExamPerson("ann", "Ann", Authority.ADMIN),
    "ben": ExamPerson("ben", "Ben"),
}
USUAL_PLACES: Final[Mapping[str, ExamPlace]] = {"general": ExamPlace("general")}


@dataclass(frozen=True, slots=True)
class _Problem(Exception):
    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class _Field:
    """A value of the file. `path`: its name, such as "questions[2].expect.contains"."""

    node: yaml.Node
    path: str

    @property
    def line(self) -> int:
        return self.node.start_mark.line + 1

    def fail(self, sentence: str, /, **values: object) -> NoReturn:
        raise _Problem(self.line, sentence.format(field=self.path, **values))

    @property
    def is_list(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    def mapping(self, example: str, limit: int = MAX_ENTRIES) -> "dict[str, _Field]":
        """Return the fields of a mapping."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fail(texts.NOT_MAPPING, example=example)
        if len(self.node.value) > limit:
            self.fail(texts.TOO_MANY, length=len(self.node.value), limit=limit)
        found: dict[str, _Field] = {}
        for key, value in self.node.value:
            if not isinstance(key, yaml.ScalarNode):
                _Field(key, self.path).fail(texts.NOT_MAPPING, example=example)
            name = str(key.value)
            shown = f"{self.path}.{name}" if self.path else name
            if name in found:
                _Field(key, shown[:200]).fail(texts.TWICE)
            found[name] = _Field(value, shown)
        return found

    def fields(self, known: Collection[str], example: str) -> "dict[str, _Field]":
        """Return the fields of a mapping, which has no others than these."""
        found = self.mapping(example, limit=10 * MAX_ENTRIES)
        for name, value in found.items():
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = (
                    texts.DID_YOU_MEAN.format(name=close[0])
                    if close
                    else texts.KNOWN_FIELDS.format(names=", ".join(known))
                )
                _Field(value.node, value.path[:200]).fail(texts.UNKNOWN_FIELD, known=hint)
        return found

    def entries(self, limit: int = MAX_ENTRIES) -> "list[_Field]":
        if not isinstance(self.node, yaml.SequenceNode):
            self.fail(texts.NOT_LIST)
        if len(self.node.value) > limit:
            self.fail(texts.TOO_MANY, length=len(self.node.value), limit=limit)
        return [_Field(node, f"{self.path}[{number}]") for number, node in enumerate(self.node.value, 1)]

    def one_or_more(self) -> "list[_Field]":
        return self.entries() if self.is_list else [self]

    def text(self, limit: int = MAX_TEXT) -> str:
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag == _NULL:
            self.fail(texts.NOT_TEXT)
        text = str(self.node.value).strip()
        if not text:
            self.fail(texts.NO_TEXT)
        if len(text) > limit:
            self.fail(texts.TOO_LONG, length=len(text), limit=limit)
        return text

    def name(self) -> str:
        text = self.text()
        if _NAME.fullmatch(text) is None:
            self.fail(texts.BAD_NAME, limit=MAX_NAME)
        return text

    def number(self, low: float, high: float) -> float:
        try:
            value = float(self.text(40))
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            self.fail(texts.NOT_NUMBER, low=low, high=high)
        return value

    def whole(self, low: int, high: int) -> int:
        value = self.number(low, high)
        if value != int(value):
            self.fail(texts.NOT_WHOLE, low=low, high=high)
        return int(value)

    def flag(self) -> bool:
        if self.text(40) not in {"true", "false"}:
            self.fail(texts.NOT_FLAG)
        return self.text() == "true"

    def choice(self, choices: Mapping[str, T]) -> T:
        text = self.text()
        if text not in choices:
            self.fail(texts.NOT_CHOICE, choices=", ".join(f"`{name}`" for name in choices))
        return choices[text]

    def json(self) -> Json:
        """Return the value as JSON: numbers, flags and nothing as YAML writes them, all else as text."""
        match self.node:
            case yaml.MappingNode():
                return {name: value.json() for name, value in self.mapping("city: Hamburg").items()}
            case yaml.SequenceNode():
                return [entry.json() for entry in self.entries()]
            case _:
                return _scalar(self)


def _scalar(value: _Field) -> Json:
    text = str(value.node.value)
    if len(text) > MAX_RESULT:
        value.fail(texts.TOO_LONG, length=len(text), limit=MAX_RESULT)
    if value.node.tag == _NULL:
        return None
    if value.node.tag == _BOOL and text in {"true", "false"}:
        return text == "true"
    try:
        if value.node.tag == _INT:
            return int(text)
        if value.node.tag == _FLOAT:
            return float(text)
    except ValueError:  # a form of YAML 1.1 that nobody means, such as 1:30
        pass
    return text


def read_exam(text: str, file: str, own_tools: Collection[str]) -> Exam:
    """Read the exam in `text`. `file`: its name for errors and in reports; `own_tools`: the names of the tools that the
    bot has itself. Raises SettingsError with the file, the line and the field.
    """
    try:
        return _exam(_root(text), file, own_tools)
    except _Problem as problem:
        raise SettingsError(texts.FAULT.format(file=file, line=problem.line, problem=problem.problem)) from None


def _root(text: str) -> _Field:
    """Parse the file as a tree, in which nothing is shared. Raises _Problem."""
    depth, line = 0, 1
    try:
        for event in yaml.parse(text, yaml.SafeLoader):  # event by event, so that size and depth are bounded
            line = 1 if event.start_mark is None else event.start_mark.line + 1
            if isinstance(event, yaml.ScalarEvent) and _SURROGATE.search(event.value):
                raise _Problem(line, texts.NO_CHARACTER)
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise _Problem(line, texts.ALIAS)
            if (tag := getattr(event, "tag", None)) is not None and tag not in _TAGS:
                raise _Problem(line, texts.TAG.format(tag=str(tag)[:60]))
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise _Problem(line, texts.TOO_DEEP.format(limit=MAX_DEPTH))
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise _Problem(line, texts.NOT_YAML.format(problem=(error.problem or "")[:100])) from None
    except yaml.YAMLError:
        raise _Problem(1, texts.BAD_CHARACTER) from None
    except (ValueError, OverflowError):  # PyYAML's, for an escape such as "\U00110000"
        raise _Problem(line, texts.NO_CHARACTER) from None
    if node is None:
        raise _Problem(1, texts.EMPTY_FILE)
    return _Field(node, "")


# Fields and their order, as errors list them.
EXAM_FIELDS: Final = ("questions", "people", "places", "tools", "judge", "repeat", "threshold")
QUESTION_FIELDS: Final = (
    *("name", "group", "ask", "from", "in", "thread", "before", "memory", "documents", "expect", "approve"),
    *("people", "places", "tools"),
)


def _exam(root: _Field, file: str, own_tools: Collection[str]) -> Exam:
    _Field(root.node, "the file").mapping("questions:")
    fields = root.fields(EXAM_FIELDS, "questions:")
    people = _people(fields.get("people")) or USUAL_PEOPLE
    places = _places(fields.get("places"), people) or USUAL_PLACES
    tools = _tools(fields.get("tools"), own_tools)
    if "questions" not in fields or not (entries := fields["questions"].entries(MAX_QUESTIONS)):
        raise _Problem(root.line, texts.EMPTY_FILE)
    questions: dict[str, Question] = {}
    for entry in entries:
        question = _question(entry, people, places, tools, own_tools)
        if (other := questions.get(question.name)) is not None:
            entry.fail(texts.SAME_NAME, name=question.name, line=other.line)
        questions[question.name] = question
    return Exam(
        name=file,
        questions=tuple(questions.values()),
        judge=_optional(fields, "judge", lambda value: value.text(200), ""),
        repeat=_optional(fields, "repeat", lambda value: value.whole(1, MAX_REPEAT), 1),
        threshold=_optional(fields, "threshold", lambda value: value.number(0, 100) / 100, 1.0),
    )


def _optional(fields: Mapping[str, _Field], name: str, read: Callable[[_Field], T], default: T) -> T:
    return read(fields[name]) if name in fields else default


def _people(value: _Field | None) -> dict[str, ExamPerson]:
    people: dict[str, ExamPerson] = {}
    for id_, entry in ({} if value is None else value.mapping("ann: {role: manager}")).items():
        if _NAME.fullmatch(id_) is None:
            entry.fail(texts.BAD_NAME, limit=MAX_NAME)
        fields = entry.fields(("name", "role", "time_zone"), "role: manager") if entry.node.tag != _NULL else {}
        name = _optional(fields, "name", lambda each: each.text(MAX_NAME), id_.capitalize())
        authority = _optional(fields, "role", lambda each: each.choice(ROLES), Authority.EMPLOYEE)
        zone = _optional(fields, "time_zone", _zone, "UTC")
        people[id_] = ExamPerson(id_, " ".join(name.split()), authority, zone)
    return people


def _zone(value: _Field) -> str:
    name = value.text(MAX_NAME)
    if name not in available_timezones():
        value.fail(texts.NO_SUCH_ZONE)
    return name


def _places(value: _Field | None, people: Mapping[str, ExamPerson]) -> dict[str, ExamPlace]:
    places: dict[str, ExamPlace] = {}
    for name, entry in ({} if value is None else value.mapping("plans: {members: [ann]}")).items():
        if _NAME.fullmatch(name) is None:
            entry.fail(texts.BAD_NAME, limit=MAX_NAME)
        if name == DM:
            entry.fail(texts.RESERVED, name=name)
        fields = entry.fields(("members",), "members: [ann]") if entry.node.tag != _NULL else {}
        members = None
        if "members" in fields:
            members = frozenset(_person(each, people) for each in fields["members"].entries())
        places[name] = ExamPlace(name, members)
    return places


def _tools(value: _Field | None, own_tools: Collection[str]) -> dict[str, ExamTool]:
    tools: dict[str, ExamTool] = {}
    for name, entry in ({} if value is None else value.mapping("get_weather: {…}")).items():
        if _TOOL_NAME.fullmatch(name) is None:
            entry.fail(texts.BAD_TOOL_NAME, limit=MAX_NAME)
        if name in own_tools or name == ANY_TOOL:
            entry.fail(texts.RESERVED, name=name)
        fields = entry.fields(("description", "arguments", "effect", "answers"), "description: Return the weather.")
        answers = _required(entry, fields, "answers").entries()
        if not answers:
            fields["answers"].fail(texts.NO_TEXT)
        tools[name] = ExamTool(
            name,
            " ".join(_required(entry, fields, "description").text(500).split()),
            _optional(fields, "arguments", _schema, _object({}, [])),
            _optional(fields, "effect", lambda each: each.choice(EFFECTS), ToolEffect.READS),
            tuple(map(_canned, answers)),
        )
    return tools


def _canned(entry: _Field) -> CannedAnswer:
    fields = entry.fields(("when", "result", "error"), "result: 12 degrees")
    if ("result" in fields) == ("error" in fields):
        entry.fail(texts.TOOL_NEEDS_ONE)
    when = (
        {name: each.json() for name, each in fields["when"].mapping("city: Hamburg").items()}
        if "when" in fields
        else {}
    )
    result = _optional(fields, "result", lambda each: each.text(MAX_RESULT), "")
    return CannedAnswer(when, result, _optional(fields, "error", lambda each: each.text(MAX_TEXT), ""))


def _object(properties: dict[str, Json], required: Sequence[str]) -> JsonObject:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _schema(value: _Field) -> JsonObject:
    """Read `city: string`, `days: optional integer` or a JSON Schema for each argument."""
    properties: dict[str, Json] = {}
    required: list[str] = []
    for name, entry in value.mapping("city: string").items():
        if _TOOL_NAME.fullmatch(name) is None:
            entry.fail(texts.BAD_TOOL_NAME, limit=MAX_NAME)
        if entry.is_mapping:
            schema = {key: value.json() for key, value in entry.mapping("type: string").items()}
            properties[name] = schema
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                entry.fail(texts.BAD_SCHEMA, problem=error.message[:200])
            required.append(name)
            continue
        kind = entry.text(40)
        if kind.removeprefix(OPTIONAL) not in TYPES:
            entry.fail(texts.NOT_CHOICE, choices=", ".join(f"`{each}`" for each in sorted(TYPES)))
        properties[name] = {"type": kind.removeprefix(OPTIONAL)}
        required += [] if kind.startswith(OPTIONAL) else [name]
    return _object(properties, required)


def _required(entry: _Field, fields: Mapping[str, _Field], name: str) -> _Field:
    if name not in fields:
        _Field(entry.node, f"{entry.path}.{name}").fail(texts.MISSING)
    return fields[name]


def _question(
    entry: _Field,
    people: Mapping[str, ExamPerson],
    places: Mapping[str, ExamPlace],
    tools: Mapping[str, ExamTool],
    own_tools: Collection[str],
) -> Question:
    fields = entry.fields(QUESTION_FIELDS, "ask: What is my boat called?")
    people = {**people, **_people(fields.get("people"))}
    places = {**places, **_places(fields.get("places"), people)}
    tools = {**tools, **_tools(fields.get("tools"), own_tools)}
    person = _person(fields["from"], people) if "from" in fields else next(iter(people))
    place = _place(fields["in"], places) if "in" in fields else DM
    _check_member(fields.get("in", entry), person, place, places)
    checks = _checks(_required(entry, fields, "expect"), frozenset(tools) | frozenset(own_tools))
    return Question(
        name=_required(entry, fields, "name").name(),
        group=_optional(fields, "group", _Field.name, ""),
        text=_required(entry, fields, "ask").text(),
        checks=checks,
        people=people,
        places=places,
        tools=tuple(tools.values()),
        person=person,
        place=place,
        thread=_optional(fields, "thread", _Field.name, ""),
        before=_before(_list(fields.get("before")), person, place, people, places),
        memory=tuple(_fact(each, person, people, places) for each in _list(fields.get("memory"))),
        documents=tuple(_document(each, place, places) for each in _list(fields.get("documents"))),
        approves=_optional(fields, "approve", _Field.flag, default=False),
        line=entry.line,
    )


def _list(value: _Field | None) -> list[_Field]:
    return [] if value is None else value.entries()


def _person(value: _Field, people: Mapping[str, ExamPerson]) -> str:
    name = value.text(MAX_NAME)
    if name not in people:
        value.fail(texts.NO_SUCH_PERSON, name=name, known=", ".join(people))
    return name


def _place(value: _Field, places: Mapping[str, ExamPlace]) -> str:
    name = value.text(MAX_NAME).removeprefix("#")
    if name != DM and name not in places:
        value.fail(texts.NO_SUCH_PLACE, name=name, known=", ".join(places))
    return name


def _check_member(value: _Field, person: str, place: str, places: Mapping[str, ExamPlace]) -> None:
    members = None if place == DM else places[place].members
    if members is not None and person not in members:
        value.fail(texts.NOT_MEMBER, person=person, place=place)


def _before(
    entries: Sequence[_Field],
    asker: str,
    asked_in: str,
    people: Mapping[str, ExamPerson],
    places: Mapping[str, ExamPlace],
) -> tuple[Said, ...]:
    """In a channel, the bot reads only messages that mention it, and those in a thread that it is in."""
    messages: list[Said] = []
    threads: set[tuple[str, str]] = set()
    for entry in entries:
        said = _said(entry, asker, asked_in, people, places)
        is_for_bot = said.place == DM or mentions_bot(said.text)
        if not is_for_bot and (said.place, said.thread) not in threads:
            entry.fail(texts.NOT_READ)
        if said.thread:
            threads.add((said.place, said.thread))
        messages.append(said)
    return tuple(messages)


def _said(
    entry: _Field, asker: str, asked_in: str, people: Mapping[str, ExamPerson], places: Mapping[str, ExamPlace]
) -> Said:
    """A text alone is a message of the asker, where they ask."""
    if not entry.is_mapping:
        return Said(asker, asked_in, entry.text())
    fields = entry.fields(("from", "in", "thread", "say"), "say: The boat is called Vermilion.")
    person = _person(fields["from"], people) if "from" in fields else asker
    place = _place(fields["in"], places) if "in" in fields else asked_in
    _check_member(entry, person, place, places)
    thread = _optional(fields, "thread", _Field.name, "")
    return Said(person, place, _required(entry, fields, "say").text(), thread)


def _fact(entry: _Field, asker: str, people: Mapping[str, ExamPerson], places: Mapping[str, ExamPlace]) -> KnownFact:
    """A text alone is a fact of the asker, from their direct messages."""
    if not entry.is_mapping:
        fact, where = KnownFact(asker, DM, entry.text(2_000)), entry
    else:
        fields = entry.fields(("of", "in", "text"), "text: My boat is called Vermilion.")
        person = _person(fields["of"], people) if "of" in fields else asker
        place = _place(fields["in"], places) if "in" in fields else DM
        _check_member(entry, person, place, places)
        where = _required(entry, fields, "text")
        fact = KnownFact(person, place, where.text(2_000))
    if has_secret(fact.text):
        where.fail(texts.NEVER_STORED)
    return fact


def _document(entry: _Field, asked_in: str, places: Mapping[str, ExamPlace]) -> KnownDocument:
    fields = entry.fields(("in", "name", "text"), "name: handbook.md")
    place = _place(fields["in"], places) if "in" in fields else asked_in
    name = " ".join(_required(entry, fields, "name").text(200).split())
    return KnownDocument(place, name, _required(entry, fields, "text").text(MAX_RESULT))


# What must hold.


def _checks(value: _Field, tools: Collection[str]) -> tuple[Check, ...]:
    fields = value.fields(tuple(_CHECKS), "contains: Vermilion")
    checks = tuple(check for name, each in fields.items() for check in _CHECKS[name](each, tools))
    if not checks:
        value.fail(texts.NO_CHECKS)
    return checks


_Read = Callable[[_Field, Collection[str]], list[Check]]


def _each(read: Callable[[str], Check], limit: int = MAX_TEXT) -> _Read:
    return lambda value, _: [read(each.text(limit)) for each in value.one_or_more()]


def _matches(value: _Field, _: Collection[str]) -> list[Check]:
    found: list[Check] = []
    for each in value.one_or_more():
        pattern = each.text(MAX_PATTERN)
        try:
            regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            each.fail(texts.BAD_PATTERN, problem=str(error)[:200])
        found.append(Matches(pattern))
    return found


def _cites(value: _Field, _: Collection[str]) -> list[Check]:
    if not value.is_list and value.text() == "true":
        return [Cites("")]
    return [Cites(each.text()) for each in value.one_or_more()]


def _calls(value: _Field, tools: Collection[str]) -> list[Check]:
    found: list[Check] = []
    for each in value.one_or_more():
        arguments: Mapping[str, Json] = {}
        name = each
        if each.is_mapping:
            fields = each.fields(("tool", "with"), "tool: get_weather")
            name = _required(each, fields, "tool")
            if "with" in fields:
                arguments = {key: part.json() for key, part in fields["with"].mapping("city: Hamburg").items()}
        found.append(CallsTool(_tool(name, tools), arguments))
    return found


def _tool(value: _Field, tools: Collection[str]) -> str:
    """A tool of a server has a dot in its name; which ones there are is known only when the bot is open."""
    name = value.text(200)
    if name not in tools and "." not in name:
        close = get_close_matches(name, tools, n=1)
        hint = f" {texts.DID_YOU_MEAN.format(name=close[0])}" if close else ""
        value.fail(texts.NO_SUCH_TOOL + hint.replace("{", "{{").replace("}", "}}"), name=name)
    return name


def _no_tool(check: type[CallsNot] | type[RunsNot]) -> _Read:
    def read(value: _Field, tools: Collection[str]) -> list[Check]:
        if not value.is_list and value.text(200) == ANY_TOOL:
            return [check("")]
        return [check(_tool(each, tools)) for each in value.one_or_more()]

    return read


def _dollars(value: _Field, _: Collection[str]) -> list[Check]:
    return [CostsAtMost(Money(round(value.number(0, 1_000) * NANO)))]


_CHECKS: Final[Mapping[str, _Read]] = {
    "contains": _each(lambda text: Contains((text,))),
    "contains_any": lambda value, _: [Contains(tuple(each.text() for each in value.one_or_more()))],
    "does_not_contain": _each(ContainsNot),
    "matches": _matches,
    "cites": _cites,
    "calls": _calls,
    "does_not_call": _no_tool(CallsNot),
    "does_not_run": _no_tool(RunsNot),
    "refuses": lambda value, _: [Refuses(value.flag())],
    "costs_at_most": _dollars,
    "within_seconds": lambda value, _: [WithinSeconds(value.number(0.1, 3_600))],
    "remembers": _each(Remembers),
    "does_not_remember": _each(RemembersNot),
    "does_not_reveal": _each(RevealsNot),
    "judged": _each(Judged),
}
CHECK_FIELDS: Final = tuple(_CHECKS)
