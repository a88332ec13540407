"""The ports of what is kept and forgotten, of the durable lists of turns and jobs, and of what wakes those who do them.

Ids have the forms of `agent.records`; `audiences` are labels ("team:slack:T0123"), `owner` of a turn or a job is a
worker's own id. What asks the store may raise StoreError, and StoreUnavailable if the same may work later.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from agent import records
from agent.admission_terms import Terms
from agent.events import Outcome
from agent.memory.audience import Place
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import EntriesPlan, ForgettingPlan, Preview, Wish
from agent.memory.layers import WorkingItem
from agent.memory.profile import Partition, ProfileEntry, UserProfile, Utterance
from agent.memory.writing import NewFact, WriteRefused, Written
from agent.messages import ModelCall
from agent.spending import By, SpendingPeriod, Total
from agent.state import SituationSummary
from agent.summary import Uncovered


class ThreadHistory(Protocol):
    """What was said in a conversation, and which one was the latest."""

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[records.StoredMessage]:
        """The last `limit` messages of turns before this one, oldest first, each question followed by its answer."""
        ...

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        """The other conversation of the person's in which the last turn began; None if there is none."""
        ...


class Conversations(ThreadHistory, Protocol):
    """What was said, by conversation and by person, and up to when a platform was heard."""

    async def threads(
        self, person: str, *, limit: int, audiences: frozenset[str] | None = None
    ) -> list[records.Thread]:
        """The conversations in which the person wrote, the latest first; of what was said to these audiences only."""
        ...

    async def groups(self, person: str, limit: int) -> list[str]:
        """The group places ("slack:T0123:C0123") to which something of the person belongs: a thread, a fact, a profile;
        the latest first.
        """
        ...

    async def participants(self, conversation: str) -> frozenset[str] | None:
        """The ids of the people who wrote in this conversation; None if it is not known."""
        ...

    async def questions(self, person: str, *, limit: int) -> list[str]:
        """What the person wrote last, in all conversations, oldest first."""
        ...

    async def messages_of(
        self, person: str, audiences: frozenset[str], *, before: int | None, limit: int
    ) -> list[records.StoredMessage]:
        """What the person wrote and was answered, as far as it was said to these audiences: the last `limit` before
        that message (its id; None: of all), the newest first.
        """
        ...

    async def last_said(self, conversation: str) -> datetime | None:
        """When something was said in this conversation last; None if nothing is known of it."""
        ...

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[records.LastSeen]:
        """A platform's conversations in which somebody wrote since then, the latest first."""
        ...

    async def watermark(self, source: str) -> datetime | None:
        """Everything that was said on a platform up to this time has come in; None if it was never kept."""
        ...

    async def set_watermark(self, source: str, time: datetime) -> None:
        """Keep that time."""
        ...


class Knowledge(Protocol):
    """What a turn begins with, read at one moment."""

    async def known(
        self, incoming: records.Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> records.Known:
        """Everything that the store has for the context of a turn, as it is at one moment.

        The last `messages` of the conversation; facts and profile as `Facts` and `Profiles` say of what is readable, of
        many facts those that the question may need.
        Without a summary the last `actions` records of what was done in the person's turns there. What drew on anything
        of another audience is not among them: its results may hold what nobody was told.
        """
        ...


class Summaries(Protocol):
    """What stands for the part of a conversation that its model no longer sees (see `agent.summary`)."""

    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        """The summary so far, and the newest messages after it up to that one (its id); None without a conversation.

        Only what was said to the readers whom the conversation has now.
        """
        ...

    async def keep(
        self, conversation: str, before: Uncovered, made_of: Sequence[records.StoredMessage], summary: SituationSummary
    ) -> bool:
        """Keep the summary, which covers these messages, too.

        False, and nothing is kept, if the one before has changed, or one of the messages has, or was forgotten.
        """
        ...


class FactWriter(Protocol):
    """Keeps what a person asked to be remembered."""

    async def write(self, new: NewFact) -> Written | WriteRefused:
        """Do what `agent.memory.writing.write` says of all facts so far, one write of an audience after the other.

        The store names the fact: `new.id` is not looked at. Of a person in one place it keeps a bounded number, and
        makes room (`Written.dropped`). Raises StoreError if the message that it comes from was
        forgotten meanwhile.
        """
        ...


class Facts(FactWriter, Protocol):
    """What people asked to be remembered, what was learned, and what binds everybody; see `agent.memory.facts`."""

    async def retract(self, fact: str, new: NewFact) -> Written | WriteRefused | None:
        """Take a fact of the partition of `new` back, as `agent.memory.writing.retract` does.

        None if there is no such fact that holds.
        """
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> list[Fact]:
        """What may be used for these audiences of the person's facts and of nobody's in particular, oldest first, each
        with the link to its source; and what the person opened to all replies to them. What was superseded is among
        them: whoever shows them looks at `is_valid`.
        """
        ...

    async def latest(self, person: str, audience: str, limit: int) -> list[Fact]:
        """The newest `limit` valid facts of the person in this audience, the newest first."""
        ...

    async def in_own_words(self, person: str, facts: Collection[str]) -> frozenset[str]:
        """Those of these facts of the person's that say nothing but what they wrote themselves."""
        ...

    async def kept_in(self, turn: int) -> list[Written]:
        """Facts of its asker that came of this turn's question, oldest first, each with what it took the place of."""
        ...

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        """Let a fact of the person's be used in all replies to them, or only where it was said; False if it is gone."""
        ...


class WorkingSet(Protocol):
    """Scratch values of conversations, which expire."""

    async def keep(self, conversation: str, audience: str, item: WorkingItem) -> None:
        """Keep a scratch value of a conversation until it expires, in place of an earlier one of its key.

        It falls with its message. Raises StoreError if that was forgotten meanwhile.
        """
        ...


class Memories(Protocol):
    """The search of past threads."""

    async def search(self, query: records.RecallQuery) -> list[records.Hit]:
        """The person's past threads, best hit first. Any text is a valid query; none raises."""
        ...

    async def index_more(self, job: records.Job) -> bool:
        """Do the next step of a job of the kind `INDEXING`: let people find more of what they may. False: all done."""
        ...


class Profiles(Protocol):
    """What is known of people, and which of their messages wait to be learned from (`Closing.learn_at`)."""

    async def of(self, partition: Partition) -> UserProfile:
        """The profile of one partition, for learning."""
        ...

    async def readable(self, person: str, audiences: frozenset[str]) -> UserProfile:
        """What may be used for these audiences, each entry with the link to its newest source."""
        ...

    async def known(self, person: str, audiences: frozenset[str]) -> list[ProfileEntry]:
        """Everything that is kept of the person and may be shown there, with links, the oldest first.

        Also what `readable` leaves out because something newer stands in its place.
        """
        ...

    async def unlearned(self, partition: Partition, limit: int) -> list[Utterance]:
        """The messages that wait, oldest first."""
        ...

    async def skip_learning(self, *, person: str | None = None, channel: str | None = None) -> int:
        """Never learn from what waits of this person, in this channel, or of that person there; how many those were."""
        ...

    async def save(
        self,
        partition: Partition,
        profile: UserProfile,
        learned: Sequence[Utterance] = (),
        stated: Sequence[NewFact] = (),
    ) -> bool:
        """Keep the profile as it became, that these messages were learned from, and the facts that they state, in one
        transaction. A fact that may not be written is left out.

        False, and nothing is kept, if anything of it was forgotten, changed or learned by somebody else meanwhile.
        """
        ...


class Preferences(Protocol):
    """What was chosen, by name. `owner` is a person's id, "everyone", "channel:", "team:", "thread:", "direct:" (what
    goes on there) or "source:" (what was done there) and an id; or "bot", for what operators decide.
    """

    async def of(self, owner: str) -> dict[str, str]:
        """Every choice that stands."""
        ...

    async def set(self, owner: str, name: str, value: str | None) -> None:
        """Keep a choice in place of an earlier one; None takes it back."""
        ...

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        """Keep a choice in place of exactly this one (None: of none), whoever else tries at the same moment.

        False, and nothing is changed, if another one stands.
        """
        ...


class Spending(Protocol):
    """What model calls took: tokens, and nano-dollars at list prices."""

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        """What model calls took in these days, of everybody or of one person: a total for each key, in their order."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        """Keep what calls outside of turns took; `kind` says what they were for, `where` in which channel."""
        ...


class Forgetting(Protocol):
    """Erasing by plans, with proof (`Receipt`); every text and id that a plan reaches, and what came of it."""

    async def preview(self, plan: Wish, watch: Callable[[int], object] = ...) -> Preview:
        """What the plan would erase now.

        `watch` is told now and then how many messages were found, perhaps on another thread; what it raises ends the
        search, and is raised here.
        """
        ...

    async def forget(
        self, plan: ForgettingPlan, now: datetime, *, replies: bool = ..., related: bool = ..., limit: int | None = ...
    ) -> records.Receipt:
        """Erase what the plan names in one transaction, then search for proof. `limit`: as of `retire`.

        `replies`: have the bot's replies that fall deleted in the platform, too, by jobs (`DELETE_REPLY`). `related`:
        what may have been made of it falls, too (`Preview.related`).
        """
        ...

    async def titles(self, plan: ForgettingPlan) -> list[records.ShownPage]:
        """Where platforms show words that the plan would erase, beside the messages: the names of the threads whose
        first questions fall.
        """
        ...

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:
        """Erase the oldest `limit` messages of the plan, for which nobody waits: what went, by its kinds.

        Nothing is proved; the bytes wait for `sweep`. Without messages left it takes what else falls with the plan.
        """
        ...

    async def author(self, channel: str, message_id: str) -> str | None:
        """Whose message of a platform it is; None if it is not known: most of what is edited was never said to us."""
        ...

    async def update_text(
        self,
        channel: str,
        message_id: str,
        text: str,
        now: datetime,
        learn_at: datetime | None = None,
        held: records.Job | None = None,
    ) -> bool:
        """A message of the past was edited: keep its new words, and erase what came of the old ones.

        It is learned from again at `learn_at` (None: not) if it was answered. False if nothing was to do.
        `held`: the `EDIT` whose words these are; a newer edit has taken it away. None: these are the newest, and every
        `EDIT` of the message goes.
        """
        ...

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> records.Receipt:
        """Erase single things that are known of a person; what they were learned from stays, and teaches no more."""
        ...

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> records.Receipt:
        """As `forget_entries`, but until then `undo` brings them back under this key: no bytes are gone yet.

        Nothing shows or uses them meanwhile. Afterwards a job (`ERASE_ENTRIES`, of this key) has to call `wipe`.
        """
        ...

    async def undo(self, person: str, key: str | None = None) -> str | None:
        """Bring back what the person deleted under this key (None: last), but for what has lost its ground meanwhile.

        Its key; None if there is nothing to bring back.
        """
        ...

    async def wipe(self, key: str) -> bool:
        """End the time in which this can be brought back; True when no bytes of it are left."""
        ...

    async def sweep(self) -> bool:
        """Wipe the bytes that an earlier erasing could not yet (its receipt said so); True when none are left."""
        ...


class TurnLedger(Protocol):
    """The part of the ledger that a process needs which answers what it is asked itself."""

    async def accept(
        self, incoming: records.Incoming, terms: Terms | None = None, claiming: records.Claiming | None = None
    ) -> records.Accepted:
        """Store the message and its turn in one transaction, once; in the same one, `claim` for a free place, if given.

        Raises TermsNotMet, and stores nothing, if it is new and `terms` do not hold.
        """
        ...

    async def claim(self, claiming: records.Claiming) -> records.Claim | None:
        """Take a turn whose runner's lease ran out, else a waiting one whose conversation has none running.

        Of those the team's of which the fewest run, which was served longest ago; of its people, each (with fewer than
        `per_person`) in turn.
        """
        ...

    async def renew(self, claim: records.Claim, now: datetime, lease: timedelta) -> None:
        """Hold the turn until `now` + `lease`."""
        ...

    async def save(self, claim: records.Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        """Keep how far the turn got, or which pages show its reply. Progress makes its attempts count anew."""
        ...

    async def finish(self, claim: records.Claim, closing: records.Closing, now: datetime) -> bool:
        """Store the reply and everything else of `closing`, clear progress and payload, and end the turn.

        Whether other turns wait: perhaps for this one.
        """
        ...

    async def release(self, claim: records.Claim) -> None:
        """Give an unfinished turn back, to be claimed by anybody at once. This claim does not count as an attempt."""
        ...

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        """Let `source` have the open turns that processes which are gone have left of this person; how many.

        Only those whose source is `family` ("terminal"), or begins with it and ":".
        """
        ...

    async def hold_place(self, source: str, until: datetime) -> bool:
        """Let the questions of this source wait until then without being taken over. False if none is open there."""
        ...


class Ledger(TurnLedger, Protocol):
    """The durable list of turns. Every write after `claim` is fenced by the claim's epoch and raises LeaseLost."""

    async def record_context_message(self, incoming: records.Incoming) -> records.Accepted:
        """Store the message, once, as context of its conversation: its turn is over before it begins."""
        ...

    async def restrict_place(self, channel: str, place: Place, now: datetime) -> int:
        """A channel has become `place`, which fewer can read: what it holds for its team belongs there from now on,
        with what came of it. How many messages that were. `accept` does it, too, where it finds it.
        """
        ...

    async def set_text(self, claim: records.Claim, text: str) -> None:
        """Put `text` in place of the question's words: it was spoken, and has been listened to."""
        ...

    async def put_aside(self, claim: records.Claim, until: datetime) -> None:
        """Let an unfinished turn wait for its asker's word (`Consents`), at most until then."""
        ...

    async def stop(self, conversation: str, *, alone: bool = False) -> list[int]:
        """Mark the turns there that wait or run to be stopped, unless `alone` its long work, too; the oldest first."""
        ...

    async def take_back(self, person: str, conversation: str | None) -> list[int]:
        """Mark what waits of this person and has shown something as to be stopped, and its pages to be deleted: in one
        conversation, or in all.
        """
        ...

    async def stopping(self, owner: str) -> frozenset[int]:
        """The turns that this worker runs and that somebody, in any process, has marked as to be stopped."""
        ...

    async def withdrawn(self, owner: str) -> frozenset[int]:
        """Those of `stopping` whose question was deleted: what they have shown is to be deleted, too."""
        ...

    async def waiting(self, claim: records.Claim) -> list[records.Waiting]:
        """What the same person wrote behind this turn in its conversation, in order: words alone, for the same readers.

        It ends where somebody else wrote, or where more than words came along.
        """
        ...

    async def amend(self, channel: str, message_id: str, text: str, job: records.Job | None = None) -> bool:
        """Put an edited text in place of a question that still waits; False if it does not. `job`: as for
        `Forgetting.update_text`.
        """
        ...

    async def withdraw(self, channel: str, message_id: str, now: datetime) -> bool:
        """End the turn of a question that was deleted, and erase its words; False if it neither waits nor runs.

        One that runs, in whatever process, is marked: see `stopping` and `withdrawn`.
        """
        ...

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        """How those of these turns (row ids) ended that are over; None for one that was forgotten."""
        ...

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        """The pages of the reply to a turn that is over, none if it was forgotten; None while it is open."""
        ...

    async def load(self) -> records.Load:
        """How many turns run and wait, in all processes together."""
        ...

    async def release_all(self) -> int:
        """Embedded start-up: every lease belongs to a dead process. Frees those turns; returns how many.

        Does nothing where other processes work on the same database: their leases hold, and a dead one's run out.
        """
        ...


class Replies(Protocol):
    """The replies that stand in platforms, as long as their questions and their words are kept."""

    async def by_page(self, source: str, page_id: str, channel: str = "") -> records.Answered | None:
        """The finished reply of which this is a page, by the platform's ids; None if there is none (any more).

        `channel`: of the question, where page ids are unique only there.
        """
        ...

    async def running_by_page(self, source: str, page_id: str, channel: str = "") -> records.Answered | None:
        """The reply that is not finished yet and of which this is a page, with the pages that it has so far."""
        ...

    async def by_turn(self, turn: int) -> records.Answered | None:
        """The finished reply of a turn; None if it shows none (any more)."""
        ...

    async def judge(self, turn: int, person: str, verdict: records.ReplyVerdict | None, now: datetime) -> bool:
        """Keep what somebody thinks of a reply, in place of what they thought before; None takes it back.

        False if there is no such reply.
        """
        ...

    async def verdicts(self, since: datetime) -> Mapping[records.ReplyVerdict, int]:
        """How many people think so of replies, of what was judged since then."""
        ...


class Jobs(Protocol):
    """The durable list of work outside of turns. Of one kind and key at most one waits, until the one that runs ends.

    Every write after `claim` is fenced by the job's epoch and raises LeaseLost. Times are moments: whoever means "nine
    o'clock here" reckons it out.
    """

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        """Let this be done, not before `run_at`. One that waits already takes the new payload and time."""
        ...

    async def replace(self, kind: str, key: str, *, payload: str, person: str) -> bool:
        """Give the one that waits this payload, at its time. False if there is none."""
        ...

    async def cancel(self, kind: str, key: str) -> bool:
        """Drop the one that waits. False if there is none."""
        ...

    async def claim(self, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> records.Job | None:
        """Take the due job of these kinds whose time came first, or one whose worker's lease ran out."""
        ...

    async def renew(self, job: records.Job, now: datetime, lease: timedelta) -> None:
        """Hold the job until `now` + `lease`."""
        ...

    async def finish(self, job: records.Job) -> None:
        """It is done: nothing of it stays."""
        ...

    async def postpone(self, job: records.Job, run_at: datetime) -> None:
        """Try again later. If a newer one of its kind and key waits already, that one stands for both."""
        ...

    async def late(self, now: datetime) -> dict[str, timedelta]:
        """By kind, how long the first job that is due has waited; nothing of kinds of which none is."""
        ...


class Notifier(Protocol):
    """Wakes those who wait for something to do. What is due is also found by looking, so a notification
    may be lost, and one too many does no harm.
    """

    @property
    def is_notified(self) -> bool:
        """Whether `notify` was called since the last wait ended."""
        ...

    def notify(self) -> None:
        """Wake whoever waits, in every process that works on the same ledger. Returns at once."""
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
        """What a turn begins with."""
        ...

    @property
    def memories(self) -> Memories:
        """The search of past threads."""
        ...

    @property
    def conversations(self) -> ThreadHistory:
        """What was said."""
        ...

    @property
    def facts(self) -> FactWriter:
        """Where `remember` keeps what holds."""
        ...

    @property
    def working_set(self) -> WorkingSet:
        """Where it keeps what holds for now."""
        ...
