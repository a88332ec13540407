"""Warnings about budgets, and extending them for a day: who is written, and who decides.

Rules
  Who may extend a budget is asked of the platform when they are written, and again when they decide. Unknown is no.
  Nobody extends their own budget. The first decision counts, for the day.
  A warning goes to the person whose budget it is; for a channel's to the person who asked and to those who manage the
  channel; for a shared one to the operators. Programs are written nothing.
  Before a message is sent, its row says so. So a process that continues after a crash finds the message.
  What people were asked is replaced by the outcome once it is decided, or the day is over.
  An alert in the operator's channel is a turn of the ledger with a name of its own, so it is posted once.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from agent.admission_terms import Terms, Whose
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.budget_days import (
    BUDGET,
    SENDING,
    BudgetDay,
    BudgetMessage,
    Decided,
    Extension,
    MessageKind,
)
from agent.doors import is_program
from agent.errors import CogencyError, Refused, StoreError
from agent.incoming import Incoming, person_source
from agent.jobs import Job
from agent.ports.budget_days import BudgetDays
from agent.ports.clock import Clock
from agent.ports.consents import Approvals
from agent.ports.jobs import Jobs
from agent.ports.tool_audit import ToolAudit
from agent.ports.webhooks import EventPlatform, EventTarget
from agent.ports.written_turns import WrittenTurns
from agent.protocol.render import joined
from agent.schedules.definitions import NotAllowed
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.spending import Money
from agent.turn_kinds import TurnKind
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import Budget, BudgetAccount, BudgetAllowances, midnight, tokens_spent
from bot.budgets.gate import ONE_TURN, ExtensionRules
from bot.chat.approvers import ApproverPlatform
from bot.chat.panels import TYPED_NO, TYPED_YES, Panel, PanelAction
from bot.chat.reply.surface import PageGone
from bot.chat.telemetry import SILENT, BudgetMark, BudgetSeen, Telemetry
from bot.chat.texts.formatting import counted, literal, local_moment, money

log = logging.getLogger(__name__)

WORD: Final = "budget"  # Before the words of the buttons below what people are written, and of waiting replies
EXTEND, DECLINE, CONTINUE, FINISH, SHOW = "extend", "decline", "continue", "finish", "show"
WAITING: Final = "waiting"  # The word of the button below a waiting reply, before the number of its turn
DIGITS: Final = 9  # Of a number that every database accepts
AGAIN: Final = timedelta(seconds=30)  # Until someone who could not be written is tried again
MAX_PEOPLE: Final = 5  # Written about one budget: more people would only be interrupted
MAX_CHECKED: Final = 25


class NotConnected(CogencyError):
    """A platform is not connected now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionService:
    """`platforms`, `events`: by the source of their messages; none of them at a terminal. `alerts`: the channel for
    alerts, as "slack:T0123:C0123" or "discord:123"; "" for none. `wake`: called when a waiting turn may continue.
    """

    days: BudgetDays
    allowances: BudgetAllowances
    rules: ExtensionRules
    run_limit: Budget
    jobs: Jobs
    audit: ToolAudit
    approvals: Approvals
    written: WrittenTurns
    clock: Clock
    wake: Callable[[], None]
    platforms: Mapping[str, ApproverPlatform]
    events: Mapping[str, EventPlatform]
    alerts: str = ""
    telemetry: Telemetry = SILENT

    # Decisions

    async def answer(self, person: str, words: str) -> Panel | None:
        """Return the answer to a press, in these words; None if they are about something else. Raises StoreError."""
        match words.split():
            case [word, verb, number] if word == WORD and number.isascii() and number.isdecimal():
                return await self._decided(person, verb, int(number)) if len(number) <= DIGITS else None
            case [word, number] if word == WAITING and number.isascii() and number.isdecimal():
                return await self._waiting(person, int(number)) if len(number) <= DIGITS else None
            case []:
                own = await self.days.paused(person, self.clock.now())
                return self._run_panel(own[0]) if own else None
            case _:
                return None

    async def _decided(self, person: str, verb: str, number: int) -> Panel | None:
        match verb:
            case "extend" | "decline":
                given = verb == EXTEND
                try:
                    outcome = await self.decide(number, person, given=given)
                except Refused as refusal:
                    return Panel(str(refusal), refused=True)
                text = budgets_texts.DECIDED[(Extension.GIVEN if given else Extension.REFUSED).name]
            case "continue" | "finish":
                goes_on = verb == CONTINUE
                outcome = await self.days.decide_turn(number, person, self.clock.now(), goes_on=goes_on)
                text = budgets_texts.RUN_DECIDED[goes_on]
                if outcome is Decided.STORED:
                    mark = BudgetMark.EXTENDED if goes_on else BudgetMark.DECLINED
                    self.telemetry.record(BudgetSeen(ONE_TURN, mark))
                    self.wake()
            case "show":
                return Panel(await self._usage(person))
            case _:
                return None
        if outcome is not Decided.STORED:
            return Panel(budgets_texts.NOT_DECIDED[outcome.name], refused=True)
        return Panel(text)

    async def decide(self, number: int, person: str, *, given: bool) -> Decided:
        """Store a person's decision about a budget's extension. Raises Refused if they may not decide, or if that is
        not known now, and StoreError.
        """
        day = await self.days.by_number(number)
        if day is None or day.budget.day != self.clock.now().date():
            return Decided.OVER
        await self._check(day, person)
        extension = Extension.GIVEN if given else Extension.REFUSED
        outcome = await self.days.decide(number, person, extension, self.rules.percent, self.clock.now())
        if outcome is Decided.STORED:
            log.info("a decision was made about the budget %s: %s", number, extension)
            mark = BudgetMark.EXTENDED if given else BudgetMark.DECLINED
            self.telemetry.record(BudgetSeen(day.budget.whose, mark))
            self.wake()
        return outcome

    async def _check(self, day: BudgetDay, person: str) -> Incoming | None:
        """Return a question that waits and that the person can read, if they may decide now; None for an operator, of
        whom no platform is asked, and for one who can read none. Raises Refused and StoreError.
        """
        budget = day.budget
        if budget.whose is Whose.PERSON and person in await self.allowances.accounts_of(budget.id):
            raise Refused(budgets_texts.NOT_YOUR_OWN)
        rule, who = self.rules.approvers, budgets_texts.WHO_EXTENDS["" if self.rules.approvers is None else "others"]
        if self.rules.percent == 0:
            raise Refused(budgets_texts.NOT_DECIDED[Decided.OVER.name])
        if rule is None:
            if not self.rules.operates(person):
                raise Refused(budgets_texts.NOT_AN_APPROVER.format(who=who))
            return None
        unknown: CogencyError | None = None
        for question in await self.days.questions(day.number):
            platform = self.platforms.get(question.source)
            try:
                approver = None if platform is None else await platform.approver(person, rule, question)
            except CogencyError as error:
                unknown = error
                continue
            if approver is not None:
                return question if approver.reads else None
        if unknown is not None:
            log.warning("could not check whether a person can extend a budget: %s", unknown)
            raise Refused(budgets_texts.APPROVERS_UNKNOWN) from unknown
        raise Refused(budgets_texts.NOT_AN_APPROVER.format(who=who))

    async def _waiting(self, person: str, turn: int) -> Panel | None:
        """Return what the button below a waiting reply shows; None if the reply waits for no budget."""
        if (number := await self.days.budget_of(turn)) is not None:
            day = await self.days.by_number(number)
            if day is None or not day.extension.is_open:
                return Panel(budgets_texts.NOT_DECIDED[Decided.OVER.name], refused=True)
            try:
                readable = await self._check(day, person)
            except Refused:
                who = budgets_texts.WHO_EXTENDS["" if self.rules.approvers is None else "others"]
                return Panel(budgets_texts.WAITS_FOR_EXTENSION.format(who=who))
            return await self._request(day, readable)
        pause = await self.days.pause_of(turn)
        if pause is None or pause.is_over or pause.refused or pause.until <= self.clock.now():
            return None
        if turn in await self.days.paused(person, self.clock.now()):
            return self._run_panel(turn)
        return Panel(budgets_texts.NOT_DECIDED[Decided.NOT_THEIRS.name], refused=True)

    def _run_panel(self, turn: int) -> Panel:
        limit = budgets_texts.OR.join(limit_words(self.run_limit))
        go_on = PanelAction(budgets_texts.CONTINUE, f"{WORD} {CONTINUE} {turn}", typed=TYPED_YES)
        finish = PanelAction(budgets_texts.FINISH, f"{WORD} {FINISH} {turn}", typed=TYPED_NO)
        return Panel(budgets_texts.RUN_WAITS.format(limit=limit), (go_on, finish))

    async def _usage(self, person: str) -> str:
        account, now = BudgetAccount(Whose.PERSON, person), self.clock.now()
        spent = await self.allowances.spent(account, now)
        limit = await self.allowances.limit_today(account, now)
        return budgets_texts.TODAY_SO_FAR.format(spent=spent_words(tokens_spent(spent), spent.cost, limit))

    # Messages, by a job

    async def run(self, job: Job) -> None:
        """Write people about a budget, and show them the outcome. Raises CogencyError."""
        number = int(job.key)
        day, now = await self.days.by_number(number), self.clock.now()
        if day is None:
            return
        is_over, failures = day.budget.day != now.date(), list[CogencyError]()
        for step in () if is_over else (self._address_warning, self._address_request, self._alert):
            try:
                await step(day, now)
            except StoreError:
                raise
            except CogencyError as error:  # the others are still served
                failures.append(error)
        day = await self.days.by_number(number) or day
        for message in await self.days.messages(number):
            try:
                await self._serve(day, message, now)
            except CogencyError as error:
                failures.append(error)
        for failure in failures:
            log.warning("a message about a budget could not be sent or updated: %s", failure)
        if is_over:
            await self.days.sweep(now)
        if failures and not is_over:
            await self.jobs.again(job, now + AGAIN)
        else:  # then a request shows that the day is over, and some days later the row is deleted
            await self.jobs.again(job, midnight(now))

    async def _address_warning(self, day: BudgetDay, _: datetime) -> None:
        """Store who is warned, once. Raises CogencyError if they are not known now."""
        if day.near is not None and not day.told:
            await self.days.address(day.number, MessageKind.NEAR, await self._warned(day))

    async def _address_request(self, day: BudgetDay, now: datetime) -> None:
        """Store who is asked, once. Raises CogencyError if they are not known now."""
        if day.extension is not Extension.ASKED or day.requested:
            return
        people = await self._approvers(day)
        if people:
            await self.days.address(day.number, MessageKind.REQUEST, people)
            return
        log.warning("nobody who can extend a budget could be found")
        if self._lists_all(day) and await self.days.waits(day.number):
            await self.days.decide(day.number, "", Extension.UNASKED, 0, now)
            self.wake()

    def _lists_all(self, day: BudgetDay) -> bool:
        """Whether those who are found are all who may extend the budget. Platforms may not list everyone who has a
        role, and where somebody else asks, or the same person in a channel, others may decide. They use the button
        below the answer.
        """
        rule, whose = self.rules.approvers, day.budget.whose
        if rule is None:
            return True
        is_shared = whose in {Whose.WORKSPACE, Whose.EVERYONE}
        return not (is_shared or rule.role or (rule.who == CHANNEL_MANAGER and whose is Whose.PERSON))

    async def _alert(self, day: BudgetDay, now: datetime) -> None:
        """Post into the operator's channel, once for each of its texts. Raises CogencyError."""
        source, _, channel = self.alerts.rpartition(":")
        if not channel:
            return
        if (platform := self.events.get(source)) is None:
            raise NotConnected(budgets_texts.NOT_CONNECTED)
        texts = {"near": "" if day.near is None else await self._near_text(day, "", now)}
        if day.extension is Extension.ASKED:
            who = budgets_texts.APPROVING["" if self.rules.approvers is None else "others"]
            whose, percent = await self._name(day, ""), self.rules.percent
            texts["limit"] = budgets_texts.LIMIT_REACHED.format(whose=whose, who=who, percent=percent)
        for what, text in texts.items():
            if not text:
                continue
            found = await platform.event(EventTarget(f"{BUDGET}:{day.number}:{what}", BUDGET, channel))
            if isinstance(found, NotAllowed):
                log.warning("budget alerts cannot be posted: %s", found.why)
                return
            incoming = replace(found, kind=TurnKind.EVENT, text=text)
            await self.written.accept(incoming, text, Terms(self.clock.now()))
            self.wake()

    async def _warned(self, day: BudgetDay) -> Collection[str]:
        """Return who is warned. Raises CogencyError if that is not known now."""
        budget = day.budget
        match budget.whose:
            case Whose.PERSON:
                return () if is_program(budget.id) else (budget.id,)
            case Whose.CHANNEL:
                question = await self.days.question(day.number)
                if question is None:
                    return ()
                asker = () if is_program(question.person.id) else (question.person.id,)
                return (*asker, *(await self._found(Approvers(CHANNEL_MANAGER), question))[:MAX_PEOPLE])
            case Whose.WORKSPACE | Whose.EVERYONE:
                return await self._operators(day)

    async def _approvers(self, day: BudgetDay) -> Sequence[str]:
        """Return who is asked to extend the budget. Raises CogencyError if that is not known now."""
        if self.rules.approvers is None:
            people = await self._operators(day)
        else:
            people = await self._found_for(self.rules.approvers, await self.days.questions(day.number))
        budget = day.budget
        own = await self.allowances.accounts_of(budget.id) if budget.whose is Whose.PERSON else ()
        return [each for each in people if each not in own][:MAX_PEOPLE]

    async def _operators(self, day: BudgetDay) -> Sequence[str]:
        """Return the operators' full ids; those without a source are taken to be of the question's."""
        source = day.budget.source
        if not source and (question := await self.days.question(day.number)) is not None:
            source = question.source
        full = [each if ":" in each else f"{source}:{each}" for each in sorted(self.rules.operators)]
        connected = [each for each in full if person_source(each) in self.platforms]
        if source and not connected:
            raise NotConnected(budgets_texts.NOT_CONNECTED)
        return connected[:MAX_PEOPLE]

    async def _found_for(self, rule: Approvers, questions: Sequence[Incoming]) -> Sequence[str]:
        """Return people who meet a rule now for one of these questions. Raises CogencyError if nobody is known now."""
        found, unknown = dict[str, None](), list[CogencyError]()
        for question in questions:
            try:
                found |= dict.fromkeys(await self._found(rule, question))
            except StoreError:
                raise
            except CogencyError as error:
                unknown.append(error)
            if len(found) > MAX_PEOPLE:
                break
        if unknown and not found:
            raise unknown[0]
        return [*found]

    async def _found(self, rule: Approvers, question: Incoming) -> Sequence[str]:
        """Return people who meet a rule now. Raises CogencyError if that is not known now."""
        platform = self.platforms.get(question.source)
        if platform is None:
            raise NotConnected(budgets_texts.NOT_CONNECTED)
        known = () if rule.person else await self.approvals.known_people(question.source, MAX_CHECKED)
        named = [rule.person] if rule.person else [*await platform.candidates(rule, question), *known]
        found = list[str]()
        for each in list(dict.fromkeys(named))[:MAX_CHECKED]:
            if await platform.approver(each, rule, question) is not None:
                found.append(each)
        return found

    async def _serve(self, day: BudgetDay, message: BudgetMessage, now: datetime) -> None:
        if message.closed:
            return
        platform = self.platforms.get(person_source(message.person))
        if platform is None:
            raise NotConnected(budgets_texts.NOT_CONNECTED)
        is_over = day.budget.day != now.date() or not day.extension.is_open
        is_sent = bool(message.pages) and message.pages != SENDING
        if message.kind is MessageKind.NEAR:
            panel = Panel(
                await self._near_text(day, message.person, now),
                (PanelAction(budgets_texts.SHOW_BUDGET, f"{WORD} {SHOW} {day.number}"),),
            )
            if not is_sent and day.budget.day == now.date():
                await self._send(platform, day, message, panel)
        elif is_over:
            await self._close(platform, day, message)
        elif not is_sent:
            await self._send(platform, day, message, await self._request(day))

    async def _send(self, platform: ApproverPlatform, day: BudgetDay, message: BudgetMessage, panel: Panel) -> None:
        number, kind, person = day.number, message.kind, message.person
        pages = await platform.find(person, panel.actions[0].words) if message.pages == SENDING else ()
        if not pages:
            if not await self.days.shown(number, kind, person, SENDING):
                return
            try:
                pages = await platform.send(person, panel)
            except PageGone:
                log.info("%s cannot be messaged about a budget", person)
                await self.days.closed(number, kind, person)
                return
        if not await self.days.shown(number, kind, person, pages):  # it was forgotten meanwhile
            await self._delete(person, pages)

    async def _close(self, platform: ApproverPlatform, day: BudgetDay, message: BudgetMessage) -> None:
        """Show the outcome in place of the request."""
        pages = message.pages
        if pages == SENDING:
            pages = await platform.find(message.person, f"{WORD} {EXTEND} {day.number}")
        if pages:
            await platform.update(pages[0], await self._outcome_text(day))
            await self._delete(message.person, pages[1:])
        await self.days.closed(day.number, message.kind, message.person)

    async def _delete(self, person: str, pages: Sequence[str]) -> None:
        for page in pages:
            shown = ShownPage(person_source(person), "", page)
            await self.jobs.schedule(DELETE_REPLY, shown.key, shown.encode(), self.clock.now())

    # What they read

    async def _name(self, day: BudgetDay, reader: str) -> str:
        """Return whose budget it is, as the subject of a sentence for this person; "" for the readers of a channel."""
        budget = day.budget
        if budget.whose is Whose.PERSON:
            if reader and reader in await self.allowances.accounts_of(budget.id):
                return budgets_texts.YOUR_BUDGET
            names = await self.audit.names_of([budget.id])
            return budgets_texts.OF_PERSON.format(name=literal(names.get(budget.id, budget.id)))
        if budget.whose is Whose.CHANNEL:
            question = await self.days.question(day.number)
            name = budgets_texts.SOMEBODY if question is None else question.person.name
            return budgets_texts.CHANNEL_OF.format(name=literal(name))
        return budgets_texts.SHARED[budget.whose]

    async def _near_text(self, day: BudgetDay, reader: str, now: datetime) -> str:
        near, budget = day.near, day.budget
        if near is None:
            return ""
        limit = await self.allowances.limit_today(_account(day), now)
        text = budgets_texts.NEAR.format(
            whose=await self._name(day, reader),
            percent=near.percent,
            spent=spent_words(near.tokens, Money(near.cost), limit),
            moment=local_moment(midnight(now), ""),
        )
        waits = self.rules.can_be_asked and not is_program(budget.id)
        return f"{text} {budgets_texts.NEAR_NEXT if waits else budgets_texts.NEAR_ENDS}"

    async def _request(self, day: BudgetDay, readable: Incoming | None = None) -> Panel:
        """`readable`: a question that waits, which the person can read."""
        now, account = self.clock.now(), _account(day)
        spent, limit = await self.allowances.spent(account, now), await self.allowances.limit_today(account, now)
        head = budgets_texts.REQUEST.format(
            whose=await self._name(day, ""), spent=spent_words(tokens_spent(spent), spent.cost, limit)
        )
        what = budgets_texts.REQUEST_EXTENDS.format(percent=self.rules.percent, moment=local_moment(midnight(now), ""))
        link = "" if readable is None or not readable.permalink else readable.permalink
        opens = budgets_texts.OPEN_QUESTION.format(link=link) if link else ""
        extend = PanelAction(budgets_texts.EXTEND, f"{WORD} {EXTEND} {day.number}", typed=TYPED_YES)
        decline = PanelAction(budgets_texts.DECLINE, f"{WORD} {DECLINE} {day.number}", danger=True, typed=TYPED_NO)
        return Panel(joined([head, what, opens]), (extend, decline))

    async def _outcome_text(self, day: BudgetDay) -> str:
        names = await self.audit.names_of([day.person])
        text = budgets_texts.REQUEST_ENDED.get(day.extension.name, budgets_texts.REQUEST_ENDED["OVER"])
        person = literal(names.get(day.person, budgets_texts.SOMEBODY))
        return text.format(whose=await self._name(day, ""), percent=day.percent, person=person)


def _account(day: BudgetDay) -> BudgetAccount:
    budget = day.budget
    return BudgetAccount(budget.whose, budget.id, budget.source if budget.whose is Whose.CHANNEL else "")


def limit_words(limit: Budget) -> list[str]:
    tokens = [] if limit.tokens is None else [counted(limit.tokens, "token", "tokens")]
    return [*([] if limit.money is None else [money(limit.money)]), *tokens]


def spent_words(tokens: int, cost: Money, limit: Budget) -> str:
    """Return what was spent of the limits that there are: "$4.02 of $5.00, 12,345 tokens of 2,000,000"."""
    parts = list[str]()
    if limit.money is not None:
        parts.append(budgets_texts.SPENT_OF.format(spent=money(cost), limit=money(limit.money)))
    if limit.tokens is not None:
        spent = counted(tokens, "token", "tokens")
        parts.append(budgets_texts.SPENT_OF.format(spent=spent, limit=f"{limit.tokens:,}"))
    return ", ".join(parts) or money(cost)
