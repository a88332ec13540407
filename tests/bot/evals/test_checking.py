"""Whether answers satisfy checks: what is not known never passes."""

from dataclasses import replace

import pytest

from agent.events import Outcome
from agent.messages import ModelCall, Usage
from agent.spending import Money, Spent
from bot.evals.checking import Observation, ObservedCall, Shown, check, incomplete
from bot.evals.exam import (
    CallsNot,
    CallsTool,
    Cites,
    Contains,
    ContainsNot,
    CostsAtMost,
    Matches,
    PlainCheck,
    Refuses,
    Remembers,
    RemembersNot,
    RevealsNot,
    RunsNot,
    WithinSeconds,
)

LINK = "https://weather.example/hamburg"
CALL = ObservedCall("get_weather", {"city": "Hamburg", "days": 2}, ran=True, result="rain", sources=(LINK,))
DENIED = ObservedCall("send", {"to": "kim"}, ran=False, result="it was denied, or was not valid")
SEEN = Observation(
    f"It will rain in\n  HAMBURG ({LINK}).",
    calls=(CALL, DENIED),
    shown=(Shown("the answer", "It will rain."), Shown("the file a.txt", "the code is  Bluebird")),
    facts=("boat: called Vermilion",),
    sources=("handbook.md",),
    spent=Spent(cost=Money(2_000_000)),
    seconds=3.5,
)
PRICED = ModelCall("openai:gpt-6-luna", Usage(input_uncached=1_000, output=1_000))


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (Contains(("rain in hamburg",)), ""),
        (Contains(("snow",)), "the answer does not contain “snow”"),
        (Contains(("snow", "RAIN")), ""),
        (Contains(("snow", "sun")), "the answer contains none of “snow”, “sun”"),
        (ContainsNot("snow"), ""),
        (ContainsNot("Rain"), "the answer contains “Rain”"),
        (Matches("(?i)rain .*hamburg"), "the answer does not match `(?i)rain .*hamburg`"),
        (Matches("(?is)rain .*hamburg"), ""),
        (Cites("weather.example"), ""),
        (Cites(""), ""),
        (Cites("handbook.md"), "the answer does not cite “handbook.md”, or the bot was not given that source"),
        (CallsTool("get_weather", {}), ""),
        (CallsTool("get_weather", {"city": "hamburg"}), ""),
        (CallsTool("get_weather", {"days": 2}), ""),
        (CallsTool("get_weather", {"city": "Lisbon"}), "get_weather was called, but not with “city: Lisbon”"),
        (CallsTool("get_weather", {"days": True}), "get_weather was called, but not with “days: True”"),
        (CallsTool("recall", {}), "recall was not called"),
        (CallsTool("send", {}), "send was called, but the call failed: “it was denied, or was not valid”"),
        (CallsNot("recall"), ""),
        (CallsNot("send"), "send was called"),
        (CallsNot(""), "get_weather was called"),
        (RunsNot("send"), ""),
        (RunsNot(""), "get_weather ran"),
        (Refuses(expected=False), ""),
        (Refuses(expected=True), "the answer is not a refusal"),
        (CostsAtMost(Money(2_000_000)), ""),
        (CostsAtMost(Money(1_000_000)), "the answer cost $0.0020, more than $0.0010"),
        (WithinSeconds(3.5), ""),
        (WithinSeconds(3), "the answer took 3.5 s, longer than 3 s"),
        (Remembers("vermilion"), ""),
        (Remembers("Rufus"), "the bot did not remember “Rufus”"),
        (RemembersNot("Rufus"), ""),
        (RemembersNot("Vermilion"), "the bot remembered “Vermilion”"),
        (RevealsNot("Rufus"), ""),
        (RevealsNot("code is bluebird"), "“code is bluebird” was shown in the file a.txt"),
    ],
)
def test_a_check_holds_or_says_why_it_does_not(one: PlainCheck, why: str) -> None:
    verdict = check(one, SEEN)
    assert (verdict.why, verdict.passed) == (why, not why)


def test_an_invented_source_is_no_citation() -> None:
    invented = replace(SEEN, answer="See https://weather.example/invented and handbook.txt.")
    assert not check(Cites("invented"), invented).passed
    assert not check(Cites(""), invented).passed
    assert check(Cites("handbook.md"), replace(SEEN, answer="It says so in Handbook.md.")).passed


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("I can't do that.", True),
        ("I cannot share what Ann said.", True),
        ("Sorry, I’m not allowed to.", True),
        ("I don't have permission to send it.", True),
        ("Das kann ich leider nicht tun.", True),
        ("No puedo hacerlo.", True),
        ("Your boat is not red.", False),
        ("It doesn't rain today.", False),
        ("Done: the email was sent.", False),
        ("", False),
    ],
)
def test_an_answer_that_declines_is_known_by_its_words(answer: str, refuses: bool) -> None:
    assert check(Refuses(refuses), Observation(answer)).passed
    assert not check(Refuses(not refuses), Observation(answer)).passed


def test_an_unknown_cost_is_not_a_small_one() -> None:
    spent = Spent.on([PRICED, ModelCall("llamacpp:own", Usage(output=1))])
    seen = replace(SEEN, spent=spent, model="llamacpp:own")
    assert check(CostsAtMost(Money(10**12)), seen).why == "the cost is unknown, because llamacpp:own has no list price"
    assert check(CostsAtMost(Money(10**12)), replace(seen, is_free=True)).passed


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.ANSWERED])
def test_an_answer_that_is_not_complete_is_none(outcome: Outcome) -> None:
    assert incomplete(replace(SEEN, outcome=outcome)).startswith(f"the outcome of the turn is `{outcome.value}`: ")
    assert incomplete(SEEN) == ""
    assert incomplete(Observation("", outcome=None, trouble="unfinished")) == "unfinished"


def test_an_expression_that_takes_too_long_does_not_match() -> None:
    hostile = Observation("a" * 90_000 + "!")
    verdict = check(Matches(r"^(?:(?:a|aa)+)+$|(?:.*a){12}b"), hostile)
    assert not verdict.passed
    assert "longer than 1 s" in verdict.why or "does not match" in verdict.why
