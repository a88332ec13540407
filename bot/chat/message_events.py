"""What happens to messages and places besides questions, as features follow it.

Rules. A platform's adapter reports each event once, to the `MessageEvents` of its host, which pass it on to those of
every feature. A feature overrides what it follows.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from agent.incoming import Incoming
from agent.memory.forgetting_plans import Gone


@dataclass(frozen=True, slots=True)
class QuestionToAll:
    """A question in a channel that does not address the bot. `person` and `message`: ids. `read`: reads the question as
    an incoming message; it may raise CogencyError. `submit`: has it answered.
    """

    source: str
    channel: str
    message: str
    person: str
    read: Callable[[], Awaitable[Incoming]]
    submit: Callable[[Incoming], Awaitable[bool]]


# ruff: noqa: ARG002 -- each event has its arguments, whether or not a feature follows it


class MessageEvents:
    """Follows nothing. `channel` and `message`: the platform's ids. `source`: whose bot heard of the event, which is
    about what that bot knows and about nothing else: several workspaces may share a channel, and each has its own app.
    Async methods may raise StoreError.
    """

    def talked(self, source: str, channel: str, person: str, message: str) -> None:
        """A person wrote a message there that does not address the bot."""

    def changed(self, source: str, channel: str, message: str) -> None:
        """A message was edited or deleted. `edited` or `deleted` may follow once the order of events allows it."""

    def asked_all(self, question: QuestionToAll) -> None:
        """A question to everyone was asked, which the bot may answer after a while, or not at all."""

    async def stopped(self, source: str, channel: str, conversation: str) -> bool:
        """A person wrote "stop" there. Return whether the bot therefore answers no more questions to everyone there
        for a day: it does so if this conversation began with such an answer.
        """
        return False

    async def wrote_on(self, source: str, conversation: str, person: str, text: str) -> None:
        """The author of a forum post that has tags wrote another message in it; `text` is "" where it is not known. It
        may be reported more than once.
        """

    async def edited(self, source: str, channel: str, message: str, text: str, alone: str | None = None) -> bool:
        """A message was edited. `text`: all that it shows; `alone`: the same without what it forwards, which is how a
        question is stored. A question that waits is answered in its new words; otherwise what was derived from the
        old words is erased, and the new words are learned from. Return whether the bot knows the message.
        """
        return False

    async def deleted(self, source: str, channel: str, messages: Collection[str], *, author: str = "") -> None:
        """Messages were deleted: they are not answered, a reply that is being written is withdrawn, and what is known
        from them is forgotten, with everything derived from it. `author`: the id of the person who wants that, of whose
        messages only it is done; "" if the platform says that they are gone.
        """

    async def place_gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        """A place was deleted, or the bot was removed from it: erase what was said there. `name`: the place's.

        `at_once` False waits for a grace period, in which the bot may be invited back.
        """

    async def places_back(self, names: Collection[str]) -> None:
        """The bot is in these places: erase nothing that was said there."""

    async def place_renumbered(self, source: str, channel: str, new: str) -> None:
        """The platform gave a channel another id, for good, and perhaps other readers. It may be reported twice."""


@dataclass(frozen=True, slots=True)
class EventsOfFeatures(MessageEvents):
    """Passes every event on to each of the features that follow events, in their order."""

    features: Sequence[MessageEvents]

    def talked(self, source: str, channel: str, person: str, message: str) -> None:
        for feature in self.features:
            feature.talked(source, channel, person, message)

    def changed(self, source: str, channel: str, message: str) -> None:
        for feature in self.features:
            feature.changed(source, channel, message)

    def asked_all(self, question: QuestionToAll) -> None:
        for feature in self.features:
            feature.asked_all(question)

    async def stopped(self, source: str, channel: str, conversation: str) -> bool:
        return any([await feature.stopped(source, channel, conversation) for feature in self.features])

    async def wrote_on(self, source: str, conversation: str, person: str, text: str) -> None:
        for feature in self.features:
            await feature.wrote_on(source, conversation, person, text)

    async def edited(self, source: str, channel: str, message: str, text: str, alone: str | None = None) -> bool:
        return any([await feature.edited(source, channel, message, text, alone) for feature in self.features])

    async def deleted(self, source: str, channel: str, messages: Collection[str], *, author: str = "") -> None:
        for feature in self.features:
            await feature.deleted(source, channel, messages, author=author)

    async def place_gone(self, name: str, gone: Gone, *, at_once: bool) -> None:
        for feature in self.features:
            await feature.place_gone(name, gone, at_once=at_once)

    async def places_back(self, names: Collection[str]) -> None:
        for feature in self.features:
            await feature.places_back(names)

    async def place_renumbered(self, source: str, channel: str, new: str) -> None:
        for feature in self.features:
            await feature.place_renumbered(source, channel, new)
