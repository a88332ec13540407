"""Facts that a person states in passing, as a model finds them in their messages. Pure.

Above: `agent.memory.synthesizer` reads them, `bot.memory.learning` has them kept. Below: facts, writing, scopes,
secrets, sensitive, model_json.

Rules
  A fact comes from one message, and says what that message says: some of its words stand there, and are neither denied
  nor asked there (`agent.memory.clauses`).
  What was said in a game of thought or as a draft stays in that scope and conversation, whatever the model says of it.
  No secrets; what is sensitive only if the person asked for it to be remembered.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.authority import Authority
from agent.memory.clauses import otherwise
from agent.memory.facts import Fact, Scope
from agent.memory.model_json import numbers_in, object_in, text_in
from agent.memory.profile import KEY_CHARS, Partition, Utterance, tidy
from agent.memory.scopes import scopes_of
from agent.memory.secrets import has_secret
from agent.memory.sensitive import asks_to_remember, is_sensitive
from agent.memory.writing import NewFact

SOURCE: Final = "user"
_ASSUMED: Final = frozenset({Scope.HYPOTHETICAL, Scope.DRAFT})
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """`said` is the message that states it."""

    key: str
    value: str
    said: Utterance
    scope: Scope = Scope.GLOBAL
    supersedes: tuple[str, ...] = ()
    """Ids of facts that the model was shown, and says to hold no longer."""

    def written(self, partition: Partition, authority: Authority) -> NewFact:
        """As it is to be kept; the store names it."""
        return NewFact(
            id="",
            key=self.key,
            value=self.value,
            source=SOURCE,
            timestamp=self.said.time,
            audience=partition.audience,
            person=partition.person,
            authority=authority,
            supersedes=self.supersedes,
            scope=self.scope,
            scope_id=None if self.scope is Scope.GLOBAL else self.said.conversation,
            source_message=self.said.id,
        )


def stated_facts(
    found: Sequence[object], said: Sequence[Utterance], known: Sequence[Fact] = ()
) -> tuple[StatedFact, ...]:
    """What of a model's list can be kept; the oldest message first, so that a later one supersedes it. `known`: the
    facts that it was shown, and names by number.
    """
    scopes = _scopes(said)
    read = [fact for item in found if (fact := _fact(object_in(item), said, scopes, known)) is not None]
    return tuple(sorted(read, key=lambda fact: (fact.said.time, fact.said.id)))


def _fact(
    item: Mapping[str, object], said: Sequence[Utterance], scopes: Mapping[int, Scope], known: Sequence[Fact]
) -> StatedFact | None:
    numbers = [1] if len(said) == 1 else numbers_in(item.get("from"), len(said))
    key, value = tidy(text_in(item.get("key")), KEY_CHARS), tidy(text_in(item.get("value")))
    if len(numbers) != 1 or not key or not value:
        return None
    source = said[numbers[0] - 1]
    words = f"{key}: {value}"
    secret = has_secret(words) or (is_sensitive(words) and not asks_to_remember(source.text))
    if secret or not _says(source.text, value):
        return None
    named = Scope(text_in(item.get("scope"))) if text_in(item.get("scope")) in _ASSUMED else Scope.GLOBAL
    scope = scopes[source.id] if named is Scope.GLOBAL else named
    if otherwise(value, [source.text], supposing=scope in _ASSUMED):
        return None
    gone = tuple(known[number - 1].id for number in numbers_in(item.get("supersedes"), len(known)))
    return StatedFact(key, value, source, scope, gone)


def _scopes(said: Sequence[Utterance]) -> dict[int, Scope]:
    """In which scope each message was said; a task that interrupts another is no game."""
    found: dict[int, Scope] = {}
    for conversation in dict.fromkeys(one.conversation for one in said):
        there = [one for one in said if one.conversation == conversation]
        scopes = scopes_of([one.text for one in there])
        found |= {
            one.id: scope if scope in _ASSUMED else Scope.GLOBAL for one, scope in zip(there, scopes, strict=True)
        }
    return found


def _says(text: str, value: str) -> bool:
    """Is any word of the value in the text? In scripts without blanks a run of letters is looked for as it is."""
    folded = text.casefold()
    return any(word in folded for word in _WORD.findall(value.casefold()) if len(word) > 1 or word.isdigit())
