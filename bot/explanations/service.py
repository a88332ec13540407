"""What an answer was drawn from, for its asker alone.

Rules
  Only the asker is shown it, and this is checked at each press. It is shown where only they read.
  Each entry is shown only if its own audience may be shown to them now: what was said in a group that they have left is
  only counted. Of other people's messages the day and the link are shown, and no words.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.errors import Refused
from agent.explanations import Grounds, UsedFact, UsedMessage, UsedModel, UsedTool
from agent.memory.audience import Place, may_be_used
from agent.ports.explanations import Explanations
from agent.ports.tools import Asker
from agent.shown_replies import Answered
from agent.spending import NANO
from bot.chat.panels import Panel
from bot.chat.texts.formatting import counted, literal, shortened
from bot.explanations import texts

TEXT_CHARS: Final = 120  # Of an entry: who wants all of it follows the link
NUMBER_DIGITS: Final = 18
LISTED: Final = 8  # Entries of each kind: all of a panel fit into one message

Audiences = Callable[[Place], Awaitable[frozenset[str]]]


@dataclass(frozen=True, slots=True)
class ExplanationService:
    """`audiences`: returns the labels of the audiences that may be shown at a place. Every method raises StoreError."""

    explanations: Explanations
    audiences: Audiences

    async def answer(self, asker: Asker, private: Asker, words: str) -> Panel:
        """Return what the meant answer was drawn from. `asker`: where they are; `private`: where only they read.

        Raises Refused if there is no such answer, or if it answers somebody else.
        """
        if words and not (words.isascii() and words.isdecimal() and len(words) <= NUMBER_DIGITS):
            raise Refused(texts.WHICH_ANSWER)
        reply = await self._reply(asker, words)
        grounds = await self.explanations.grounds(reply.turn)
        if grounds is None:
            raise Refused(texts.NO_ANSWER)
        return Panel(explained(grounds, await self.audiences(private.place), asker.person.id))

    async def _reply(self, asker: Asker, words: str) -> Answered:
        if words:
            reply = await self.explanations.reply(int(words))
        else:
            reply = await self.explanations.newest(asker.person.id, asker.channel)
        if reply is None:
            raise Refused(texts.NO_ANSWER)
        if reply.person != asker.person.id:
            raise Refused(texts.WHY_NOT_YOURS)
        return reply


def explained(grounds: Grounds, audiences: frozenset[str], person: str) -> str:
    """Return the explanation for this person, who may now be shown these audiences. Pure."""
    facts = [one for one in grounds.facts if one.audience in audiences and one.person in ("", person)]
    messages = [one for one in grounds.messages if may_be_used(one.audience, one.drawn_from, audiences, here=False)]
    documents = [one for one in grounds.documents if one.audience in audiences]
    shown = len(facts) + len(messages) + len(documents)
    hidden = len(grounds.facts) + len(grounds.messages) + len(grounds.documents) - shown
    found = [_message(one, person) for one in messages if one.given]
    behind = [_message(one, person) for one in messages if not one.given]
    named = [
        texts.DOCUMENT.format(name=literal(shortened(one.name, TEXT_CHARS)), source=_source(one.time, one.link))
        for one in documents
    ]
    parts = [
        texts.HEAD,
        _models(grounds.models, grounds.asked_model),
        _list(texts.FACTS, [_fact(one) for one in facts]),
        _list(texts.FOUND, found),
        _list(texts.BEHIND, behind, grounds.more),
        _list(texts.DOCUMENTS, named),
        _list(texts.TOOLS, [_tool(one) for one in grounds.tools]),
        "" if shown or hidden or grounds.tools or grounds.gone else texts.ONLY_HERE,
        "\n".join(_counts(grounds, hidden)),
    ]
    return "\n\n".join(filter(None, parts))


def _counts(grounds: Grounds, hidden: int) -> Iterable[str]:
    if grounds.gone:
        have = "has" if grounds.gone == 1 else "have"
        yield texts.GONE.format(count=counted(grounds.gone, "entry", "entries"), have=have)
    if hidden:
        are = "is" if hidden == 1 else "are"
        yield texts.HIDDEN.format(count=counted(hidden, "entry", "entries"), are=are)
    if grounds.here:
        yield texts.HERE.format(count=counted(grounds.here, "earlier message", "earlier messages"))


def _list(head: str, lines: Sequence[str], more: int = 0) -> str:
    """The newest of these lines, newest first."""
    shown, rest = [*reversed(lines)][:LISTED], max(0, len(lines) - LISTED) + more
    return "\n".join([head, *shown, *([texts.MORE.format(count=rest)] if rest else [])]) if shown else ""


def _models(models: Sequence[UsedModel], asked: str) -> str:
    used = [
        texts.MODEL_CALLS.format(
            model=one.name,
            calls=counted(one.calls, "call", "calls"),
            cost="" if one.cost is None else texts.MODEL_COST.format(dollars=one.cost / NANO),
        )
        for one in models
    ]
    line = texts.MODEL.format(models=", ".join(used)) if used else texts.NO_MODEL
    is_fallback = bool(asked and models) and models[-1].name != asked
    return f"{line}. {texts.FALLBACK.format(asked=asked)}" if is_fallback else line


def _fact(used: UsedFact) -> str:
    source = _source(used.time, used.link)
    source = source if used.is_valid else f"{source}, {texts.REPLACED}"
    return texts.FACT.format(text=literal(shortened(used.text, TEXT_CHARS)), source=source)


def _message(used: UsedMessage, person: str) -> str:
    source = _source(used.time, used.link)
    if used.by_bot:
        return texts.MESSAGE_OF_BOT.format(source=source)
    if used.person != person:
        return texts.MESSAGE_OF_OTHERS.format(source=source)
    return texts.MESSAGE.format(source=source, text=literal(shortened(used.text, TEXT_CHARS)))


def _tool(used: UsedTool) -> str:
    outcome = texts.OUTCOMES.get(used.outcome, used.outcome)
    return texts.TOOL.format(tool=used.tool, outcome=outcome, account=texts.ACCOUNTS.get(used.account, ""))


def _source(time: datetime, link: str) -> str:
    """The day, as a link if there is one on the web."""
    day = f"{time:%Y-%m-%d}"
    return f"[{day}]({link})" if link.startswith(("https://", "http://")) else day
