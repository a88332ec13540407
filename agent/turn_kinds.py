"""What began a turn, and so how it is answered."""

from enum import StrEnum


class TurnKind(StrEnum):
    """A closed set: what depends on the kind asks this, and never an id. The values are stored."""

    QUESTION = "turn"
    """A person asked. (Stored as "turn" since before there were other kinds.)"""
    POSTED = "posted"
    """A person asked, and the bot posted the question's message for them; they cannot delete it."""
    AMBIENT = "ambient"
    """A person wrote an open question that was not addressed to the bot."""
    REMINDER = "reminder"
    """A schedule's text is posted; no model is called."""
    SCHEDULED = "scheduled"
    """A schedule asks its question in place of its person."""
    WORK = "work"
    """Long work, in a conversation of its own beside the one where it was requested."""
    NOTICE = "notice"
    """A fixed text is posted for a schedule's person; no model is called."""
    SCHEDULED_AGAIN = "scheduled_again"
    """A schedule's question whose person wants another answer. They asked, but the words are the schedule's."""

    HANDOFF = "handoff"
    """A fixed text about a request for a human is posted where it was made; no model is called."""
    ACT = "act"
    """The bot posted something elsewhere for a person, by a tool; the turn is over when it is stored."""
    API = "api"
    """A program asked, as a person or as a service, and waits for the answer; nobody sees buttons or questions."""
    EVENT = "event"
    """A text about what another program reported is posted; no model is called."""
    EVENT_QUESTION = "event_question"
    """An operator's question about such an event, which nobody asked just now."""

    @property
    def asks_nobody(self) -> bool:
        """No person can be asked for approval, or for what a tool needs to know."""
        return self is TurnKind.API or self.begun_by_event

    @property
    def begun_by_event(self) -> bool:
        """Another program began it: there is no person behind it who could be asked, or whose rights could count."""
        return self in {TurnKind.EVENT, TurnKind.EVENT_QUESTION}

    @property
    def is_asked(self) -> bool:
        """A person asked the bot, and waits for the answer."""
        return self in {TurnKind.QUESTION, TurnKind.POSTED, TurnKind.SCHEDULED_AGAIN}

    @property
    def begun_by_schedule(self) -> bool:
        return self in {TurnKind.REMINDER, TurnKind.SCHEDULED, TurnKind.WORK, TurnKind.NOTICE}

    @property
    def in_words_of_schedule(self) -> bool:
        """Its text is a schedule's, which a model may have written: no person has just said it."""
        return self.begun_by_schedule or self is TurnKind.SCHEDULED_AGAIN
