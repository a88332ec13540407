"""Which messages are orders."""

from dataclasses import replace

import pytest

from agent.messages import JsonObject
from bot.chat.commands.declaration import CommandMeant, command_named
from bot.commands import COMMANDS
from bot.platforms.slack.inbound import SlackBot, SlackMessage, read_event
from bot.platforms.slack.intake import (
    AskPrivately,
    MistypedOrder,
    Order,
    read_order,
    says_stop,
    without_ask,
)

ME = SlackBot("T1", "UBOT", "BBOT", name="cogency")


def meant(name: str, words: str = "") -> CommandMeant:
    command = command_named(name, COMMANDS)
    assert command is not None
    return CommandMeant(command, words)


def heard(words: str) -> SlackMessage:
    event: JsonObject = {"type": "app_mention", "user": "U1", "text": words, "channel": "C1", "ts": "1700000000.0001"}
    body: JsonObject = {"event_id": "Ev1", "event": {**event}}
    read = read_event(body, ME)
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("written", "ordered"),
    [
        ("<@UBOT> memory", meant("memory")),
        ("<@UBOT> Memory delete 3", meant("memory", "delete 3")),
        ("<@UBOT> memory is a strange thing", None),
        ("<@UBOT> what is memory", None),
        ("<@UBOT> Usage.", meant("usage")),
        ("<@UBOT> show my usage", meant("usage")),
        ("<@UBOT> model?", meant("model")),
        ("<@UBOT> /model `ollama:small`", meant("model", "`ollama:small`")),
        ("<@UBOT> model your answer on this", None),
        ("<@UBOT>", None),
        ("<@UBOT> policy", meant("policy")),
        ("<@UBOT> policy set budget: 5 EUR", meant("policy", "set budget: 5 EUR")),
        ("<@UBOT> policy makers are slow", None),
        ("<@UBOT> Help!", meant("help")),
        ("<@UBOT> help me with this", None),
        ("<@UBOT> /ask", meant("help")),
        ("<@UBOT> /ask why?", None),
        ("<@UBOT> /ask privately why?", AskPrivately("why?")),
        ("<@UBOT> ask privately: deep: why?", AskPrivately("deep: why?")),
        ("<@UBOT> ask Bob privately", None),
        ("<@UBOT> /policy of trade", meant("policy", "of trade")),
        ("<@UBOT> /memory nonsense", meant("memory", "nonsense")),
        ("<@UBOT> /memmory delete 3", MistypedOrder("memmory", "memory")),
        ("<@UBOT> Usage?", meant("usage")),
        ("<@UBOT> policies?", meant("policy")),
        ("<@UBOT> /usgae", MistypedOrder("usgae", "usage")),
        ("<@UBOT> ask privatly what I earn", MistypedOrder("ask privatly", "ask privately")),
        ("<@UBOT> /ask privatley: why?", MistypedOrder("ask privatley", "ask privately")),
        ("<@UBOT> /etc/hosts is empty", None),
        ("<@UBOT> /var is full", None),
        ("<@UBOT> / is a slash", None),
        ("<@UBOT> /sotp", MistypedOrder("sotp", "stop")),
        ("<@UBOT> /shop is closed", None),
    ],
)
def test_an_order_is_the_whole_message(written: str, ordered: Order | None) -> None:
    assert read_order(heard(written), ME) == ordered


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("<@UBOT> forget this thread", "this thread"),
        ("<@UBOT>: Forget   everything!", "everything!"),
        ("<@UBOT> /forget", ""),
        ("forget 2 hours.", "2 hours."),
        ("forget about Apollo", "about Apollo"),
        ("<@UBOT> forget it", None),
        ("forget about it", None),
        ("forget this thread, what about memory?", None),
        ("forgetting is human", None),
    ],
)
def test_a_message_asks_to_forget_only_if_it_says_no_more_than_that(written: str, words: str | None) -> None:
    assert read_order(heard(written), ME) == (None if words is None else meant("forget", words))


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("<@UBOT> forgt everything", "forget everything"),
        ("<@UBOT> Froget about Apollo!", "forget about Apollo"),
        ("delete everything?", "forget everything"),
        ("erase  2 hours", "forget 2 hours"),
        ("<@UBOT> delete the second line", None),
        ("<@UBOT> forgot to ask: why?", None),
        ("<@UBOT> delete", None),
    ],
)
def test_what_nearly_asks_to_forget_is_asked_back_and_not_answered(written: str, near: str | None) -> None:
    assert read_order(heard(written), ME) == (None if near is None else MistypedOrder("", near))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("budget", ""),
        ("Budget everyone", "everyone"),
        ("/budget <@U7|bob> exempt", "person:slack:T1:U7 exempt"),
        ("budget <#C1> $20", "channel:C1 $20"),
        ("budget for next year?", None),
        ("what is my budget", None),
        ("budgets", None),
    ],
)
def test_only_a_request_after_the_word_budget_is_one(written: str, words: str | None) -> None:
    assert read_order(heard(f"<@UBOT> {written}"), ME) == (None if words is None else meant("budget", words))


def test_the_word_stop_is_no_question() -> None:
    assert says_stop(heard("<@UBOT> /stop"), ME)
    assert not says_stop(heard("<@UBOT> stop what?"), ME)


def test_the_prefix_of_the_commands_may_be_written_too() -> None:
    mine = replace(ME, prefix="my-")
    assert read_order(heard("<@UBOT> /my-usage"), mine) == meant("usage")
    assert read_order(heard("<@UBOT> /my-usgae"), mine) == MistypedOrder("usgae", "usage")
    assert says_stop(heard("<@UBOT> /my-stop"), mine)
    assert without_ask("/my-ask why?", mine) == "why?"


def test_ask_before_a_question_is_no_part_of_it() -> None:
    assert without_ask(" /Ask why? ", ME) == "why?"
    assert without_ask("ask Bob why", ME) == "ask Bob why"
