"""Which messages look like questions to everyone, judged by their text alone."""

import time

import pytest

from bot.chat.intake import Answer, Consider, Ignore, MessageFacts, StoreAsContext, decide
from bot.chat.open_questions import is_open_question
from tests.patience import cpu_s


@pytest.mark.parametrize(
    "text",
    [
        "How do I get into the staging server?",
        "Does anyone know the wifi password for guests",
        "Hi all, which form do we use for trips?",
        "Quick question: where is the wiki?",
        "Weiß jemand, wie man den Drucker zurücksetzt?",
        "Hallo zusammen, wo finde ich die Reiserichtlinie?",
        "kann mir jemand sagen wann der Server neu startet",
        "Quelqu'un sait où trouver le contrat ?",
        "¿Alguien sabe cómo se reinicia el servidor?",
        "Qualcuno sa dove si trova il modulo?",
        "Alguém sabe onde está o manual?",
        "Weet iemand hoe laat de winkel opent?",
        "Кто-нибудь знает, где лежит договор?",
        "誰かこのサーバーの再起動方法を知っていますか。",
        "请问怎么重启服务器？",
        "كيف أعيد تشغيل الخادم؟",
        "The build is red (again).\nWhat does error 137 mean?",
        "See https://a.example/x?y=1 for it, but which key is meant?",
    ],
)
def test_a_question_to_everyone_is_considered(text: str) -> None:
    assert is_open_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am off for lunch.",
        "lunch?",
        "Really now?",
        "<@U123> how do I get in there?",
        "@anna do you know how to get in there?",
        "Anna, how do I get into the staging server?",
        "Hey Anna, do you know the way?",
        "Peter: can you look at this one?",
        "Have you got a minute for this, Bob?",
        "> how do I get in?\nno idea, ask them?",
        "See https://a.example/x?y=1 for it.",
        "```\nassert what?\n``` fails?",
        "Wie schön das Wetter heute ist",
        "<!here> who has the keys for the car?",
        f"{'so much to tell ' * 200}?",
        "",
    ],
)
def test_other_messages_and_questions_to_a_person_are_ignored(text: str) -> None:
    assert not is_open_question(text)


def test_only_messages_outside_of_conversations_with_the_bot_are_considered() -> None:
    asked = MessageFacts("ann", to_everybody=True)
    assert decide(asked) == Consider()
    for other in (
        MessageFacts("ann", to_everybody=False),
        MessageFacts("ann", to_everybody=True, automatic=True),
        MessageFacts("ann", to_everybody=True, late=True),
        MessageFacts("ann", to_everybody=True, orders=True),
    ):
        assert decide(other) == Ignore()
    assert decide(MessageFacts("ann", to_everybody=True, mentioned=True)) == Answer()
    assert decide(MessageFacts("ann", to_everybody=True, participants={"ann", "bob"})) == StoreAsContext()


@pytest.mark.parametrize("piece", ["?", "? ", "a ", "@", ", a", "hey ", "\u304b", "jemand", "(", "> "])
def test_any_message_is_read_in_linear_time(piece: str) -> None:
    texts = [piece * (size // len(piece)) for size in (1_499, 40_000)]
    began = time.process_time()
    for text in texts:
        is_open_question(f"{text}x")
    assert time.process_time() - began < cpu_s(0.5)
