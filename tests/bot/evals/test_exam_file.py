"""Reading an exam: strictly, with the line and the field of each mistake."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.errors import SettingsError
from agent.ports.tools import ToolEffect
from agent.spending import NANO
from bot.app.evaluation import OWN_TOOLS
from bot.evals.exam import (
    DM,
    CallsNot,
    CallsTool,
    CannedAnswer,
    Cites,
    Contains,
    CostsAtMost,
    Exam,
    Judged,
    KnownFact,
    Matches,
    Refuses,
    Said,
    WithinSeconds,
)
from bot.evals.exam_file import CHECK_FIELDS, MAX_DEPTH, QUESTION_FIELDS, read_exam
from bot.evals.report import check_name
from bot.evals.starter import starter_text
from tests.examples import examples

WHOLE = """\
judge: openai:gpt-6-luna
threshold: 90
repeat: 3
people:
  ann: {role: manager, name: Ann Archer, time_zone: Europe/Berlin}
  ben:
places:
  general:
  plans: {members: [ann]}
tools:
  get_weather:
    description: Return the weather.
    arguments: {city: string, days: optional integer}
    answers:
      - {when: {city: Hamburg, days: 2}, result: rain}
      - error: no such city
  send:
    description: Send it.
    effect: acts
    answers: [{result: sent}]
questions:
  - name: weather
    group: tools
    from: ben
    in: general
    approve: true
    before:
      - "@Cogency the boat is called Vermilion."
      - {from: ann, in: plans, thread: a, say: "@Cogency hello"}
    memory: [{of: ann, text: "My boat is red."}]
    documents: [{name: handbook.md, text: Refunds take 14 days.}]
    ask: What is the weather?
    expect:
      contains: [rain, 12]
      contains_any: [yes, no]
      matches: "^[A-Z]"
      cites: true
      calls: {tool: get_weather, with: {city: Hamburg}}
      does_not_call: any
      refuses: false
      costs_at_most: 0.01
      within_seconds: 20
      judged: The answer is polite.
"""


def exam(text: str) -> Exam:
    return read_exam(text, "exam.yaml", OWN_TOOLS)


def test_a_whole_file_is_read_as_it_is_written() -> None:
    read = exam(WHOLE)
    assert (read.name, read.judge, read.repeat, read.threshold) == ("exam.yaml", "openai:gpt-6-luna", 3, 0.9)
    (question,) = read.questions
    ann = question.people["ann"]
    assert (ann.name, ann.authority, ann.time_zone) == ("Ann Archer", Authority.MANAGER, "Europe/Berlin")
    assert question.places["plans"].members == {"ann"}
    assert question.places["general"].members is None
    weather, send = question.tools
    assert weather.answers == (
        CannedAnswer({"city": "Hamburg", "days": 2}, "rain"),
        CannedAnswer({}, failure="no such city"),
    )
    assert weather.arguments["required"] == ["city"]
    assert (weather.effect, send.effect) == (ToolEffect.READS, ToolEffect.ACTS_OUTWARD)
    assert question.before == (
        Said("ben", "general", "@Cogency the boat is called Vermilion."),
        Said("ann", "plans", "@Cogency hello", "a"),
    )
    assert question.memory == (KnownFact("ann", DM, "My boat is red."),)
    assert question.approves
    assert question.checks == (
        *(Contains(("rain",)), Contains(("12",)), Contains(("yes", "no"))),
        Matches("^[A-Z]"),
        Cites(""),
        CallsTool("get_weather", {"city": "Hamburg"}),
        CallsNot(""),
        Refuses(expected=False),
        CostsAtMost(NANO // 100),  # pyright: ignore[reportArgumentType] -- the type is only a name
        WithinSeconds(20.0),
        Judged("The answer is polite."),
    )


def test_a_file_without_people_and_places_has_two_people_and_a_public_channel() -> None:
    (question,) = exam("questions: [{name: a, ask: Hello, expect: {contains: hi}}]").questions
    assert (question.person, question.place) == ("ann", DM)
    assert (set(question.people), set(question.places)) == ({"ann", "ben"}, {"general"})


def test_the_starter_file_has_forty_questions_of_four_kinds_and_needs_no_judge() -> None:
    read = exam(starter_text())
    assert len(read.questions) == 40
    assert {question.group for question in read.questions} == {"memory", "audience", "tools", "refusal"}
    assert not any(question.is_judged for question in read.questions)


def test_each_check_has_one_field_in_the_file() -> None:
    for question in exam(WHOLE).questions + exam(starter_text()).questions:
        assert {check_name(check) for check in question.checks} <= set(CHECK_FIELDS)


def asking(fields: str) -> str:
    return f"questions:\n  - name: a\n    ask: Hello\n{fields}"


EXPECT = "    expect: {contains: hi}\n"
TOOL = "description: x, answers: [{result: y}]"
NO_CHARACTERS = ("\\ud800", "\\U00110000", "\\UFFFFFFFF")  # As escapes
KNOWN = f"Known fields: {', '.join(QUESTION_FIELDS)}."


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("", 1, "the file has no questions"),
        ("- a", 1, "the file must be a mapping"),
        ("questions: []", 1, "the file has no questions"),
        ("questions: {}", 1, "questions must be a list"),
        ("question: []", 1, "question is not a known field. Did you mean `questions`?"),
        (asking("    zzz: 1\n"), 4, f"questions[1].zzz is not a known field. {KNOWN}"),
        (asking("    expects: {}\n"), 4, "questions[1].expects is not a known field. Did you mean `expect`?"),
        (asking("    ask: again\n"), 4, "questions[1].ask is set twice."),
        (asking(""), 2, "questions[1].expect is missing."),
        (asking("    expect: {}\n"), 4, "questions[1].expect has no checks."),
        (asking("    expect: {contain: hi}\n"), 4, "questions[1].expect.contain is not a known field."),
        (asking("    expect:\n      contains: ['hi', '']\n"), 5, "questions[1].expect.contains[2] is empty."),
        (asking("    expect:\n      contains: {a: b}\n"), 5, "questions[1].expect.contains must be text."),
        (asking("    expect: {matches: '('}\n"), 4, "questions[1].expect.matches is not a valid regular expression"),
        (asking("    expect: {calls: rekall}\n"), 4, "Did you mean `recall`?"),
        (asking("    expect: {does_not_call: zzz}\n"), 4, "names `zzz`, which is neither a tool in this file"),
        (asking("    expect: {refuses: maybe}\n"), 4, "questions[1].expect.refuses must be `true` or `false`."),
        (asking("    expect: {costs_at_most: -1}\n"), 4, "must be a number from 0 to 1000."),
        (asking("    expect: {within_seconds: nan}\n"), 4, "must be a number from 0.1 to 3600."),
        (asking(f"{EXPECT}    from: cleo\n"), 5, "questions[1].from names `cleo`, who is not in `people` (ann, ben)."),
        (asking(f"{EXPECT}    in: plans\n"), 5, "questions[1].in names `plans`, which is not in `places`"),
        (
            asking(f"{EXPECT}    from: ben\n    in: plans\n    places: {{plans: {{members: [ann]}}}}\n"),
            6,
            "questions[1].in: `ben` is not a member of `plans`.",
        ),
        (asking(f"{EXPECT}    people: {{Ann B: {{}}}}\n"), 5, "must be a name of up to 60 lowercase letters"),
        (
            asking(f"{EXPECT}    places: {{dm: {{}}}}\n"),
            5,
            "questions[1].places.dm cannot be called `dm`, because this name is reserved.",
        ),
        (
            asking(f"{EXPECT}    tools: {{recall: {{}}}}\n"),
            5,
            "questions[1].tools.recall cannot be called `recall`, because this name is reserved.",
        ),
        (
            asking(f"{EXPECT}    tools: {{a: {{description: x, answers: [{{}}]}}}}\n"),
            5,
            "questions[1].tools.a.answers[1] needs either a `result` or an `error`.",
        ),
        (
            asking(f"{EXPECT}    tools: {{a: {{{TOOL}, arguments: {{b: text}}}}}}\n"),
            5,
            "questions[1].tools.a.arguments.b must be one of `boolean`, `integer`, `number`, `string`.",
        ),
        (
            asking(f"{EXPECT}    tools: {{a: {{{TOOL}, arguments: {{b: {{type: 7}}}}}}}}\n"),
            5,
            "questions[1].tools.a.arguments.b is not a valid JSON Schema",
        ),
        (asking(f"{EXPECT}    memory: ['My password is hunter2-Xk9.']\n"), 5, "looks like a secret"),
        (asking(f"{EXPECT}    before: [{{in: general, say: hello}}]\n"), 5, "does not mention the bot"),
        (asking(f"{EXPECT}  - name: a\n    ask: Hi\n{EXPECT}"), 5, "another question called `a` on line 2"),
        ("questions: &a []\n", 1, "YAML anchors and aliases are not supported."),
        ("questions: *a\n", 1, "YAML anchors and aliases are not supported."),
        ("questions: !!python/object:os.system {}\n", 1, "YAML tags such as tag:yaml.org,2002:python/object:os.system"),
        ("questions: [\n", 2, "this is not valid YAML"),
        ("a: b: c\n", 1, "this is not valid YAML"),
        ("questions: \x00", 1, "the file contains a character that YAML does not allow."),
        *((f'a: 1\nb: "{escape}"\n', 2, "does not represent a character") for escape in NO_CHARACTERS),
        ("[" * (MAX_DEPTH + 1), 1, f"mappings and lists are nested more than {MAX_DEPTH} levels deep."),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line_and_its_field(text: str, line: int, sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        exam(text)
    assert str(raised.value).startswith(f"exam.yaml, line {line}: ")
    assert sentence in str(raised.value)


def test_a_bomb_of_aliases_is_refused_at_its_first_anchor() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{one}: &{one} [*{two}, *{two}]\n" for one, two in ["ba", "cb", "dc", "ed"])
    with pytest.raises(SettingsError, match="line 1: YAML anchors"):
        exam(bomb)


@given(st.text(max_size=200) | st.text("[]{}:-,&*!|>'\"# \nquestions expect name ask", max_size=200))
@settings(max_examples=examples(500), deadline=None)
def test_any_text_is_an_exam_or_a_sentence_with_a_line(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^exam\.yaml, line \d+: .*\.$"):
        exam(text)
