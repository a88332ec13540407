"""The search of `tests.fakes.store`: whatever fits and has most of the words; no rarity, no neighbours."""

from collections.abc import Iterable

from agent.records import Author, Hit, RecallQuery, StoredMessage
from store.search.search import word_forms
from store.search.text import index_words, keywords, stem


def search(readable: Iterable[StoredMessage], query: RecallQuery) -> list[Hit]:
    """`readable`: the person's threads, as far as the query's audiences go."""
    wanted = [{stem(form) for form in word_forms(word)} for word in keywords(query.text)]
    fitting = [message for message in readable if index_words(message.text) and _fits(message, query)]
    scored = [(sum(bool(group & _stems(message.text)) for group in wanted), message) for message in fitting]
    found = [(score, message) for score, message in scored if score]
    if not found and query.within is not None:
        found = [(0, message) for message in fitting]
    found.sort(key=lambda pair: (pair[0], pair[1].time, pair[1].id), reverse=True)
    return [Hit(message, float(score)) for score, message in found[: query.limit]]


def _fits(message: StoredMessage, query: RecallQuery) -> bool:
    person = message.author is Author.PERSON
    wanted = set(index_words(query.by))
    named = query.by == message.person or (bool(wanted) and wanted <= set(index_words(message.name)))
    return (
        (query.within is None or query.within.since <= message.time < query.within.until)
        and (query.author is None or query.author is message.author)
        and (not query.by or (person and named))
    )


def _stems(text: str) -> set[str]:
    return set(map(stem, index_words(text)))
