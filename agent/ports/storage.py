"""The ports of the store: memory and forgetting, the durable lists of turns and jobs, and the notification of workers.

Ids have the forms of `agent.incoming`; `audiences` are labels ("team:slack:T0123"); the `owner` of a turn or a job is a
worker's id. Every call of the store may raise StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import Place
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import EntriesPlan, ForgettingPlan, Preview, Receipt, Wish
from agent.memory.layers import WorkingItem
from agent.memory.profile import Partition, ProfileEntry, UserProfile, Utterance
from agent.memory.writing import Announced, NewFact, WriteRefused, Written
from agent.messages import ModelCall
from agent.recall_query import Hit, RecallQuery
from agent.shown_replies import Answered, ReplyVerdict, ShownPage
from agent.spending import By, SpendingPeriod, Total
from agent.state import SituationSummary
from agent.stored_messages import LastSeen, StoredMessage, Thread
from agent.summary import Uncovered
from agent.turn_records import Accepted, Claim, Claiming, Closing, Known, Load, Waiting


class ThreadHistory(Protocol):
    """The messages of a conversation, and a person's latest conversation."""

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        """Return the last `limit` messages of turns before `before_turn`, oldest first, each question followed by its
        answer.
        """
        ...

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        """Return the person's other conversation in which the last turn began; None if there is none."""
        ...


class Conversations(ThreadHistory, Protocol):
    """The messages by conversation and by person, and the watermark of each platform."""

    async def threads(self, person: str, *, limit: int, audiences: frozenset[str] | None = None) -> list[Thread]:
        """Return the conversations in which the person wrote, the latest first, by messages to these audiences only."""
        ...

    async def groups(self, person: str, limit: int) -> list[str]:
        """Return the group places ("slack:T0123:C0123") that hold a thread, a fact or a profile of the person, the
        latest first.
        """
        ...

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """Return the ids of the people who wrote in this conversation; None if it is unknown."""
        ...

    async def questions(self, person: str, *, limit: int) -> list[str]:
        """Return the last `limit` texts of the person in all conversations, oldest first."""
        ...

    async def messages_of(
        self, person: str, audiences: frozenset[str], *, before: int | None, limit: int
    ) -> list[StoredMessage]:
        """Return the person's messages and the answers to them, to these audiences: the last `limit` before the message
        with the id `before` (None: of all), the newest first.
        """
        ...

    async def last_said(self, conversation: str) -> datetime | None:
        """Return the time of the last message in this conversation; None if it is unknown."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        """Return a platform's conversations in which a person wrote since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Return the time up to which all messages of a platform were received; None if it was never set."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Store the time up to which all messages of a platform were received."""
        ...


class Knowledge(Protocol):
    """The stored input of a turn's context, as one snapshot."""

    async def for_turn(
        self, incoming: Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> Known:
        """Return what the store has for the context of a turn, as one snapshot.

        The last `messages` of the conversation; facts and profile as `Facts.readable` and `Profiles.readable` select
        them, and of many facts those that the question may need. Without a summary, the last `actions` records of the
        person's turns there, except those that drew on another audience: their results may hold untold text.
        """
        ...


class Summaries(Protocol):
    """The summaries of the parts of conversations that the model no longer sees (see `agent.summary`)."""

    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        """Return the summary so far and the newest messages after it, up to the id `until`.

        None without a conversation. Only what was said to the conversation's current readers.
        """
        ...

    async def save(
        self, conversation: str, before: Uncovered, made_of: Sequence[StoredMessage], summary: SituationSummary
    ) -> bool:
        """Store the summary, which covers the messages `made_of`, too.

        False, and nothing is stored, if the earlier summary or a message has changed, or a message was forgotten.
        """
        ...


class FactWriter(Protocol):
    """Stores the facts that a person asked to be remembered."""

    async def write(self, new: NewFact) -> Written | WriteRefused:
        """Apply `agent.memory.writing.write` to all facts so far. Writes of one audience run one after the other.

        The store sets the id: `new.id` is ignored. It keeps a bounded number of facts of a person in one place and
        drops others (`Written.dropped`). Raises StoreError if the source message was forgotten meanwhile.
        """
        ...


class Facts(FactWriter, Protocol):
    """Facts that people asked to be remembered, learned facts, and policies; see `agent.memory.facts`."""

    async def retract(self, fact: str, new: NewFact) -> Written | WriteRefused | None:
        """Retract a fact of the partition of `new`, as `agent.memory.writing.retract` does.

        None if there is no such valid fact.
        """
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> list[Fact]:
        """Return the facts that may be used for these audiences: the person's, those of no person, and those that the
        person opened to all replies to them; oldest first, with links to their sources. Superseded facts are included:
        the caller checks `is_valid`.
        """
        ...

    async def latest(self, person: str, audience: str, limit: int, about: str = "") -> list[Fact]:
        """Return `limit` valid facts of the person in this audience, the newest first: the newest ones, up to half of
        them those that share words with the text `about`.
        """
        ...

    async def in_own_words(self, person: str, facts: Collection[str]) -> frozenset[str]:
        """Return those of the person's facts that say only what the person wrote."""
        ...

    async def kept_in(self, turn: int) -> list[Written]:
        """Return the asker's facts from this turn's question and those that its answer told of, oldest first, each with
        the facts that it superseded.
        """
        ...

    async def doubts(self, person: str, audience: str, limit: int) -> list[tuple[Fact, Fact]]:
        """Return the person's valid facts that a newer one may have replaced, each with that one, the newest first."""
        ...

    async def settle(self, person: str, audience: str, older: str, newer: str, *, replaced: bool) -> bool:
        """Settle a doubt: the newer fact replaced the older one, or both hold. Return whether anything changed."""
        ...

    async def announce(self, turn: int) -> Announced:
        """Return the facts of which this turn's answer tells: those of its audience that no answer has told of yet.

        They count as told from then on. A second call for the turn returns the same.
        """
        ...

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        """Allow a fact in all replies to the person, or only where it was said; False if it is gone."""
        ...


class WorkingSet(Protocol):
    """Scratch values of conversations, which expire."""

    async def store_item(self, conversation: str, audience: str, item: WorkingItem) -> None:
        """Store a scratch value of a conversation until it expires, in place of an earlier one with its key.

        It is forgotten with its message. Raises StoreError if that was forgotten meanwhile.
        """
        ...


class Memories(Protocol):
    """The search of past threads."""

    async def search(self, query: RecallQuery) -> list[Hit]:
        """Search the person's past threads, best hit first. Any text is a valid query; none raises."""
        ...

    async def index_more(self, job: Job) -> bool:
        """Run the next step of a job of the kind `INDEXING`, which makes more messages searchable. False: all done."""
        ...


class Profiles(Protocol):
    """What is known about people, and which of their messages wait to be learned from (`Closing.learn_at`)."""

    async def get(self, partition: Partition) -> UserProfile:
        """Return the profile of one partition, for learning."""
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        """Return the entries that may be used for these audiences, each with the link to its newest source."""
        ...

    async def all_entries(self, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
        """Return all entries of the person that may be shown there, with links, the oldest first.

        Includes the entries that `readable` leaves out because newer ones replace them.
        """
        ...

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        """Return the messages that wait to be learned from, oldest first."""
        ...

    async def skip_learning(self, *, person: str | None = None, channel: str | None = None) -> int:
        """Never learn from the waiting messages of this person, in this channel, or both. Returns their number."""
        ...

    async def save(
        self,
        partition: Partition,
        profile: UserProfile,
        learned: Sequence[Utterance] = (),
        stated: Sequence[NewFact] = (),
    ) -> bool:
        """Store the new profile, mark these messages as learned from, and write the facts that they state, in one
        transaction. A fact that may not be written is left out.

        False, and nothing is stored, if any of it was forgotten, changed or learned by another worker meanwhile.
        """
        ...


class Preferences(Protocol):
    """Stored choices, by name. `owner` is a person's id, "everyone", "channel:", "team:", "thread:", "direct:" (what
    goes on there) or "source:" (what was done there) and an id; or "bot", for what operators decide.
    """

    async def all_of(self, owner: str) -> dict[str, str]:
        """Return all choices of the owner."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Store a choice in place of an earlier one; None deletes it."""
        ...

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        """Atomically replace exactly the choice `before` (None: no choice).

        False, and nothing is changed, if another one is stored.
        """
        ...


class Spending(Protocol):
    """The usage of model calls: tokens, and nano-dollars at list prices."""

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        """Return the usage in these days, of everyone or of one person: a total for each key, in order of the keys."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        """Store the usage of calls outside of turns; `kind` is their purpose, `where` their channel."""
        ...


class Forgetting(Protocol):
    """Erasing by plans, with proof (`Receipt`): every text and id that a plan reaches, and what was derived from it."""

    async def preview(self, plan: Wish, watch: Callable[[int], object] = ...) -> Preview:
        """Return what the plan would erase now.

        `watch` is called now and then with the number of messages found, perhaps on another thread; an exception that
        it raises ends the search and is raised here.
        """
        ...

    async def forget(
        self, plan: ForgettingPlan, now: datetime, *, replies: bool = ..., related: bool = ..., limit: int | None = ...
    ) -> Receipt:
        """Erase what the plan names in one transaction, then search for proof. `limit`: see `retire`.

        `replies`: also delete the erased replies of the bot on the platform, by jobs (`DELETE_REPLY`). `related`: also
        erase what may have been derived (`Preview.related`).
        """
        ...

    async def titles(self, plan: ForgettingPlan, *, related: bool = False) -> list[ShownPage]:
        """Return where platforms show text that the plan would erase, beside the messages: the names of threads whose
        first questions are erased. `related`: with the messages that may repeat it.
        """
        ...

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        """Erase the oldest `limit` messages of the plan in the background. Returns the erased rows by kind.

        There is no proof, and the bytes wait for `sweep`. When no messages are left, it erases the rest of the plan.
        """
        ...

    async def author(self, channel: str, message_id: str) -> str | None:
        """Return the author of a platform's message; None if unknown: most edited messages were not for the bot."""
        ...

    async def text(self, channel: str, message_id: str) -> str | None:
        """Return the stored text of a platform's message; None if unknown."""
        ...

    async def update_text(
        self,
        channel: str,
        message_id: str,
        text: str,
        now: datetime,
        learn_at: datetime | None = None,
        held: Job | None = None,
    ) -> bool:
        """Store the new text of an edited earlier message, and erase what was derived from the old one.

        If the message was answered, it is learned from again at `learn_at` (None: not). False if nothing changed.
        `held`: the `EDIT` job with this text, which a newer edit removes. None: this text is the newest, and every
        `EDIT` of the message is removed.
        """
        ...

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:
        """Erase single entries about a person. Their source messages stay, but are not learned from again."""
        ...

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> Receipt:
        """As `forget_entries`, but until then `undo` can restore them by this key: no bytes are gone yet.

        They are not shown or used meanwhile. Afterwards a job (`ERASE_ENTRIES`, with this key) must call `wipe`.
        """
        ...

    async def undo(self, person: str, key: str | None = None) -> str | None:
        """Restore what the person deleted under this key (None: last), except entries whose source is gone meanwhile.

        Returns the key; None if there is nothing to restore.
        """
        ...

    async def wipe(self, key: str) -> bool:
        """End the time in which `undo` can restore this; True when no bytes of it are left."""
        ...

    async def sweep(self) -> bool:
        """Wipe the bytes that earlier erasures could not (see their receipts); True when none are left."""
        ...


class TurnLedger(Protocol):
    """The part of the ledger for a process that answers only its own questions."""

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None
    ) -> Accepted:
        """Store the message and its turn in one transaction, once; with `claiming`, also `claim` in it.

        Raises TermsNotMet, and stores nothing, if the message is new and `terms` do not hold.
        """
        ...

    async def claim(self, claiming: Claiming) -> Claim | None:
        """Claim a turn whose lease ran out, else a waiting one whose conversation has no running turn.

        Of the waiting turns, the team with the fewest running turns that was served longest ago comes first; its people
        (with fewer than `per_person` running turns) take turns.
        """
        ...

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        """Hold the turn until `now` + `lease`."""
        ...

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        """Store the turn's progress, or the pages of its reply. Progress resets the count of attempts."""
        ...

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        """Store the reply and everything else of `closing`, clear progress and payload, and end the turn.

        Returns whether other turns wait, perhaps for this one.
        """
        ...

    async def release(self, claim: Claim) -> None:
        """Release an unfinished turn, so that any worker may claim it. This claim does not count as an attempt."""
        ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        """Move the person's open turns of dead processes to `source`. Returns their number.

        Only turns whose source is `family` ("terminal"), or begins with it and ":".
        """
        ...

    async def hold_place(self, source: str, until: datetime) -> bool:
        """Protect the questions of this source from takeover until then. False if none is open there."""
        ...


class Ledger(TurnLedger, Protocol):
    """The durable list of turns. Every write after `claim` is fenced by the claim's epoch and raises LeaseLost."""

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        """Store the message, once, as context of its conversation, with a turn that is already over."""
        ...

    async def restrict_place(self, channel: str, place: Place, now: datetime) -> int:
        """A channel has become `place`, which fewer can read: move its team messages there, with what was derived from
        them. Returns the number of messages. `accept` also does this when it notices the change.
        """
        ...

    async def set_text(self, claim: Claim, text: str) -> None:
        """Replace the question's text by the transcription of its recording."""
        ...

    async def put_aside(self, claim: Claim, until: datetime) -> None:
        """Let an unfinished turn wait for its asker's decision (`Consents`), no longer than until then."""
        ...

    async def stop(self, conversation: str, *, alone: bool = False) -> list[int]:
        """Mark the turns there that wait or run as to be stopped, with its long work unless `alone`; oldest first."""
        ...

    async def take_back(self, person: str, conversation: str | None) -> list[int]:
        """Mark the person's waiting turns that have shown something as to be stopped, and their pages to be deleted: in
        one conversation, or in all.
        """
        ...

    async def stopping(self, owner: str) -> frozenset[int]:
        """Return the turns of this worker that were marked, in any process, as to be stopped."""
        ...

    async def withdrawn(self, owner: str) -> frozenset[int]:
        """Return those of `stopping` whose question was deleted: their shown pages are to be deleted, too."""
        ...

    async def waiting(self, claim: Claim) -> list[Waiting]:
        """Return the next messages of the same person in this turn's conversation, in order.

        It ends at a message of another person, for other readers, or with more than text.
        """
        ...

    async def amend(self, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        """Replace the text of an edited question that still waits; False if it does not. `job`: like `held` of
        `Forgetting.update_text`.
        """
        ...

    async def withdraw(self, channel: str, message_id: str, now: datetime) -> bool:
        """End the turn of a deleted question, and erase its text; False if it neither waits nor runs.

        A running turn, in any process, is marked: see `stopping` and `withdrawn`.
        """
        ...

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        """Return the outcomes of those turns (row ids) that are over; None for one that was forgotten."""
        ...

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        """Return the pages of the reply to a turn that is over, () if it was forgotten; None while it is open."""
        ...

    async def load(self) -> Load:
        """Return how many turns run and wait, in all processes together."""
        ...

    async def release_all(self) -> int:
        """At the start of an embedded store, every lease belongs to a dead process: release them. Returns how many.

        Does nothing where other processes use the same database: their leases hold, and those of dead ones expire.
        """
        ...


class Replies(Protocol):
    """The replies that platforms show, as long as their questions and texts are kept."""

    async def by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """Return the finished reply with this page, by the platform's ids; None if there is none (any more).

        `channel`: of the question, where page ids are unique only there.
        """
        ...

    async def running_by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """Return the unfinished reply with this page, with its pages so far."""
        ...

    async def by_turn(self, turn: int) -> Answered | None:
        """Return the finished reply of a turn; None if none is shown (any more)."""
        ...

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        """Store a person's verdict on a reply, in place of an earlier one; None deletes it.

        False if there is no such reply.
        """
        ...

    async def verdicts(self, since: datetime) -> Mapping[ReplyVerdict, int]:
        """Return the number of verdicts of each kind since then."""
        ...


class Jobs(Protocol):
    """The durable list of work outside of turns. Of one kind and key at most one waits, until the one that runs ends.

    Every write after `claim` is fenced by the job's epoch and raises LeaseLost. Times are absolute: the caller converts
    local times.
    """

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        """Add a job that runs at `run_at` or later. A waiting job of its kind and key gets the new payload and time."""
        ...

    async def replace(self, kind: str, key: str, *, payload: str, person: str) -> bool:
        """Replace the payload of the waiting job; its time stays. False if there is none."""
        ...

    async def cancel(self, kind: str, key: str) -> bool:
        """Delete the waiting job. False if there is none."""
        ...

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
        """Claim the job of these kinds that was due first, or one whose worker's lease ran out."""
        ...

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        """Hold the job until `now` + `lease`."""
        ...

    async def finish(self, job: Job) -> None:
        """Delete the job, which is done."""
        ...

    async def postpone(self, job: Job, run_at: datetime) -> None:
        """Try again later. If a newer job of its kind and key waits already, that one replaces both."""
        ...

    async def late(self, now: datetime) -> dict[str, timedelta]:
        """Return by kind how long the first due job has waited; kinds without a due job are left out."""
        ...


class Notifier(Protocol):
    """Wakes workers that wait for something to do. Workers also poll, so a notification may be lost, and a superfluous
    one does no harm.
    """

    @property
    def is_notified(self) -> bool:
        """Whether `notify` was called since the last wait ended."""
        ...

    def notify(self) -> None:
        """Wake the waiting workers in every process that uses the same ledger. Returns at once."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is a notification, or was one since the last wait, or the time is over."""
        ...


class AgentStore(Protocol):
    """What an agent keeps between its answers: in the process, or in a database."""

    @property
    def ledger(self) -> TurnLedger:
        """The turns, each while it is answered."""
        ...

    @property
    def knowledge(self) -> Knowledge:
        """The input of a turn's context."""
        ...

    @property
    def memories(self) -> Memories:
        """The search of past threads."""
        ...

    @property
    def conversations(self) -> ThreadHistory:
        """The messages."""
        ...

    @property
    def facts(self) -> FactWriter:
        """The facts that the tool `remember` stores."""
        ...

    @property
    def working_set(self) -> WorkingSet:
        """The scratch values that the tool `remember` stores."""
        ...
