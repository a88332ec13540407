"""A store in memory: the ports Ledger, Conversations, Memories and Forgetting, held as plain lists.

It keeps the same rules as `store` (the contract suite in `tests/contracts` runs on both) without database, locks
or ranking by rarity. Tests look at its lists: `turns`, `messages`, `facts.kept`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from agent import texts
from agent.admission_terms import Terms
from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.memory.audience import GroupAudience, Place, TeamAudience, audience_of, label, may_flow_from
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import (
    ERASE_ENTRIES,
    PAUSED,
    Deleted,
    EntriesPlan,
    Everything,
    ForgettingPlan,
    OneThread,
    Preview,
    Wish,
)
from agent.memory.profile import LEARNING, Partition, ProfileEntry, UserProfile
from agent.ports import Conversations, Forgetting, Knowledge, Ledger, Memories, Preferences, Replies
from agent.records import (
    DELETE_REPLY,
    EPHEMERAL_PAGE,
    POSTED_BY_BOT,
    Accepted,
    Author,
    Claim,
    Claiming,
    Closing,
    Hit,
    Incoming,
    Known,
    LastSeen,
    Load,
    RecallQuery,
    Receipt,
    ReplyVerdict,
    ShownPage,
    ShownReply,
    StoredMessage,
    Thread,
    Waiting,
)
from agent.state import LastActions, SituationSummary
from store import rows
from store.memory.profiles import ENOUGH
from store.search.text import holds, quotes
from tests.fakes import forgetting, narrowing, queue, recall
from tests.fakes.facts import FakeFacts
from tests.fakes.jobs import FakeJobs
from tests.fakes.preferences import FakePreferences
from tests.fakes.profiles import FakeProfiles
from tests.fakes.replies import FakeReplies
from tests.fakes.spending import FakeSpending
from tests.fakes.working import FakeWorkingSet


@dataclass
class FakeTurn:
    id: int
    incoming: Incoming
    message: int
    state: str = "waiting"
    epoch: int = 0
    attempts: int = 0
    lease_until: datetime | None = None
    progress: str = ""
    reply_ref: str = ""
    closing: Closing | None = None
    owner: str = ""
    stopping: bool = False
    withdrawn: bool = False
    taken: datetime | None = None


@dataclass
class FakeStore:
    """One object that implements all four ports."""

    turns: list[FakeTurn] = field(default_factory=list[FakeTurn])
    messages: list[tuple[int, StoredMessage]] = field(default_factory=list[tuple[int, StoredMessage]])
    """(turn, message), in the order of (turn, id)."""
    summaries: dict[str, SituationSummary] = field(default_factory=dict[str, SituationSummary])
    erased: dict[tuple[str, str, str], datetime] = field(default_factory=dict[tuple[str, str, str], datetime])
    fail_next: Exception | None = None
    """Raised by the next save."""
    fail_next_claim: Exception | None = None
    on_claim: Callable[[int], object] | None = None
    """Called with the turn of each claim."""
    choices: FakePreferences = field(default_factory=FakePreferences)
    spent: FakeSpending = field(default_factory=FakeSpending)
    jobs: FakeJobs = field(default_factory=FakeJobs)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    facts: FakeFacts = field(default_factory=FakeFacts)
    working_set: FakeWorkingSet = field(default_factory=FakeWorkingSet)
    judged: dict[tuple[int, str], tuple[ReplyVerdict, datetime]] = field(
        default_factory=dict[tuple[int, str], tuple[ReplyVerdict, datetime]]
    )
    served: dict[str, datetime] = field(default_factory=dict[str, datetime])
    heard: dict[str, datetime] = field(default_factory=dict[str, datetime])
    deleted: dict[str, tuple[str, tuple[Fact, ...], dict[Partition, UserProfile], set[int]]] = field(
        default_factory=dict[str, tuple[str, tuple[Fact, ...], dict[Partition, UserProfile], set[int]]]
    )
    """By their keys: whose it is, and everything as it was before."""
    erased_messages: set[int] = field(default_factory=set[int])
    ids: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.profiles.facts = self.facts
        self.facts.questions = self._questions

    def _questions(self, turn: int) -> set[int]:
        return {one.id for number, one in self.messages if number == turn and one.author is Author.PERSON}

    @property
    def ledger(self) -> Ledger:
        return self

    @property
    def conversations(self) -> Conversations:
        return self

    @property
    def knowledge(self) -> Knowledge:
        return self

    @property
    def memories(self) -> Memories:
        return self

    @property
    def forgetting(self) -> Forgetting:
        return self

    @property
    def preferences(self) -> Preferences:
        return self.choices

    @property
    def spending(self) -> FakeSpending:
        return self.spent

    @property
    def replies(self) -> Replies:
        return FakeReplies(self)

    async def close(self) -> None:
        """Nothing to give back."""

    # Ledger

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None
    ) -> Accepted:
        for turn in self.turns:
            if _keys(turn.incoming) & _keys(incoming):
                return Accepted(turn.id, duplicate=True)
        if _keys(incoming) & self.erased.keys():
            return Accepted(0, duplicate=True)
        if terms is not None:
            queue.check(self.turns, incoming, terms)
        try:
            may_flow_from(incoming.place)
        except ValueError as error:
            raise StoreError(texts.PLACE_UNKNOWN) from error
        await self.restrict_place(incoming.channel, incoming.place, incoming.time)
        if not self._has_the_same_readers(incoming):
            self.summaries.pop(incoming.conversation, None)
        turn = FakeTurn(next(self.ids), incoming, message=next(self.ids), taken=terms.now if terms else None)
        self.turns.append(turn)
        self._store(turn, _question(turn))
        turn = self._place(turn)
        return Accepted(turn.id, duplicate=False, claim=None if claiming is None else self._claim(claiming))

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        accepted = await self.accept(incoming)
        for turn in self.turns:
            if turn.id == accepted.turn and not accepted.duplicate:
                turn.state = "done"
        return accepted

    async def restrict_place(self, channel: str, place: Place, now: datetime) -> int:
        there = {turn.id for turn in self.turns if turn.incoming.channel == channel}
        here = [m for turn, m in self.messages if turn in there]
        moving = [m for m in here if isinstance(audience_of(m.audience), TeamAudience)]
        if not (place.whole_channel and isinstance(place.audience, GroupAudience) and moving):
            return 0
        own, wide, threads = label(place.audience), {m.audience for m in moving}, {m.conversation for m in moving}
        for turn in self.turns:
            if turn.id in there and label(turn.incoming.place.audience) in wide:
                self.spent.record(turn.id, turn.incoming, rows.progress_calls(turn.progress), now)
                turn.incoming = replace(turn.incoming, place=place)
                turn.progress = ""
                if turn.state == "running":
                    _restart(turn)
        self.messages = narrowing.move_messages(self.messages, {m.id for m in moving}, own)
        for thread in threads:
            self.summaries.pop(thread, None)
        said = {m.id for turn, m in self.messages if turn in there and m.audience == own}
        narrowing.move_facts(self.facts, said, wide, own)
        narrowing.move_entries(self.profiles, said, wide, own)
        narrowing.move_working(self.working_set, threads, wide, own)
        for before in narrowing.move_waiting(self.profiles, said, wide, own):
            job = self.jobs.waiting.get((LEARNING, before.key))
            payload, run_at = ("", now) if job is None else (job.payload, job.run_at)
            await self.jobs.schedule(LEARNING, replace(before, audience=own).key, payload, run_at, person=before.person)
        return len(moving)

    async def claim(self, claiming: Claiming) -> Claim | None:
        return self._claim(claiming)

    def _claim(self, claiming: Claiming) -> Claim | None:
        owner, now = claiming.owner, claiming.now
        if self.fail_next_claim is not None:
            failure, self.fail_next_claim = self.fail_next_claim, None
            raise failure
        chosen = queue.next_turn(self.turns, self.served, now, claiming.per_person, claiming.sources)
        if chosen is None:
            return None
        turn = next(turn for turn in self.turns if turn.id == chosen)
        turn.state, turn.lease_until, turn.owner = "running", now + claiming.lease, owner
        turn.epoch += 1
        turn.attempts += 1
        self.served[turn.incoming.person.id] = now
        if self.on_claim is not None:
            self.on_claim(turn.id)
        kept = (turn.attempts, turn.progress, turn.reply_ref, turn.stopping, turn.withdrawn)
        return Claim(turn.id, turn.epoch, owner, turn.incoming, turn.message, *kept)

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        self._held(claim).lease_until = now + lease

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        if self.fail_next is not None:
            failure, self.fail_next = self.fail_next, None
            raise failure
        turn = self._held(claim)
        if rows.progress_sources(progress or "") & self.erased_messages:
            self.spent.record(turn.id, turn.incoming, rows.progress_calls(progress or ""), turn.incoming.time)
            _restart(turn)
            raise LeaseLost(f"Turn {claim.turn} starts anew: something that it quotes was forgotten.")
        if progress is not None:
            turn.progress, turn.attempts = progress, 0
        turn.reply_ref = turn.reply_ref if reply_ref is None else reply_ref

    async def set_text(self, claim: Claim, text: str) -> None:
        turn = self._held(claim)
        if not turn.withdrawn:
            turn.incoming = replace(turn.incoming, text=text)
            self.messages = [(t, _question(turn) if m.id == turn.message else m) for t, m in self.messages]

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        turn = self._held(claim)
        self.spent.record(turn.id, turn.incoming, closing.calls or rows.progress_calls(turn.progress), now)
        turn.state, turn.lease_until, turn.progress, turn.reply_ref, turn.closing = "done", None, "", "", closing
        stands = not self.erased_messages & set(closing.context_messages) and self._has_the_same_readers(turn.incoming)
        if closing.summary is not None and stands:
            before = self.summaries.get(turn.incoming.conversation, SituationSummary())
            self.summaries[turn.incoming.conversation] = before.merged(asdict(closing.summary))
        if closing.reply:
            page = closing.pages[0] if closing.pages else None
            answer = replace(_question(turn), id=next(self.ids), author=Author.BOT, text=closing.reply, time=now)
            self._store(turn, replace(answer, message_id=page, permalink=None))
            self._end_joined(turn, closing)
        if closing.passed_over:
            self.profiles.pass_over_messages({m.id for t, m in self.messages if t == turn.id})
        elif closing.learn_at is not None:
            await self._gather(turn, closing.learn_at, now)
        return any(turn.state == "waiting" for turn in self.turns)

    async def _gather(self, turn: FakeTurn, at: datetime, now: datetime) -> None:
        asked = [m for t, m in self.messages if t == turn.id and m.author is Author.PERSON]
        self.profiles.gather(asked, turn.incoming.channel)
        partition = Partition(turn.incoming.person.id, label(turn.incoming.place.audience))
        run_at = now if self.profiles.how_many_wait(partition) >= ENOUGH else at
        await self.jobs.schedule(
            LEARNING, partition.key, str(int(turn.incoming.authority)), run_at, person=partition.person
        )

    async def release(self, claim: Claim) -> None:
        turn = self._held(claim)
        turn.state, turn.lease_until, turn.attempts = "waiting", None, max(0, turn.attempts - 1)

    async def stop(self, conversation: str) -> list[int]:
        mine = [turn for turn in self.turns if turn.incoming.conversation == conversation and turn.state != "done"]
        for turn in mine:
            turn.stopping = True
        return [turn.id for turn in mine]

    async def stopping(self, owner: str) -> frozenset[int]:
        mine = (turn for turn in self.turns if turn.state == "running" and turn.owner == owner)
        return frozenset(turn.id for turn in mine if turn.stopping)

    async def withdrawn(self, owner: str) -> frozenset[int]:
        stopping = await self.stopping(owner)
        return frozenset(turn.id for turn in self.turns if turn.id in stopping and turn.withdrawn)

    async def waiting(self, claim: Claim) -> list[Waiting]:
        asked, found = claim.incoming, list[Waiting]()
        for turn in self.turns:
            if turn.state != "waiting" or turn.incoming.conversation != asked.conversation or turn.id < claim.turn:
                continue
            same = (turn.incoming.person.id, turn.incoming.place.audience) == (asked.person.id, asked.place.audience)
            along = turn.incoming.quoted or turn.incoming.images or turn.incoming.files
            if not same or turn.stopping or turn.progress or along:
                break
            found.append(Waiting(turn.id, turn.message, turn.incoming.text))
        return found

    def _end_joined(self, ended: FakeTurn, closing: Closing) -> None:
        for one in closing.joined:
            for turn in self.turns:
                if turn.id == one.turn and turn.state == "waiting" and turn.incoming.text == one.text:
                    turn.state = "done"
                    self.messages = [(ended.id if m.id == one.message else t, m) for t, m in self.messages]
                    self.messages.sort(key=lambda stored: (stored[0], stored[1].id))

    async def amend(self, channel: str, message_id: str, text: str) -> bool:
        turn = self._waiting(channel, message_id)
        if turn is not None:
            turn.incoming = replace(turn.incoming, text=text)
            self.messages = [(t, _question(turn) if m.id == turn.message else m) for t, m in self.messages]
        return turn is not None

    async def withdraw(self, channel: str, message_id: str, now: datetime) -> bool:  # noqa: ARG002 -- it keeps no time
        turn = self._waiting(channel, message_id)
        if turn is not None:
            turn.state = "done"
            self.messages = [(t, m) for t, m in self.messages if m.id != turn.message]
            return True
        return any(self._take_back(turn) for turn in self.turns if turn.incoming.message_id == message_id)

    def _take_back(self, turn: FakeTurn) -> bool:
        if turn.state == "done" or not (turn.state == "running" or turn.progress or turn.reply_ref):
            return False
        turn.stopping = turn.withdrawn = True
        turn.incoming = replace(turn.incoming, text="")
        self.messages = [(t, _question(turn) if m.id == turn.message else m) for t, m in self.messages]
        return True

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        adopted = 0
        for turn in self.turns:
            lost = turn.lease_until is not None and turn.lease_until <= now
            left = turn.state == "waiting" and (turn.epoch > 0 or turn.incoming.time <= now - lease)
            theirs = turn.incoming.source.partition(":")[0] == family and turn.incoming.source != source
            if turn.incoming.person.id == person and theirs and (left or (turn.state == "running" and lost)):
                turn.incoming = replace(turn.incoming, source=source)
                adopted += 1
        return adopted

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        known = {turn.id: turn for turn in self.turns}
        over = (id_ for id_ in turns if id_ not in known or known[id_].state == "done")
        closings = {id_: known[id_].closing if id_ in known else None for id_ in over}
        return {id_: None if closing is None else closing.outcome for id_, closing in closings.items()}

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        known = {one.id: one for one in self.turns}
        if turn not in known:
            return ()
        if known[turn].state != "done":
            return None
        closing = known[turn].closing
        return () if closing is None else closing.pages

    async def load(self) -> Load:
        states = [turn.state for turn in self.turns]
        return Load(states.count("running"), states.count("waiting"))

    async def release_all(self) -> int:
        running = [turn for turn in self.turns if turn.state == "running"]
        for turn in running:
            turn.state, turn.lease_until = "waiting", None
        return len(running)

    # Conversations

    async def history(self, conversation: str, *, before_turn: int, limit: int) -> list[StoredMessage]:
        earlier = [m for turn, m in self.messages if turn < before_turn and m.conversation == conversation]
        return earlier[-limit:] if limit > 0 else []

    def _last_actions(
        self, conversation: str, person: str, audiences: frozenset[str], before_turn: int, limit: int
    ) -> LastActions:
        done = [
            (turn.closing, record)
            for turn in self.turns
            if turn.incoming.conversation == conversation and turn.incoming.person.id == person
            if turn.id < before_turn and label(turn.incoming.place.audience) in audiences and turn.closing is not None
            for record in turn.closing.actions
            if not self.erased_messages & set(turn.closing.context_messages)
        ][-limit:]
        closed = {m.id for _, m in self.messages if m.audience not in audiences}
        kept = {one.id for one in self.facts.kept if one.audience not in audiences}
        done = [
            (closing, record)
            for closing, record in done
            if not (closed & set(closing.context_messages) or kept & set(closing.context_facts))
        ]
        sources = {id_ for closing, _ in done for id_ in closing.context_messages}
        return LastActions(tuple(record for _, record in done), tuple(sorted(sources)))

    async def known(
        self, incoming: Incoming, audiences: frozenset[str], *, before_turn: int, messages: int, actions: int
    ) -> Known:
        here, person = incoming.conversation, incoming.person.id
        said = await self.history(here, before_turn=before_turn, limit=messages)
        summary, done = self.summaries.get(here, SituationSummary()), LastActions()
        if said and summary.is_empty:
            done = self._last_actions(here, person, audiences, before_turn, actions)
        facts = await self.facts.readable(person, audiences)
        profile = await self.profiles.readable(person, audiences)
        working_set = self.working_set.items(here, audiences, incoming.time)
        return Known(said, summary, done, facts, profile, bool(self._written_in(person) - {here}), working_set)

    async def messages_of(
        self, person: str, audiences: frozenset[str], *, before: int | None, limit: int
    ) -> list[StoredMessage]:
        told = [m for _, m in self.messages if m.person == person and m.audience in audiences]
        earlier = [m for m in told if before is None or m.id < before]
        return sorted(earlier, key=lambda m: m.id, reverse=True)[:limit]

    async def threads(self, person: str, *, limit: int, audiences: frozenset[str] | None = None) -> list[Thread]:
        found: list[Thread] = []
        told = [m for _, m in self.messages if audiences is None or m.audience in audiences]
        for conversation in self._written_in(person):
            stored = [m for m in told if m.conversation == conversation]
            asked = [m.text for m in stored if m.person == person and m.author is Author.PERSON]
            if asked:
                found.append(Thread(conversation, asked[0], max(m.time for m in stored), len(stored)))
        return sorted(found, key=lambda thread: thread.last, reverse=True)[:limit]

    async def groups(self, person: str, limit: int) -> list[str]:
        mine = self._written_in(person)
        said = {m.audience: m.time for _, m in sorted(self.messages, key=_said_at) if m.conversation in mine}
        noted = {fact.audience: fact.timestamp for fact in self.facts.kept if fact.person == person}
        learned = {at.audience: kept.last_updated for at, kept in self.profiles.kept.items() if at.person == person}
        labels = sorted({*said, *noted, *learned}, key=lambda one: _latest(one, said, noted, learned), reverse=True)
        return [one.removeprefix("group:") for one in labels if one.startswith("group:")][: max(limit, 0)]

    async def latest_elsewhere(self, person: str, conversation: str) -> str | None:
        others = self._written_in(person) - {conversation}
        return next((m.conversation for _, m in reversed(self.messages) if m.conversation in others), None)

    async def participants(self, conversation: str) -> frozenset[str] | None:
        wrote = (m for _, m in self.messages if m.conversation == conversation and m.author is Author.PERSON)
        return frozenset(m.person for m in wrote) or None

    async def questions(self, person: str, *, limit: int) -> list[str]:
        asked = [(m.id, m.text) for _, m in self.messages if m.person == person and m.author is Author.PERSON]
        return [text for _, text in sorted(asked)[-limit:]] if limit > 0 else []

    async def last_said(self, conversation: str) -> datetime | None:
        return max((m.time for _, m in self.messages if m.conversation == conversation), default=None)

    async def last_seen(self, source: str, *, since: datetime, limit: int) -> list[LastSeen]:
        found: dict[str, LastSeen] = {}
        asked = [turn.incoming for turn in self.turns if turn.incoming.source == source]
        for one in sorted(asked, key=lambda one: one.time, reverse=True):
            if one.time >= since:
                found.setdefault(one.conversation, LastSeen(one.conversation, one.channel, one.message_id, one.time))
        return list(found.values())[:limit]

    async def watermark(self, source: str) -> datetime | None:
        return self.heard.get(source)

    async def set_watermark(self, source: str, time: datetime) -> None:
        self.heard[source] = time

    # Memories

    async def search(self, query: RecallQuery) -> list[Hit]:
        mine = self._written_in(query.person) - {query.exclude_conversation}
        open_ = [m for _, m in self.messages if m.conversation in mine and m.audience in query.audiences]
        return recall.search(open_, query)

    # Forgetting

    async def preview(self, plan: Wish) -> Preview:
        said, entries = self._fall(plan)
        facts = self._facts_of(plan, said)
        counts = {"messages": len(said), "facts": len(facts), "profile": len(entries)}
        own = [m.text for m in said if m.author is Author.PERSON and m.person == plan.person]
        lines = [*own[::-1], *(one.value for one in facts), *(one.text for one in entries)]
        return Preview(counts, tuple(lines[:5]), f"{sum(m.id for m in said)}-{sum(counts.values())}")

    async def titles(self, plan: ForgettingPlan) -> list[ShownPage]:
        asked = {turn for turn, _, m in self._told() if m.author is Author.PERSON and m in self._fall(plan)[0]}
        first: dict[str, FakeTurn] = {}
        for turn in self.turns:
            if turn.closing is not None and turn.closing.pages:
                first.setdefault(turn.incoming.conversation, turn)
        begun = [turn.incoming for turn in first.values() if turn.id in asked]
        return [ShownPage(one.source, one.channel, one.conversation, ShownReply.TITLE) for one in begun]

    async def retire(self, plan: ForgettingPlan, now: datetime, limit: int) -> dict[str, int]:  # noqa: ARG002 -- all at once
        return (await self.forget(plan, now)).erased

    async def update_text(
        self, channel: str, message_id: str, text: str, now: datetime, learn_at: datetime | None = None
    ) -> bool:
        found = forgetting.said(Deleted(channel, frozenset({message_id})), self._told())
        old = next((m for m in found if m.author is Author.PERSON), None)
        if old is None or old.text == text:
            return False
        self.deleted.clear()
        await self._drop_derived([old], set(), now)
        self.profiles.forget(old.person, [old], everything=False)
        self.facts.forget([one.id for one in self.facts.kept if one.source_message == old.id], [])
        self.working_set.kept = [one for one in self.working_set.kept if one[2].message != old.id]
        new = replace(old, text=text)
        self.messages = [(t, new if m.id == old.id else m) for t, m in self.messages]
        turn = next(turn for turn in self.turns if turn.message == old.id)
        turn.incoming = replace(turn.incoming, text=text)
        if learn_at is not None and turn.closing is not None:
            self.profiles.gather([new])
        return True

    async def forget(
        self,
        plan: ForgettingPlan,
        now: datetime,
        *,
        replies: bool = False,
        related: bool = False,  # noqa: ARG002 -- nothing is told again here
    ) -> Receipt:
        self.deleted.clear()
        gone, entries = self._fall(plan)
        sources = {m.id for m in gone}
        left = {turn for turn, m in self.messages if m.id not in sources}
        turns = [
            t
            for t in self.turns
            if forgetting.falls(plan, t.incoming.person.id, t.incoming.conversation)
            or (t.message in sources and t.id not in left)
        ]
        deleting = await self._delete_pages(gone, now) if replies else 0
        for turn in self.turns:
            if turn in turns or turn.message in sources:
                self.erased |= dict.fromkeys(_keys(turn.incoming), now)
        facts = self.facts.forget(forgetting.facts(plan, self.facts.kept), sources)
        await self._drop_derived(gone, {t.id for t in turns}, now, [one.value for one in facts])
        for turn in turns:
            self.spent.record(turn.id, turn.incoming, rows.progress_calls(turn.progress), now)
        self.spent.detach({turn.id for turn in turns}, now)
        counts = {"messages": len(gone), "facts": len(facts), "turns": len(turns), "profile": len(entries)}
        self._drop_verdicts(plan, gone, turns)
        self._unlearn(plan, gone)
        self.erased_messages |= sources
        self.working_set.forget(sources)
        self.turns = [t for t in self.turns if t not in turns]
        self.messages = [(t, m) for t, m in self.messages if m.id not in sources]
        counts["jobs"] = 0
        if isinstance(plan, Everything | OneThread):
            places = plan.conversations if isinstance(plan, OneThread) else [None]
            counts["jobs"] = sum(self.jobs.forget(plan.person, place) for place in places)
        if isinstance(plan, Everything):
            self.served.pop(plan.person, None)
            self.spent.names.pop(plan.person, None)
            chosen = self.choices.kept.pop(plan.person, {})
            stays = {name: value for name, value in chosen.items() if value == PAUSED}
            counts["preferences"] = len(chosen) - len(stays)
            self.choices.kept |= {plan.person: stays} if stays else {}
        return Receipt(counts, found_again=0, bytes_gone=True, replies=deleting)

    def _drop_verdicts(self, plan: ForgettingPlan, gone: list[StoredMessage], turns: list[FakeTurn]) -> None:
        silent = {turn for turn, m in self.messages if m in gone and m.author is Author.BOT} | {t.id for t in turns}
        for turn in self.turns:
            if turn.id in silent and turn.closing is not None:
                turn.closing = replace(turn.closing, pages=(), actions=())
        everything = plan.person if isinstance(plan, Everything) else None
        for turn, person in [*self.judged]:
            if turn in silent or person == everything:
                del self.judged[turn, person]

    def _told(self) -> list[tuple[int, str, StoredMessage]]:
        channels = {turn.id: turn.incoming.channel for turn in self.turns}
        return [(turn, channels[turn], message) for turn, message in self.messages]

    def _fall(self, plan: ForgettingPlan) -> tuple[list[StoredMessage], list[ProfileEntry]]:
        said = forgetting.said(plan, self._told())
        said += [m for turn, m in self.messages if m not in said and self._quotes(turn, m, said)]
        entries = [
            entry
            for partition, kept in self.profiles.kept.items()
            for entry in kept.entries
            if entry in forgetting.entries(plan, kept.entries, partition.person)
            or entry in self.profiles.falling(partition.person, said)
        ]
        return said, entries

    def _facts_of(self, plan: Wish, said: list[StoredMessage]) -> list[Fact]:
        named = set(forgetting.facts(plan, self.facts.kept))
        sources = {m.id for m in said}
        return [one for one in self.facts.kept if one.id in named or one.source_message in sources]

    def _unlearn(self, plan: ForgettingPlan, gone: list[StoredMessage]) -> None:
        people = {partition.person for partition in self.profiles.kept} | {m.person for m in gone}
        again = set[int]()
        for person in people:
            again |= self.profiles.sources(person, gone)
            everything = isinstance(plan, Everything) and plan.person == person
            named = [e for kept in self.profiles.kept.values() for e in forgetting.entries(plan, kept.entries, person)]
            self.profiles.forget(person, gone, everything=everything, named=named)
        fallen = {m.id for m in gone}
        self.profiles.gather(m for _, m in self.messages if m.id in again - fallen)

    async def _drop_derived(
        self, gone: list[StoredMessage], turns: set[int], now: datetime, kept: Sequence[str] = ()
    ) -> None:
        sources, texts = {m.id for m in gone}, [*(m.text for m in gone if m.text), *kept]
        for conversation in {m.conversation for m in gone}:
            self.summaries.pop(conversation, None)
        for turn in self.turns:
            if turn.closing is not None and sources & set(turn.closing.context_messages):
                self.summaries.pop(turn.incoming.conversation, None)
                turn.closing = replace(turn.closing, actions=())
            elif turn.state != "done" and turn.id not in turns and turn.message not in sources:
                begun = turn.progress
                if _erase_from(turn, sources, texts):
                    self.spent.record(turn.id, turn.incoming, rows.progress_calls(begun), now)

    async def _delete_pages(self, gone: list[StoredMessage], now: datetime) -> int:
        answered = {turn for turn, m in self.messages if m in gone and m.author is Author.BOT}
        pages = [
            ShownPage(turn.incoming.source, turn.incoming.channel, page)
            for turn in self.turns
            if turn.id in answered and turn.closing is not None
            for page in turn.closing.pages
            if not page.startswith(EPHEMERAL_PAGE)
        ]
        asked = {turn for turn, m in self.messages if m in gone and m.author is Author.PERSON}
        posted = [t.incoming for t in self.turns if t.id in asked and t.incoming.event_id.startswith(POSTED_BY_BOT)]
        pages += [ShownPage(one.source, one.channel, one.message_id) for one in posted]
        for page in pages:
            await self.jobs.schedule(DELETE_REPLY, page.key, page.encode(), now)
        return len(pages)

    async def forget_entries(self, plan: EntriesPlan, now: datetime) -> Receipt:  # noqa: ARG002 -- it keeps no time
        gone = self.facts.erase(plan.person, plan.facts)
        self.profiles.pass_over_messages({one.source_message for one in gone if one.source_message is not None})
        counts = {"profile": self.profiles.erase(plan.person, plan.entries), "facts": len(gone)}
        return Receipt(counts, found_again=0, bytes_gone=True)

    async def delete_entries(self, plan: EntriesPlan, key: str, until: datetime) -> Receipt:
        facts, profiles, passed_over = self.facts.kept, dict(self.profiles.kept), set(self.profiles.passed_over)
        receipt = await self.forget_entries(plan, until)
        self.deleted[key] = plan.person, facts, profiles, passed_over
        await self.jobs.schedule(ERASE_ENTRIES, key, "{}", until, person=plan.person)
        return receipt

    async def undo(self, person: str, key: str | None = None) -> str | None:
        """Everything is again as it was before: nobody writes meanwhile here."""
        last = key or next((one for one, (whose, *_) in reversed(self.deleted.items()) if whose == person), "")
        if last not in self.deleted or self.deleted[last][0] != person:
            return None
        _, self.facts.kept, self.profiles.kept, self.profiles.passed_over = self.deleted.pop(last)
        await self.jobs.cancel(ERASE_ENTRIES, last)
        return last

    async def wipe(self, key: str) -> bool:
        self.deleted.pop(key, None)
        return True

    async def sweep(self) -> bool:
        return True

    def _held(self, claim: Claim) -> FakeTurn:
        for turn in self.turns:
            if turn.id == claim.turn and turn.state == "running" and turn.epoch == claim.epoch:
                return turn
        raise LeaseLost(f"Turn {claim.turn} is no longer held by {claim.owner}.")

    def _waiting(self, channel: str, message_id: str) -> FakeTurn | None:
        for turn in self.turns:
            if (turn.incoming.channel, turn.incoming.message_id) == (channel, message_id) and turn.state == "waiting":
                return None if turn.progress or turn.reply_ref or self._has_joined(turn) else turn
        return None

    def _has_joined(self, turn: FakeTurn) -> bool:
        running = (one for one in self.turns if one.state == "running")
        return any(turn.message in rows.progress_sources(one.progress) for one in running)

    def _quotes(self, turn_id: int, reply: StoredMessage, said: list[StoredMessage]) -> bool:
        """Does the reply quote one of these messages, which recall gave its turn from another conversation?"""
        closing = next((turn.closing for turn in self.turns if turn.id == turn_id), None)
        if closing is None or reply.author is not Author.BOT:
            return False
        recalled = [
            m
            for m in said
            if m.id in closing.context_messages
            if m.conversation != reply.conversation or m.person == reply.person
        ]
        return any(quotes(reply.text, m.text) for m in recalled)

    def _has_the_same_readers(self, incoming: Incoming) -> bool:
        """As the last message of its conversation."""
        said = [turn.incoming for turn in self.turns if turn.incoming.conversation == incoming.conversation]
        return not said or said[-1].place.audience == incoming.place.audience

    def _written_in(self, person: str) -> set[str]:
        return {m.conversation for _, m in self.messages if m.person == person and m.author is Author.PERSON}

    def _place(self, late: FakeTurn) -> FakeTurn:
        """Where the question of this turn, which was just taken in, stands among those that wait."""
        here = [turn for turn in self.turns if turn.incoming.conversation == late.incoming.conversation]
        joined = {
            number
            for turn in here
            if turn.state == "running"
            for number in rows.progress_joined(turn.progress).values()
        }
        places = queue.belated(here, joined)
        held = [(turn.incoming, turn.message, turn.taken, turn.stopping) for turn in places]
        turn_of = {turn.message: turn.id for turn in self.turns}
        for turn, (incoming, message, taken, stopping) in zip(places, [held[-1], *held[:-1]], strict=True):
            turn.incoming, turn.message, turn.taken, turn.stopping = incoming, message, taken, stopping
            turn_of[message] = turn.id
        moved = [(turn_of.get(message.id, turn), message) for turn, message in self.messages]
        self.messages = sorted(moved, key=lambda pair: (pair[0], pair[1].id))
        return places[0]

    def _store(self, turn: FakeTurn, message: StoredMessage) -> None:
        self.messages.append((turn.id, message))
        self.facts.links[message.id] = message.permalink
        self.working_set.stands.add(message.id)
        self.messages.sort(key=lambda pair: (pair[0], pair[1].id))


def _question(turn: FakeTurn) -> StoredMessage:
    asked = turn.incoming
    return StoredMessage(
        id=turn.message,
        conversation=asked.conversation,
        author=Author.PERSON,
        person=asked.person.id,
        name=asked.person.name,
        text=asked.text,
        time=asked.time,
        audience=label(asked.place.audience),
        message_id=asked.message_id,
        permalink=asked.permalink,
    )


def _said_at(stored: tuple[int, StoredMessage]) -> datetime:
    return stored[1].time


def _latest(label: str, *times: Mapping[str, datetime | None]) -> datetime:
    return max(time for some in times if (time := some.get(label)) is not None)


def _restart(turn: FakeTurn) -> None:
    turn.state, turn.lease_until, turn.progress = "waiting", None, ""
    turn.epoch += 1


def _erase_from(turn: FakeTurn, sources: set[int], texts: list[str]) -> bool:
    """Let an open turn start anew if it names or holds what is erased, and take that out of what came with it.

    Did it start anew?
    """

    def erased(held: str) -> bool:
        return any(holds(held, text) for text in texts)

    anew = rows.progress_sources(turn.progress) & sources or any(map(erased, rows.strings_in(turn.progress)))
    if anew:
        _restart(turn)
    staying = tuple(quoted for quoted in turn.incoming.quoted if not erased(quoted.text))
    turn.incoming = replace(turn.incoming, quoted=staying)
    return bool(anew)


def _keys(incoming: Incoming) -> set[tuple[str, str, str]]:
    return {("event", incoming.source, incoming.event_id), ("message", incoming.channel, incoming.message_id)}
