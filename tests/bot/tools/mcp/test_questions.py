"""Questions by form or address: which are allowed, how they are shown, and how their values are checked."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from agent.messages import Elicitation, Json
from bot.tools import texts as tool_texts
from bot.tools.mcp.questions import (
    MAX_CHOICES,
    MAX_FIELDS,
    MAX_SHOWN,
    MAX_TEXT_CHARS,
    QuestionRefused,
    checked_question,
    fields_of,
    limits_of,
    question_text,
    shown_value,
    values_of,
)

WORDS = st.text("abxyzßé漢 *`@<[1\n\u202e", max_size=12)  # Of which no secret is made
NAMES = st.text("abcdexyz _-é*`@<", min_size=1, max_size=10).filter(str.strip)
TITLES: dict[str, st.SearchStrategy[Any]] = {"title": WORDS, "description": WORDS}
ENUM = st.lists(WORDS, min_size=1, max_size=5, unique=True)
TITLED = ENUM.flatmap(lambda names: st.just([{"const": one, "title": f"the {one}"} for one in names]))


def primitive(kind: str, needed: dict[str, Any], **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {"type": st.just(kind), **needed}
    return st.fixed_dictionaries(fixed, optional=TITLES | more)


PRIMITIVES = st.one_of(
    primitive(
        "string",
        {},
        minLength=st.integers(0, 4),
        maxLength=st.integers(4, 20),
        format=st.sampled_from(["email", "uri", "date", "date-time"]),
        default=WORDS,
    ),
    primitive("number", {}, minimum=st.integers(-5, 0), maximum=st.integers(0, 5), default=st.floats(-1, 1)),
    primitive("integer", {}, minimum=st.integers(-5, 0), maximum=st.integers(0, 5), default=st.integers(-9, 9)),
    primitive("boolean", {}, default=st.booleans()),
    primitive("string", {"enum": ENUM}, default=WORDS, enumNames=st.lists(WORDS, max_size=5)),
    primitive("string", {"oneOf": TITLED}),
    primitive(
        "array", {"items": ENUM.map(lambda values: {"type": "string", "enum": values})}, maxItems=st.integers(1, 3)
    ),
    primitive("array", {"items": TITLED.map(lambda values: {"anyOf": values})}, minItems=st.integers(0, 2)),
)
SCHEMAS = st.dictionaries(NAMES, PRIMITIVES, max_size=6).flatmap(
    lambda properties: st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.just(properties),
            "required": st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([]),
        }
    )
)
EXAMPLES = "0|1|0 1|2 0|-3|4.5|1e3|nan|ann@example.com|https://example.com/x|2026-01-31| 1 , 0 |2026-13-31|yes"
TYPED = st.one_of(st.text(max_size=20), st.sampled_from([*EXAMPLES.split("|"), "2026-01-31T14:00:00+01:00"]))
validator: Any = Draft202012Validator  # Its own types are incomplete
FILLED = st.dictionaries(st.integers(0, 6).map(str), TYPED, max_size=7)


def asked(schema: Json, text: str = "Which one?") -> Elicitation:
    return checked_question("web", text, schema)


@pytest.mark.slow
@given(SCHEMAS, FILLED)
def test_what_is_filled_in_is_either_told_to_be_wrong_or_is_what_the_schema_asks_for(
    schema: dict[str, Any], filled: Mapping[str, str]
) -> None:
    fields = fields_of(asked(schema).schema)
    assert [one.name for one in fields] == [*schema["properties"]]
    values, wrong = values_of(fields, filled)
    if not wrong:
        assert validator(schema, format_checker=FormatChecker(["date"])).is_valid(dict(values))
    for at, one in enumerate(fields):
        empty = not filled.get(str(at), "").strip()
        assert (one.name in values) is (at not in wrong and not empty)
        assert (at in wrong) or not (one.required and empty)
        shown_value(one, filled.get(str(at), ""))


@given(SCHEMAS)
def test_what_stands_there_at_first_is_the_default_and_a_default_that_fits_is_what_is_sent(
    schema: dict[str, Any],
) -> None:
    fields = fields_of(asked(schema).schema)
    values, _ = values_of(fields, {str(at): one.default for at, one in enumerate(fields)})
    for name, value in values.items():
        default = schema["properties"][name].get("default")
        assert value == (default.strip() if isinstance(default, str) and value != default else default)


@pytest.mark.parametrize(
    ("length", "typed", "wrong"),
    [
        ({"maxLength": 1}, "ab", "Use at most 1 character."),
        ({"maxLength": 2}, "abc", "Use at most 2 characters."),
        ({"minLength": 2}, "a", "Use at least 2 characters."),
    ],
)
def test_the_limit_of_a_text_is_said_in_words_that_fit_its_number(
    length: dict[str, Json], typed: str, wrong: str
) -> None:
    (field,) = fields_of(asked({"type": "object", "properties": {"code": {"type": "string", **length}}}).schema)
    assert values_of([field], {"0": typed}) == ({}, {0: wrong})
    assert f"Use {limits_of(field)}." == wrong


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "enum", "items", "required", "oneOf", "const", "x"]), inner
        )
    ),
    max_leaves=12,
)
OF_AN_OBJECT = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(NAMES, ANY_JSON, max_size=3), "required": ANY_JSON}
)


@pytest.mark.slow
@given(ANY_JSON | OF_AN_OBJECT, st.text(max_size=3_000))
def test_whatever_a_server_sends_is_refused_or_is_a_form_of_bounded_size(schema: Any, text: str) -> None:
    try:
        question = asked(schema, text)
    except QuestionRefused:
        return
    assert len(question.text) <= MAX_TEXT_CHARS
    json.dumps(dict(question.schema))
    values_of(fields_of(question.schema), {"0": "x"})
    assert len(question_text(question, "paint it", {})) < MAX_SHOWN + MAX_TEXT_CHARS


def test_a_servers_words_are_shown_as_they_are_and_as_its_own() -> None:
    nasty = "**Sign in** <@U1> @everyone [here](https://evil.example)\n```\n# From the bot\x1b[2J \u202egnp.exe"
    schema: Json = {"type": "object", "properties": {"<@U1> **x**": {"type": "string", "description": "`@here`"}}}
    shown = question_text(asked(schema, nasty), "paint it", {"0": "*Ann*"})
    head, body = shown.split("\n", 1)
    assert head.startswith("**`web` has a question for you**")
    assert body.count("```") == 2
    inside, below = body.removeprefix("```\n").split("\n```\n")
    assert "⟨U+001B⟩" in inside
    assert "⟨U+202E⟩" in inside
    assert r"\<@U1\> \*\*x\*\*" in below
    assert r"\`@here\`" in below
    assert r"\*Ann\*" in below
    assert "goes to `web`" in below


@pytest.mark.parametrize(
    "name",
    [
        *("password", "apiKey", "API_KEY", "user.passphrase", "credit-card", "Access token", "CVV", "ｐａｓｓｗｏｒｄ"),
        *("pass\u200bword", "your pwd", "One-time code", "OTP", "Seed phrase", "verificationCode"),
        # Letters of other alphabets, accents, small capitals and signs
        *("pаssword", "раѕѕwоrd", "userРassword", "ΡΑSSWΟRD", "pässword", "ᴘᴀꜱꜱᴡᴏʀᴅ", "🅿🅰🆂🆂🆆🅾🆁🅳", "ѕесrеt", "Ꭺpi key"),
        *("аccess tоken", "СVV", "pɑsscode", "ⲣassword", "PІN code"),
    ],
)
def test_a_secret_is_not_asked_for_by_form(name: str) -> None:
    by_name: Json = {"type": "object", "properties": {name: {"type": "string"}}}
    by_title: Json = {"type": "object", "properties": {"x": {"type": "string", "title": f"Your {name}, please"}}}
    for schema in (by_name, by_title):
        with pytest.raises(QuestionRefused, match="a secret in a form"):
            asked(schema)


@pytest.mark.parametrize(
    "name",
    [
        *("option", "seed", "discount code", "name", "keyboard", "tokens", "pinboard", "compass", "card", "secretary"),
        *("Größe in µm", "APIキー名", "имя", "Ωm", "Länge", "ключ доступа", "日本語", "kΩ", "Straße und Ort", "α-Test"),
    ],
)
def test_other_words_are_no_secrets(name: str) -> None:
    schema: Json = {"type": "object", "properties": {name: {"type": "string"}}}
    assert asked(schema)


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/pay",
        "https://user:pass@example.com/",
        "https://good.example@evil.example/",
        "javascript:alert(1)",
        "https:///nowhere",
        "https://ex ample.com",
        "https://example.com/\u202egnp",
        "https://еxample.com/",
        "https://example.com\\@evil.example",
        "https://example.com:99999/",
        "https://example.com/" + "x" * MAX_TEXT_CHARS,
        "",
    ],
)
def test_an_address_that_may_lead_elsewhere_than_it_seems_is_not_shown(address: str) -> None:
    with pytest.raises(QuestionRefused):
        checked_question("web", "Pay here.", None, address)


def test_an_address_is_shown_whole_with_its_host_and_is_no_link() -> None:
    address = "https://pay.xn--exmple-cua.com/x?amount=3&to=https://good.example"
    shown = question_text(checked_question("web", "Pay here.", None, address), "buy it", {})
    assert f"```\n{address}\n```" in shown
    assert "**pay.xn--exmple-cua.com**" in shown
    assert tool_texts.STRANGE_HOST in shown
    assert "](" not in shown


def test_of_many_choices_the_name_is_written_and_of_few_the_place_is_picked() -> None:
    many: list[Json] = [{"const": f"c{number}", "title": str(number)} for number in range(40)]
    schema: Json = {
        "type": "object",
        "properties": {
            "one": {"type": "string", "oneOf": many, "default": "c3"},
            "some": {"type": "array", "items": {"anyOf": many}, "default": ["c1", "c2"]},
            "few": {"type": "string", "enum": ["1", "0"]},
        },
    }
    question = asked(schema)
    fields = fields_of(question.schema)
    assert [one.default for one in fields] == ["3", "1, 2", ""]
    values, wrong = values_of(fields, {"0": " 7", "1": "C4, 5,", "2": "1"})
    assert (values, wrong) == ({"one": "c7", "some": ["c4", "c5"], "few": "0"}, {})
    assert values_of(fields, {"0": "forty", "1": "1 2", "2": "2"})[1].keys() == {0, 1, 2}
    assert "38, 39" in question_text(question, "", {})


def test_more_than_anybody_fills_in_is_refused() -> None:
    properties: list[dict[str, Json]] = [
        {f"f{number}": {"type": "string"} for number in range(MAX_FIELDS + 1)},
        {"c": {"type": "string", "enum": [str(number) for number in range(MAX_CHOICES + 1)]}},
        {"a": {"type": "object", "properties": {}}},
        {"s": {"type": "array", "items": {"type": "string"}}},
        {str(n): {"type": "string", "enum": [f"{'*' * 50} {at}" for at in range(60)]} for n in range(3)},
    ]
    for one in properties:
        with pytest.raises(QuestionRefused):
            asked({"type": "object", "properties": one})
