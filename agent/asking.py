"""Questions of the model to the person who asked it (the tool `ask_user`). Pure.

Rules
  A turn asks one question at a time, and few in all. It waits for the answer as for a consent: no process holds it.
  The answer is a message of the asker: their next one in the conversation, or one that a press made. It joins the turn.
  An option is the model's words until its asker chooses it. What is chosen counts as the asker's own words, unless the
  turn held words of others, which may have written the option.
"""

import re
from dataclasses import dataclass
from typing import Final

from agent.messages import UNSEEN, Consent, ToolCall

ASK_USER: Final = "ask_user"
MAX_QUESTIONS: Final = 3  # In one turn: who is asked more often wanted an answer, not a form
MAX_QUESTION_CHARS: Final = 500
MAX_OPTIONS: Final = 5  # Slack and Discord show five buttons in a row
MAX_OPTION_CHARS: Final = 75  # Of a button's label in Slack; Discord allows 80
MAX_ANSWER_CHARS: Final = 3_000  # Of one that is filled in: Slack's and Discord's windows take as much


_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """`text`: Markdown, as in an answer. `options`: lines of plain text, each once; () for an answer in words."""

    text: str
    options: tuple[str, ...] = ()

    @property
    def markdown(self) -> str:
        """What the reply shows: the question, and its options with their numbers."""
        options = [f"{number}. {option}" for number, option in enumerate(self.options, 1)]
        return "\n\n".join(filter(None, [self.text, "\n".join(options)]))


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that waits for its asker. `key`: see `agent.progress.consent_key`; `asked`: the turn's question."""

    turn: int
    key: str
    question: UserQuestion
    asked: str


def asks(call: ToolCall) -> bool:
    """Return whether the call asks the person."""
    return call.name == ASK_USER


def question_of(call: ToolCall) -> UserQuestion:
    """Return the question of a call, cleaned: without unseen characters, and each option on one line."""
    options = call.args.get("options")
    lines = [_line(option) for option in options if isinstance(option, str)] if isinstance(options, list) else []
    unique = {line.casefold(): line for line in reversed(lines) if line}
    text = _seen(str(call.args.get("question", ""))[: 4 * MAX_QUESTION_CHARS])[:MAX_QUESTION_CHARS].strip()
    return UserQuestion(text, tuple(reversed(unique.values()))[:MAX_OPTIONS])


def was_asked(call: ToolCall, consent: Consent) -> bool:
    """Return whether the question of this call was put to the person."""
    return asks(call) and consent is not Consent.NOT_NEEDED


def chosen_option(question: UserQuestion, words: str) -> str | None:
    """Return the option that these words name, by its number or its text; None if they are an answer of their own."""
    words = words.strip()
    if words.isascii() and words.isdecimal() and len(words) == 1 and 0 < int(words) <= len(question.options):
        return question.options[int(words) - 1]
    return next((option for option in question.options if option.casefold() == words.casefold()), None)


def _line(text: str) -> str:
    return " ".join(_seen(text[: 4 * MAX_OPTION_CHARS]).split())[:MAX_OPTION_CHARS]


def _seen(text: str) -> str:
    return UNSEEN.sub("", _CONTROLS.sub(" ", text))
