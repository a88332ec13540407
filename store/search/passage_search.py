"""Searching the passages of documents for a reply in one place, and ranking what is found.

Rules
  The audience labels of a search are conditions of the query itself, as in recall: first the index is searched in the
  ranges of those audiences, then the rows are read under the condition of the document's current audience. So a
  restricted document is no longer found at once, whatever the index still holds.

Ranking (measured: `benchmarks.knowledge`)
  BM25 over the passages' texts, with rarity counted among the passages that this search may see. Each occurrence of a
  word counts, and another form of it counts less (FORM). Words of the headings and of the document's name count as a
  part (ABOVE) of words in the text. Neighbouring passages lend a passage a part (NEAR) of the words that it lacks.
  Several good passages in a document do not lift it: that made long documents come first.
"""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, func, select

from agent.memory.documents import DocumentQuery, FoundPassage
from store.json_lists import ids_in_parameter
from store.message_tables import person, place
from store.row_mapping import OF_DOCUMENT, document_of
from store.search.passages import KNOWN, MATCH_LIMIT, document, engine_of, passage, passage_of
from store.search.search import Forms, fused, word_forms
from store.search.text import COMPOUND, CONTAINS, keywords, stem, wanted_terms, word_parts

PAIRED: Final = 3  # The number of such common words, the rarest, that are searched together, and in pairs
CANDIDATES: Final = 96  # The number of passages, the best by their words, whose texts are read

K1: Final = 0.9
B: Final = 0.6
FORM: Final = 0.3
ABOVE: Final = 0.5
NEAR: Final = 0.25


class _Read(NamedTuple):
    """A candidate, and how often each group of words occurs in it."""

    document: int
    number: int
    length: int
    counts: Mapping[int, float]


def ranked(read: Mapping[int, _Read], weights: Mapping[int, float]) -> list[tuple[int, float]]:
    """(id, score), best first. `weights`: of each group of words."""
    average = sum(candidate.length for candidate in read.values()) / max(len(read), 1)
    strengths = {id_: _strengths(candidate, weights, average) for id_, candidate in read.items()}
    places = {(candidate.document, candidate.number): id_ for id_, candidate in read.items()}
    alone = dict[int, float]()
    for id_, candidate in read.items():
        own_strengths = dict(strengths[id_])
        for beside in (-1, 1):
            near = places.get((candidate.document, candidate.number + beside))
            for word, strength in strengths[near].items() if near is not None else ():
                own_strengths[word] = max(own_strengths.get(word, 0.0), NEAR * strength)
        alone[id_] = sum(own_strengths.values())
    return sorted(alone.items(), key=lambda item: (-item[1], item[0]))


def _strengths(candidate: _Read, weights: Mapping[int, float], average: float) -> dict[int, float]:
    norm = K1 * (1 - B + B * candidate.length / max(average, 1))
    return {
        word: weights[word] * count * (K1 + 1) / (count + norm)
        for word, count in candidate.counts.items()
        if word in weights
    }


_stem = lru_cache(20_000)(stem)
_parts = lru_cache(20_000)(word_parts)
HEAD: Final = 3  # First letters that no ending changes: words with other first letters are skipped at once
# The range of scripts with prefixes before a word's stem: Hebrew, Arabic and related ones.
_PREFIXING: Final = ("\u0590", "\u0900")


class _Groups:
    """Counts how often words of these groups, each the forms of a keyword, occur in texts."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._stems = defaultdict[str, set[int]](set)
        self._parts = defaultdict[str, set[int]](set)
        for at, forms in enumerate(groups):
            for form in forms:
                self._stems[_stem(form)].add(at)
            for term in set(wanted_terms(forms)).difference(forms):
                self._parts[term].add(at)
        self._heads = {beginning[:HEAD] for beginning in chain(self._stems, self._parts, *groups)}
        self._inside = sorted({term[:-1] for term in self._parts if term.endswith(CONTAINS)})
        self._known = dict[str, Mapping[int, float]]()

    def count(self, words: str, share: float, into: defaultdict[int, float]) -> None:
        """Add the counts of these words, separated by spaces, times `share`, to `into`."""
        heads, inside, word_list, (first, beyond) = self._heads, self._inside, words.split(" "), _PREFIXING
        near = [word for word in word_list if word[:HEAD] in heads or first <= word < beyond]
        if any(words.count(term) > " ".join(near).count(term) for term in inside):
            within = {word for word in word_list if len(word) >= COMPOUND and any(term in word for term in inside)}
            within.difference_update(near)
            near += [word for word in word_list if word in within]
        for word, count in Counter(near).items():
            for group, weight in self._of(word).items():
                into[group] += count * weight * share

    def _of(self, word: str) -> Mapping[int, float]:
        known = self._known.get(word)
        if known is None:
            whole = self._stems.get(_stem(word), ())
            parts = [part for part in _parts(word) if part in self._parts]
            forms = dict.fromkeys(chain.from_iterable(self._parts[part] for part in parts), FORM) if parts else {}
            known = self._known[word] = forms | dict.fromkeys(whole, 1.0) if whole else forms
        return known


def search(connection: Connection, query: DocumentQuery) -> list[FoundPassage]:
    """The best passages for all wordings, of the documents of these audiences. Any text is a valid query."""
    searches = [keywords(wording) for wording in dict.fromkeys((query.text, *query.wordings))]
    all_words = list(dict.fromkeys(chain(*searches)))
    known = _known_places(connection, query.audiences)
    if not all_words or not known:
        return []
    forms: Forms = {word: word_forms(word) for word in all_words}
    groups = list(dict.fromkeys(forms[word] for word in all_words))
    numbers, total = [number for number, _ in known], sum(passages for _, passages in known)
    matches, weights = _matches(connection, groups, numbers, total)
    best = _candidates(matches, weights)
    audiences = sorted(query.audiences)
    read = _read(connection, best, audiences, _Groups(groups))
    searches = searches if len(searches) == 1 else [*searches, all_words]
    wordings = [[groups.index(forms[word]) for word in words] for words in searches]
    # Each wording ranks by itself and the ranks are fused: a long wording would otherwise win by its number of words.
    rankings = [ranked(read, {group: weights[group] for group in group_ids}) for group_ids in wordings]
    fitting = [(id_, score) for id_, score in fused(rankings) if score > 0][: max(query.limit, 0)]
    parameters = {"wanted": [id_ for id_, _ in fitting], "audiences": audiences}
    rows = {row["id"]: row for row in connection.execute(_BEST, parameters).mappings()}
    return [_found(rows[id_], score) for id_, score in fitting if id_ in rows]


def _known_places(connection: Connection, audiences: frozenset[str]) -> list[tuple[int, int]]:
    """The places of these audiences with documents: their numbers, and the number of passages of each."""
    counted = (
        select(place.c.number, func.sum(document.c.passages))
        .join(document, document.c.audience == place.c.audience)
        .where(place.c.audience.in_(audiences), document.c.state == KNOWN)
        .group_by(place.c.number)
        .order_by(place.c.number)
    )
    return [(number, int(passages)) for number, passages in connection.execute(counted)]


def _matches(
    connection: Connection, groups: Sequence[Sequence[str]], numbers: Sequence[int], total: int
) -> tuple[list[list[int]], dict[int, float]]:
    """The passages with each group of words, and each group's weight. For common words these are the passages with some
    of them together, and some others.
    """
    terms_by_group = [wanted_terms(group) for group in groups]
    found = engine_of(connection).find(connection, [[terms] for terms in terms_by_group], numbers)
    cut = [at for at, ids in enumerate(found) if len(ids) >= MATCH_LIMIT]
    weights = {at: _weight(ids, total, is_cut=at in cut) for at, ids in enumerate(found)}
    # A common word stands in more passages than are read. Two of them together are rare again, so the passages with
    # several are asked for.
    if len(cut) > 1:
        rarest = sorted(cut, key=lambda at: -weights[at])[:PAIRED]
        together = [some for size in range(2, len(rarest) + 1) for some in combinations(rarest, size)]
        sought = [[terms_by_group[at] for at in some] for some in together]
        for some, ids in zip(together, engine_of(connection).find(connection, sought, numbers), strict=True):
            for at in some:
                found[at] += ids
    return [list(dict.fromkeys(ids)) for ids in found], weights


def _weight(ids: Sequence[int], total: int, *, is_cut: bool) -> float:
    n = float(len(ids))
    if is_cut:  # extrapolated from the range of ids
        first = ids[:MATCH_LIMIT]
        n = min(total, max(n, MATCH_LIMIT * total / max(max(first) - min(first), 1)))
    return math.log(1 + (max(total, n) - n + 0.5) / (n + 0.5))


def _candidates(matches: Sequence[Sequence[int]], weights: Mapping[int, float]) -> list[int]:
    sums = defaultdict[int, float](float)
    for group, ids in enumerate(matches):
        for id_ in ids:
            sums[id_] += weights[group]
    return heapq.nlargest(CANDIDATES, sums, key=lambda id_: (sums[id_], -id_))


# "+ 0": otherwise SQLite scans all passages of these documents for the few with the given ids.
_USABLE: Final = (
    passage.c.id.in_(ids_in_parameter("wanted")),
    (passage.c.document + 0).in_(
        select(document.c.id).where(
            document.c.state == KNOWN, document.c.audience.in_(bindparam("audiences", expanding=True))
        )
    ),
)
_OF_DOCUMENT: Final = passage.join(document, document.c.id == passage.c.document)
_CANDIDATES: Final = select(
    passage.c.id, passage.c.document, passage.c.number, passage.c.length, passage.c.words
).where(*_USABLE)
_BEST: Final = (
    select(passage, *(document.c[name] for name in OF_DOCUMENT))
    .add_columns(document.c.id.label("of"), person.c.name.label("by"))
    .select_from(_OF_DOCUMENT.outerjoin(person, person.c.id == document.c.person))
    .where(*_USABLE)
)


def _read(connection: Connection, ids: Collection[int], audiences: Sequence[str], groups: _Groups) -> dict[int, _Read]:
    read = dict[int, _Read]()
    parameters = {"wanted": list(ids), "audiences": audiences}
    for id_, of, number, length, words in connection.execute(_CANDIDATES, parameters):
        counts = defaultdict[int, float](float)
        text_words, *above = words.rsplit(" ", max(words.count(" ") + 1 - length, 0))
        groups.count(text_words, 1.0, counts)
        groups.count(" ".join(above), ABOVE, counts)
        read[id_] = _Read(of, number, length, counts)
    return read


def _found(row: Mapping[Any, Any], score: float) -> FoundPassage:
    return FoundPassage(document_of({**row, "id": row["of"]}), passage_of(row), row["number"], score)
