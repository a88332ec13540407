"""How fast recall searches a large store: 1,000,000 messages of 1,000 people; and 100,000 of one person.

python -m benchmarks.search_scale [--engine postgresql] [--data FILE_OR_FOLDER] [--quick] [--json]

p50_ms, p95_ms    one search of a random person through the port Memories, warm
heaviest_p50_ms, heaviest_p95_ms   the same for the person with the most messages
vector_recall_at_10, vector_ms     of the ten messages whose vectors are truly nearest the share that a search by
                  meaning finds, and its processor time, among all that the heaviest person can find
index_mb          size of the full-text index in the file, in megabytes of a million bytes; rest_mb: all else in it
index_bytes_per_message            the same for one message, in the index of one person
write_us_per_message               processor time to split a message into words and index it
messages, median_messages, heaviest_messages   how many there are, and how many a person can find

People write in threads of up to five of them, so that a message is in several people's indexes; the amount that each
writes follows a power law. A message has 5 to 40 words, every other one is a reply of the bot, which is longer. A
question has three distinctive words of one of the person's own messages and one common one.

Two words in five are English stop words, as in real messages; the others come from a vocabulary with Zipf's
frequencies, made of syllables with the same random numbers each time: the commoner the shorter, most of them in several
forms with endings, some of them compounds, some with other letters than a to z, some numbers. With `--data` the words
are those of the conversations there (a format that benchmarks.talks reads), with their frequencies.

Rows are written past the ledger (no turn is claimed), many in a transaction, and have the same content: each message
with its turn, and its entries by the index's own function. `--quick` writes 50,000 messages.

Baseline, in the same run, under the same names: SQL LIKE, the newest of the person's messages with any of the words.

one_person_p50_ms, one_person_p95_ms   a search of a person with 100,000 messages (`--quick`: 10,000)
forget_preview_ms_20000   the preview of `/forget about` a word that is in a fifth of these, the best of three
forget_preview_matches    how many messages that would erase

With `--engine postgresql` only the figures of one person, on a server with PostgreSQL's default shared memory, vacuumed
as autovacuum does. Baseline: the same on SQLite, question by question in turn, in the same run.
vector_recall_at_10   as above, of all the person's messages; no extension such as pgvector is used
times_sqlite_p50, times_sqlite_p95   by how much PostgreSQL takes longer
differing         searches in which the two did not find the same, in the same order, with the same scores
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from pathlib import Path
from statistics import fmean, median, quantiles
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from sqlalchemy import Connection, insert, text

from agent.memory.forgetting_plans import AboutTopic
from agent.recall_query import RecallQuery
from agent.stored_messages import Author
from benchmarks.meaning import measure_vectors
from benchmarks.report import Options, print_report, read_options
from benchmarks.talks import read_talks
from store.databases.database import is_postgresql
from store.databases.postgresql import connect
from store.engine import Store, open_store
from store.message_tables import conversation, message, participant, person
from store.search import index
from store.search.text import STOP_WORDS, index_words, indexed_text
from store.turn_tables import turn
from tests.fakes.postgresql import running_postgres

Figures: TypeAlias = dict[str, float]

WHOLE: Final = (1_000_000, 1_000, 400)  # Messages, people, searches
QUICK: Final = (50_000, 100, 100)
VOCABULARY: Final = 30_000
STOPS: Final = 0.4  # The share of stop words in people's messages (30 to 45 % in LoCoMo and REALTALK)
COMMON: Final = 200
COMMON_ASKED: Final = 40
ASKED: Final = 3
NUMBERS: Final = 0.03
COMPOUNDS: Final = 0.1
ONSETS: Final = ("b", "br", "c", "ch", "d", "f", "fl", "g", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w")
VOWELS: Final = ("a", "a", "e", "e", "e", "i", "i", "o", "o", "u", "ea", "ou", "ü", "é")
CODAS: Final = ("", "", "", "l", "n", "n", "r", "s", "t", "ck", "nd", "rt", "st")
ENDINGS: Final = ("", "s", "ed", "ing", "er", "en", "ly")
BUSIEST: Final = 16  # A person writes 1 / (rank + this): the heaviest finds thirty times the messages of the median
GROUPS: Final = (1, 1, 1, 1, 1, 1, 2, 2, 3, 5)  # The people of a thread; a person drawn twice counts once
THREAD: Final = 20  # Messages of a thread
BATCH: Final = 2_000  # Messages of one transaction
ONE_PERSON: Final = 100_000
QUICK_PERSON: Final = 10_000
ERASED_SHARE: Final = 5  # One in this many messages has the word that is to be forgotten
PREVIEWS: Final = 3
HEAVIEST_SEARCHES: Final = 100
MEANT: Final = 20  # Searches by meaning
LIMIT: Final = 20
PLACE: Final = "team:scale"
START: Final = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    thread: int
    people: tuple[int, ...]
    writer: int
    author: Author
    text: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of the messages, the most frequent first, with their cumulative frequencies."""

    words: tuple[str, ...]
    often: tuple[float, ...]

    @property
    def common(self) -> list[str]:
        """The most frequent words, one of which is in each question."""
        return [word for word in self.words[:COMMON] if word not in STOP_WORDS][:COMMON_ASKED]

    def say(self, count: int, dice: random.Random) -> str:
        return " ".join(dice.choices(self.words, cum_weights=self.often, k=count))


def made_vocabulary(size: int = VOCABULARY) -> Vocabulary:
    """Generate words that look like real ones, with Zipf's frequencies; always the same."""
    dice = random.Random(11)
    words: dict[str, None] = {}
    while len(words) < size:
        lemma = _lemma(len(words), dice)
        chance = dice.random()
        if chance < NUMBERS:
            words[str(dice.randrange(10 ** dice.randint(1, 4)))] = None
        elif chance < COMPOUNDS and len(words) > COMMON:
            words["".join(dice.sample(list(islice(words, COMMON)), 2))] = None
        else:
            words |= dict.fromkeys(lemma + ending for ending in dice.sample(ENDINGS, dice.randint(1, 4)))
    told = {word: 1 / (rank + 3) for rank, word in enumerate(islice(words, size))}
    stops = sorted(STOP_WORDS, key=len)
    said = {word: 1 / (rank + 3) for rank, word in enumerate(stops)}
    share = STOPS / (1 - STOPS) * sum(told.values()) / sum(said.values())
    return _by_frequency(Counter(told) | Counter({word: share * often for word, often in said.items()}))


def _lemma(rank: int, dice: random.Random) -> str:
    longest = 2 if rank < COMMON else 3 if rank < VOCABULARY // 10 else 4
    syllables = range(dice.randint(1, longest))
    return "".join(dice.choice(ONSETS) + dice.choice(VOWELS) + dice.choice(CODAS) for _ in syllables)


def read_vocabulary(path: Path) -> Vocabulary:
    return _by_frequency(
        Counter(word for talk in read_talks(path) for line in talk.lines for word in line.text.casefold().split())
    )


def _by_frequency(often: Counter[str]) -> Vocabulary:
    counted = often.most_common()
    return Vocabulary(tuple(word for word, _ in counted), tuple(accumulate(count for _, count in counted)))


def talk(messages: int, people: int, vocabulary: Vocabulary, dice: random.Random) -> Iterator[Said]:
    """Generate all messages, thread after thread."""
    busy = list(accumulate(1 / (rank + BUSIEST) for rank in range(people)))
    for thread in range(messages // THREAD):
        group = tuple(dict.fromkeys(dice.choices(range(people), cum_weights=busy, k=dice.choice(GROUPS))))
        for at in range(THREAD):
            bot = at % 2 == 1
            size = dice.randint(20, 60) if bot else dice.randint(5, 40)
            author = Author.BOT if bot else Author.PERSON
            yield Said(thread, group, group[at // 2 % len(group)], author, vocabulary.say(size, dice))


def batches(messages: Iterator[Said]) -> Iterator[list[Said]]:
    while batch := list(islice(messages, BATCH)):
        yield batch


def write_people(connection: Connection, people: int) -> None:
    rows = [{"number": n + 1, "id": f"p{n}", "name": f"Person{n}", "time_zone": "UTC"} for n in range(people)]
    connection.execute(insert(person), rows)


def write_batch(connection: Connection, batch: Sequence[Said], first: int) -> float:
    """Write messages from the id `first` on: an even one and the bot's answer share a turn. Return the processor time
    of their entries in seconds.
    """
    threads = {one.thread: one.people for one in batch}
    connection.execute(insert(conversation), [{"id": f"t{t}", "audience": PLACE, "summary": "{}"} for t in threads])
    joined = [{"conversation": f"t{t}", "person": f"p{p}"} for t, people in threads.items() for p in people]
    connection.execute(insert(participant), joined)
    numbered = list(enumerate(batch, first))
    connection.execute(insert(turn), [_turn(id_, one) for id_, one in numbered if one.author is Author.PERSON])
    connection.execute(insert(message), [_row(id_, one, len(index_words(one.text))) for id_, one in numbered])
    begin = time.thread_time()
    for id_, one in numbered:
        said = indexed_text(one.text, stemmed=is_postgresql(connection))
        index.add(connection, id_, f"t{one.thread}", said, [reader + 1 for reader in one.people])
    return time.thread_time() - begin


def _turn(id_: int, message: Said) -> dict[str, object]:
    return {
        "id": (id_ + 1) // 2,
        "state": "done",
        "source": "scale",
        "event_id": str(id_),
        "channel": f"t{message.thread}",
        "message_id": str(id_),
        "conversation": f"t{message.thread}",
        "person": f"p{message.writer}",
    }


def _row(id_: int, message: Said, length: int) -> dict[str, object]:
    return {
        "id": id_,
        "conversation": f"t{message.thread}",
        "turn": (id_ + 1) // 2,
        "author": message.author,
        "person": f"p{message.writer}",
        "text": message.text,
        "length": length,
        "time": START + timedelta(seconds=30 * id_),
        "audience": PLACE,
        "channel": f"t{message.thread}",
        "message_id": str(id_),
    }


@dataclass(frozen=True, slots=True)
class Filled:
    """Return how many messages each person can find, and the time of writing."""

    findable: dict[int, int]
    write_us: float
    index_bytes: int

    def per_message(self) -> Figures:
        each = self.index_bytes / sum(self.findable.values())
        return {"write_us_per_message": self.write_us, "index_bytes_per_message": each}


async def fill(store: Store, messages: int, people: int, vocabulary: Vocabulary, dice: random.Random) -> Filled:
    findable = dict.fromkeys(range(people), 0)
    await store.database.write(write_people, people)
    first, spent = 1, 0.0
    for batch in batches(talk(messages, people, vocabulary, dice)):
        spent += await store.database.write(write_batch, batch, first)
        first += len(batch)
        for one in batch:
            for reader in one.people:
                findable[reader] += 1
    await store.database.write(index.optimize)
    return Filled(findable, 1e6 * spent / messages, await store.database.read(indexed_bytes))


def questions_of(connection: Connection, who: int, count: int, common: Sequence[str], dice: random.Random) -> list[str]:
    own = text("SELECT text FROM message WHERE person = :person AND author = 'person' LIMIT 5000")
    said = list(connection.execute(own, {"person": f"p{who}"}).scalars())
    if not said:
        return []
    telling = [[word for word in one.split() if word not in STOP_WORDS] for one in said]
    chosen = [dice.choice([words for words in telling if len(words) >= ASKED]) for _ in range(count)]
    return [" ".join([*dice.sample(words, ASKED), dice.choice(common)]) for words in chosen]


LIKE: Final = """
SELECT id FROM message WHERE person = :person AND ({any}) ORDER BY id DESC LIMIT :limit
"""


def like(connection: Connection, who: int, question: str) -> list[int]:
    words = question.split()
    wanted = " OR ".join(f"text LIKE :word{at}" for at in range(len(words)))
    bound = {f"word{at}": f"%{word}%" for at, word in enumerate(words)}
    sql = text(LIKE.replace("{any}", wanted))
    return list(connection.execute(sql, {**bound, "person": f"p{who}", "limit": LIMIT}).scalars())


async def time_both(store: Store, asked: Sequence[tuple[int, str]]) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each search, ours and LIKE's; the first round warms up."""
    ours: list[float] = []
    likes: list[float] = []
    for round_ in range(2):
        for who, question in asked:
            begin = time.perf_counter()
            await store.memories.search(RecallQuery(f"p{who}", question, frozenset({PLACE}), "", LIMIT))
            between = time.perf_counter()
            await store.database.read(like, who, question)
            end = time.perf_counter()
            if round_:
                ours.append(1000 * (between - begin))
                likes.append(1000 * (end - between))
    return ours, likes


def spread(times: Sequence[float], prefix: str = "") -> dict[str, float]:
    cuts = quantiles(times, n=20)
    return {f"{prefix}p50_ms": cuts[9], f"{prefix}p95_ms": cuts[18]}


def indexed_bytes(connection: Connection) -> int:
    """Return the bytes of the index: its lists of words, and the words that it stores to remove entries exactly."""
    if is_postgresql(connection):
        return connection.execute(text("SELECT pg_total_relation_size('message_index')")).scalar_one()
    lists = connection.execute(text("SELECT sum(length(block)) FROM message_index_data")).scalar_one()
    kept = connection.execute(text("SELECT sum(length(CAST(words AS BLOB))) FROM message_index_kept")).scalar_one()
    return lists + kept


async def measure_scale(
    vocabulary: Vocabulary, *, messages: int, people: int, searches: int
) -> tuple[Figures, Figures]:
    """Return the metrics, and those of the baseline."""
    dice = random.Random(7)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "scale.db"
        store = await open_store(f"sqlite:///{file}")
        try:
            filled = await fill(store, messages, people, vocabulary, dice)
            findable = filled.findable
            heaviest = max(findable, key=lambda who: findable[who])
            random_people = [dice.randrange(people) for _ in range(searches)]
            asked = [
                (who, question)
                for who in random_people
                for question in await store.database.read(questions_of, who, 1, vocabulary.common, dice)
            ]
            hard = await store.database.read(questions_of, heaviest, HEAVIEST_SEARCHES, vocabulary.common, dice)
            ours, likes = await time_both(store, asked)
            our_heaviest, like_heaviest = await time_both(store, [(heaviest, question) for question in hard])
            places = frozenset({PLACE})
            meant = await store.database.write(measure_vectors, f"p{heaviest}", places, MEANT)
        finally:
            await store.close()
        whole = file.stat().st_size
    counts = {
        "messages": messages,
        "median_messages": median(findable.values()),
        "heaviest_messages": findable[heaviest],
    }
    vectors = {"vector_recall_at_10": fmean(meant[::2]), "vector_ms": fmean(meant[1::2])}
    held = {"index_mb": filled.index_bytes / 1e6, "rest_mb": (whole - filled.index_bytes) / 1e6}
    mine = {**spread(ours), **spread(our_heaviest, "heaviest_"), **vectors, **held, **counts}
    return mine, {**spread(likes), **spread(like_heaviest, "heaviest_")}


async def measure_one_person(
    vocabulary: Vocabulary, messages: int, searches: int, server: str = ""
) -> tuple[Figures, Figures]:
    """Return the metrics on SQLite, or on PostgreSQL at the URL `server` with those of SQLite as the baseline."""
    with TemporaryDirectory() as folder:
        urls = [f"sqlite:///{Path(folder) / 'person.db'}", *filter(None, [server])]
        stores = [await open_store(url) for url in urls]
        try:
            filled = [await fill(store, messages, 1, vocabulary, random.Random(7)) for store in stores]
            if server:
                await vacuum(server)
            asked = await stores[0].database.read(questions_of, 0, searches, vocabulary.common, random.Random(7))
            times, differing = await time_in_turn(stores, asked)
            topic, matches = await stores[0].database.read(word_in, vocabulary.common, messages // ERASED_SHARE)
            found = [
                {**spread(each, "one_person_"), **one.per_message()} for each, one in zip(times, filled, strict=True)
            ]
            for figures, store in zip(found, stores, strict=True):
                best = min([await preview_ms(store, topic) for _ in range(PREVIEWS)])
                figures[f"forget_preview_ms_{messages // ERASED_SHARE}"] = best
                figures["forget_preview_matches"] = matches
                if server:  # those of SQLite are measured among a million messages
                    meant = await store.database.write(measure_vectors, "p0", frozenset({PLACE}), MEANT)
                    figures["vector_recall_at_10"] = fmean(meant[::2])
        finally:
            for store in stores:
                await store.close()
    *baseline, mine = found
    if not baseline:
        return mine, {}
    ratios = {
        f"times_sqlite_{at}": mine[f"one_person_{at}_ms"] / found[0][f"one_person_{at}_ms"] for at in ("p50", "p95")
    }
    return mine | ratios | {"differing": differing}, found[0]


async def vacuum(server: str) -> None:
    connection = await connect(server, timeout_s=60, command_timeout_s=600, settings={})
    try:
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def time_in_turn(stores: Sequence[Store], asked: Sequence[str]) -> tuple[list[list[float]], int]:
    """Return the milliseconds of each search in each store, and the number of different results; the first round warms
    up.
    """
    times: list[list[float]] = [[] for _ in stores]
    differing = 0
    for round_ in range(2):
        for question in asked:
            found: list[list[tuple[int, float]]] = []
            for store, spent in zip(stores, times, strict=True):
                begin = time.perf_counter()
                hits = await store.memories.search(RecallQuery("p0", question, frozenset({PLACE}), "", LIMIT))
                if round_:
                    spent.append(1000 * (time.perf_counter() - begin))
                found.append([(hit.message.id, hit.score) for hit in hits])
            differing += bool(round_) and any(one != found[0] for one in found)
    return times, differing


def word_in(connection: Connection, words: Sequence[str], messages: int) -> tuple[str, int]:
    """Return the word that is in about this many messages of the first person, and the exact number."""
    held = {word: len(index.having(connection, index_words(word), 1)) for word in words}
    return min(held.items(), key=lambda one: abs(one[1] - messages))


async def preview_ms(store: Store, topic: str) -> float:
    begin = time.perf_counter()
    await store.forgetting.preview(AboutTopic("p0", topic))
    return 1000 * (time.perf_counter() - begin)


def run(options: Options) -> None:
    messages, people, searches = QUICK if options.quick else WHOLE
    of_one = QUICK_PERSON if options.quick else ONE_PERSON
    vocabulary = read_vocabulary(options.data) if options.data is not None else made_vocabulary()
    if options.engine == "postgresql":
        with running_postgres("shared_buffers=128MB") as server:
            asyncio.run(server.execute("CREATE DATABASE person"))
            of_both = measure_one_person(vocabulary, of_one, HEAVIEST_SEARCHES, server.url("person"))
            metrics, baseline = asyncio.run(of_both)
        print_report("search_scale", metrics, baseline, options, "PostgreSQL; the baseline is SQLite")
        return
    metrics, baseline = asyncio.run(measure_scale(vocabulary, messages=messages, people=people, searches=searches))
    of_person, _ = asyncio.run(measure_one_person(vocabulary, of_one, HEAVIEST_SEARCHES))
    notes = "SQLite, one process, searches one after the other"
    print_report("search_scale", metrics | of_person, baseline, options, notes)


if __name__ == "__main__":
    run(read_options("How fast recall searches a large store.", engines=("sqlite", "postgresql")))
