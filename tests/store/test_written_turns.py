"""Turns whose reply is written before they begin."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.admission_terms import Rate, Terms, TermsNotMet, Whose
from agent.events import Outcome
from agent.progress import decode
from agent.turn_kinds import TurnKind
from agent.turn_records import Claiming
from store.engine import Store
from tests.fakes.incoming import START, said
from tests.store.engines import same_on_either

POST = replace(said("Build 7 failed."), event_id="post:1:a", message_id="post:1:a", kind=TurnKind.EVENT, own=False)
NO_LIMITS = Terms(START)


@same_on_either
async def test_a_text_is_stored_once_with_its_reply_which_is_others_words(either: Store) -> None:
    accepted = await either.written_turns.accept(POST, POST.text, NO_LIMITS)
    again = await either.written_turns.accept(POST, "Another text.", NO_LIMITS)
    assert (accepted.duplicate, again.duplicate, again.turn) == (False, True, accepted.turn)
    claim = await either.ledger.claim(Claiming("worker", START, timedelta(minutes=1)))
    assert claim is not None
    progress = decode(claim.progress)
    assert (progress.reply, progress.outcome, progress.own) == (POST.text, Outcome.ANSWERED, False)


async def test_a_text_beyond_a_rate_is_not_stored(either: Store) -> None:
    terms = Terms(START, (Rate(Whose.PERSON, 1, timedelta(minutes=1)),))
    await either.written_turns.accept(POST, POST.text, terms)
    second = replace(POST, event_id="post:1:b", message_id="post:1:b")
    with pytest.raises(TermsNotMet):
        await either.written_turns.accept(second, second.text, terms)
    assert (await either.ledger.load()).waiting == 1
