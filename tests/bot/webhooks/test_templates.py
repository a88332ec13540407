"""A template reads the fields of a payload, whatever is in them, and can neither take long nor do anything else."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.messages import Json
from bot.webhooks.templates import FILTERS, MAX_OUTPUT, TemplateFailed, compiled, trimmed

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)
SECOND = 1.0  # A hundred times what it takes


def rendered(template: str, payload: Json) -> str:
    return compiled(template).render({"payload": trimmed(payload), "event": ""})


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ payload.name }} is {{ payload.state|upper }}", "api is DOWN"),
        ("{{ payload.missing.more[3].still }}", ""),
        ("{{ payload.missing|default(payload.name) }}", "api"),
        ("{{ payload.empty|default('none') }} {{ payload.null|default('none') }}", "none none"),
        ("{% for one in payload.list %}{{ one.n }};{% endfor %}", "1;2;"),
        ("{% for name, value in payload.labels|items %}{{ name }}={{ value }} {% endfor %}", "a=1 b=true"),
        ("{{ payload.list|length }} {{ payload.words|join('/') }}", "2 x/y"),
        ("{% if payload.state == 'down' and payload.number > 3 %}yes{% endif %}", "yes"),
        ("{{ payload['items'][0] }}", "z"),
        ("{{ payload.url|url }}", "https://a.example/b_c?d=e&f=*"),
        ("{{ payload.name|code }} **{{ payload.name }}**", "`api` **api**"),
        ("{% set x = payload.name %}{{ x ~ '!' }}", "api!"),
    ],
)
def test_a_template_reads_fields(template: str, shown: str) -> None:
    payload: Json = {
        "name": "api",
        "state": "down",
        "number": 4,
        "empty": "",
        "null": None,
        "list": [{"n": 1}, {"n": 2}],
        "labels": {"a": 1, "b": True},
        "words": ["x", "y"],
        "items": ["z"],
        "url": "https://a.example/b_c?d=e&f=*",
    }
    assert rendered(template, payload) == shown


@pytest.mark.parametrize(
    "template",
    [
        "{{ range(3) }}",
        "{{ payload.name.upper() }}",
        "{{ payload.name.format(1) }}",
        "{{ lipsum() }}",
        "{{ payload|attr('keys') }}",
        "{{ payload|map(attribute='x')|list }}",
        "{{ 'a' * 9 }}",
        "{{ 9 ** 9 }}",
        "{{ '%99999d' % 1 }}",
        "{% macro m() %}{% endmacro %}",
        "{% include 'secrets' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% for x in payload recursive %}{% endfor %}",
        "{% set ns.x = 1 %}",
        "{% filter upper %}x{% endfilter %}",
        "{% block x %}{% endblock %}",
        "{{ x is callable }}",
        "{{",
        "x" * 8_001,
        "{{ " + "(" * 4_000 + "1" + ")" * 3_000 + " }}",
        "{{ payload" + ".a" * 3_900 + " }}",
        "{{ payload|_looped }}",
    ],
)
def test_what_a_template_may_not_hold_is_refused(template: str) -> None:
    with pytest.raises(TemplateFailed, match=r"."):
        rendered(template, {"name": "api"})


@pytest.mark.parametrize(
    "template",
    [
        "{{ payload.__class__ }}{{ payload.name.__class__ }}{{ ''.__class__ }}{{ payload.list.__len__ }}",
        "{{ payload['__class__'] }}{{ payload.keys }}{{ payload.name.join }}{{ payload.list.append }}",
        "{{ payload.__init__.__globals__.os.environ }}",
        "{{ environment }}{{ config }}{{ secrets }}{{ loop }}{{ self.x }}",
    ],
)
def test_no_attribute_of_a_value_is_reached(template: str) -> None:
    assert rendered(template, {"name": "api", "list": [1]}) == ""


MARKDOWN = MarkdownIt("commonmark")


@given(st.text(max_size=60))
def test_what_a_payload_holds_is_shown_as_it_is(text: str) -> None:
    """Rendered as Markdown, it is one paragraph of exactly this text."""
    shown = rendered("x {{ payload.text }} x", {"text": text})
    tokens = MARKDOWN.parse(shown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children).split() == f"x {text} x".split()


@pytest.mark.parametrize(
    "text", ["<!channel>", "<@U0123>", "[click](https://evil.example)", "# big", "`x`", "a\n\n- b"]
)
def test_a_payload_mentions_and_links_nobody(text: str) -> None:
    shown = rendered("{{ payload.text }}", {"text": text})
    assert shown.count("\n") == 0
    assert "<!" not in shown.replace("\\<!", "")
    assert "](" not in shown.replace("\\](", "")


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://a.example/ <!channel>", "https://a.example/)[x](y", "https://a.example\n@x", ""],
)
def test_what_is_no_address_is_no_link(url: str) -> None:
    shown = rendered("{{ payload.url|url }}", {"url": url})
    assert shown == rendered("{{ payload.url }}", {"url": url})


@given(st.sampled_from([*FILTERS]), st.sampled_from(["", "(payload.b)", "(payload.b, payload.c)"]), JSON, JSON, JSON)
def test_a_filter_of_any_fields_is_filled_in_or_fails_as_a_template(
    name: str, arguments: str, a: Json, b: Json, c: Json
) -> None:
    with suppress(TemplateFailed):
        assert len(rendered(f"{{{{ payload.a|{name}{arguments} }}}}", {"a": a, "b": b, "c": c})) <= MAX_OUTPUT


def test_a_filter_takes_arguments_from_a_payload() -> None:
    payload: Json = {"a": ["x", "y"], "list": [1], "text": "api", "n": 1}
    assert rendered("{{ payload.a|join(payload.list) }} {{ payload.text|replace('a', payload.n) }}", payload) == (
        "x\\[1\\]y 1pi"
    )
    with pytest.raises(TemplateFailed, match="truncate needs a whole number"):
        rendered("{{ payload.text|truncate(payload.list) }}", payload)


@given(JSON)
def test_every_payload_is_cut_to_what_a_template_can_read(payload: Json) -> None:
    text = rendered(
        "{{ payload }}{% for x in payload.a %}{{ x }}{% endfor %}" if isinstance(payload, dict) else "", payload
    )
    assert len(text) <= MAX_OUTPUT


@pytest.mark.parametrize(
    ("template", "payload"),
    [
        ("{% for x in payload.l %}{% for y in payload.l %}{% for z in payload.l %}{% endfor %}{% endfor %}{% endfor %}",
         {"l": list(range(100_000))}),
        ("{% for x in payload.l %}{{ payload.t }}{% endfor %}", {"l": [1] * 100_000, "t": "y" * 1_000_000}),
        ("{% for x in payload.t %}x{% endfor %}", {"t": "y" * 1_000_000}),
        ("{{ payload.l|join(payload.t)|replace('y', payload.t) }}", {"l": [1] * 1_000, "t": "y" * 1_000_000}),
        ("{{ payload }}", {"d": [[["x" * 900] * 100] * 100] * 3}),
        ("{% for x in payload.l %}" * 15 + "{% endfor %}" * 15, {"l": [1] * 100}),
    ],
)  # fmt: skip
def test_the_worst_payload_takes_no_time_and_no_room(template: str, payload: Json) -> None:
    template_, began = compiled(template), time.process_time()
    with suppress(TemplateFailed):
        assert len(template_.render({"payload": trimmed(payload), "event": ""})) <= MAX_OUTPUT
    assert time.process_time() - began < SECOND


def test_a_template_is_used_again_with_all_its_steps() -> None:
    template = compiled("{% for x in payload.l %}{{ x.n }}{% endfor %}")
    payload = trimmed(json.loads(json.dumps({"l": [{"n": 1}] * 100})))
    assert len({template.render({"payload": payload, "event": ""}) for _ in range(500)}) == 1


def test_half_a_character_of_a_payload_can_be_stored() -> None:
    payload: Json = json.loads('{"a": "x\\ud800y", "\\udfff": 1}')
    assert rendered("{{ payload.a }} {{ payload }}", payload).encode()
