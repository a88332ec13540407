"""Calls that others than their asker approve: finding these people, showing them the call, and taking their decisions.

Rules
  Who may approve is asked of the platform when they are shown a call, and again when they decide. Unknown is no. They
  are asked in direct messages, at most MAX_APPROVERS of them; others who meet the rule can decide with the button below
  the reply. The asker never can.
  An approver sees all arguments of the call, exactly, wherever it was asked for: that is what they decide about. They
  see the question, and the link to it, only if they can read the place where it was asked now.
  Before a message is sent, its row says so. So a process that continues after a crash finds the message, and one that
  is sent while the turn is forgotten is deleted.
  What an approver was shown is replaced by the outcome once the call is decided or over.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from agent.approvers import Approvers
from agent.consents import (
    MAX_APPROVERS,
    MAX_REASON_CHARS,
    REMIND_BEFORE,
    SENDING,
    Approval,
    AskedApprover,
    ConsentOutcome,
)
from agent.errors import CogencyError, Refused
from agent.incoming import Incoming
from agent.jobs import Job
from agent.messages import Consent, ToolCall
from agent.ports.clock import Clock
from agent.ports.consents import Approvals
from agent.ports.jobs import Jobs
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import ToolEffect
from agent.protocol.render import joined
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.tool_policy import CallGate
from agent.toolbox.registry import Toolbox
from agent.turn_records import Claim
from agent.turn_setup import asker_of
from bot.chat.approvers import Approver, ApproverPlatform
from bot.chat.panels import TYPED_NO, TYPED_YES, FieldKind, FormField, Panel, PanelAction, PanelForm
from bot.chat.reply.surface import PageGone
from bot.chat.texts.formatting import literal, shortened
from bot.tools import texts as tool_texts
from bot.tools.call_text import ASKED_CHARS, argument_lines

log = logging.getLogger(__name__)

CHECK_S: Final = 60.0  # How often an open request is looked at: an approver reads within a minute that it is over
AWAY_S: Final = 15.0  # How long a job waits for a platform that this process does not serve now
MAX_CHECKED: Final = 25  # People of whom the platform is asked, each with a request or two, while a reply waits
FIND_S: Final = 8.0  # For all of them together
ALLOW, REFUSE = "allow", "refuse"  # The words of an approver's buttons, before the call's name


DENIAL_FORM: Final = PanelForm(
    name="denial",
    label=tool_texts.DENY_WITH_REASON,
    title=tool_texts.DENIAL_TITLE,
    submit=tool_texts.REFUSE,
    fields=(
        FormField(
            "reason", tool_texts.DENIAL_REASON, FieldKind.LINES, tool_texts.DENIAL_HINT, max_chars=MAX_REASON_CHARS
        ),
    ),
    words=lambda filled: filled["reason"],
)


@dataclass(frozen=True, slots=True)
class ApproverService:
    """`platforms`: by the source of their messages; none of them at a terminal. `wake`: called when a waiting turn may
    continue.
    """

    approvals: Approvals
    jobs: Jobs
    audit: ToolAudit
    toolbox: Toolbox
    clock: Clock
    wake: Callable[[], None]
    platforms: Mapping[str, ApproverPlatform]

    async def ask(self, claim: Claim, calls: Mapping[str, ToolCall], gate: CallGate) -> Mapping[str, Sequence[str]]:
        """Have others asked about those of these calls, by `consent_key`, that they approve. Returns the names of whom
        is asked about each of them, () for nobody. Raises StoreError.
        """
        rules = {key: rule for key, call in calls.items() if (rule := gate.approvers(call)) is not None}
        if not rules:
            return {}
        found = {rule: await self._find(rule, claim.incoming) for rule in dict.fromkeys(rules.values())}
        requests = {key: (rule, [each.person.id for each in found[rule]]) for key, rule in rules.items()}
        await self.approvals.request(claim, requests, self.clock.now())
        return {
            key: [each.person.name for each in found[rule]] if len(found[rule]) >= rule.needed else ()
            for key, rule in rules.items()
        }

    async def _find(self, rule: Approvers, question: Incoming) -> Sequence[Approver]:
        """Return people who may approve, without the asker; as many as are known in time. Raises StoreError."""
        platform = self.platforms.get(question.source)
        if platform is None:
            return ()
        found = list[Approver]()
        known: Sequence[str] = ()
        if not rule.person:
            known = await self.approvals.known_people(question.source, MAX_CHECKED)
        try:
            async with asyncio.timeout(FIND_S):
                named = [rule.person] if rule.person else await platform.candidates(rule, question)
                people = [each for each in dict.fromkeys([*named, *known]) if each != question.person.id]
                for first in range(0, min(len(people), MAX_CHECKED), MAX_APPROVERS):
                    found += await _checked(people[first:][:MAX_APPROVERS], rule, question, platform)
                    if len(found) >= MAX_APPROVERS:
                        break
        except (CogencyError, TimeoutError) as error:
            _log_unknown(error)
        return found[:MAX_APPROVERS]

    # Decisions

    async def of(self, turn: int, key: str) -> Approval | None:
        """Return the call, if others than its asker decide about it. Raises StoreError."""
        return next((each for each in await self.approvals.of(turn, self.clock.now()) if each.key == key), None)

    async def decide(self, approval: Approval, person: str, *, allows: bool, reason: str = "") -> ConsentOutcome:
        """Store a person's decision. Raises Refused if they may not decide, or if that is not known now, and
        StoreError.
        """
        await self._check(approval, person)
        consent = Consent.GIVEN if allows else Consent.REFUSED
        reason = shortened(reason.strip(), MAX_REASON_CHARS)
        decide = partial(self.approvals.decide, approval.turn, approval.key, person, consent)
        outcome = await decide(self.clock.now(), reason=reason)
        if outcome is ConsentOutcome.GOES_ON:
            self.wake()
        return outcome

    async def _check(self, approval: Approval, person: str) -> Approver:
        """Return the person if they may decide now; raises Refused otherwise."""
        if person == approval.question.person.id:
            raise Refused(tool_texts.NOT_YOUR_OWN)
        platform = self.platforms.get(approval.question.source)
        try:
            approver = None if platform is None else await platform.approver(person, approval.rule, approval.question)
        except CogencyError as error:
            log.warning("turn %d: could not check whether a person can approve: %s", approval.turn, error)
            raise Refused(tool_texts.APPROVER_UNKNOWN) from error
        if approver is None:
            raise Refused(tool_texts.NOT_AN_APPROVER.format(who=rule_words(approval.rule)))
        return approver

    async def panels(self, person: str, turn: int | None = None) -> Sequence[Panel]:
        """Return what waits for this person's approval: of a turn, also calls about which they were not asked; else
        those about which they were. Raises StoreError.
        """
        now = self.clock.now()
        found = await (self.approvals.waiting(person, now) if turn is None else self.approvals.of(turn, now))
        panels = list[Panel]()
        for approval in found:
            decided = any(each.person == person and each.consent is not Consent.NOT_NEEDED for each in approval.people)
            if approval.call is None or decided:
                continue
            try:
                approver = await self._check(approval, person)
            except Refused:
                continue
            panels.append(await self._panel(approval, approver))
        return panels

    async def awaits_others(self, person: str, turn: int) -> str:
        """Return a sentence for the asker about who approves what this turn waits for; "" if it waits for nobody else.
        Raises StoreError.
        """
        approvals = await self.approvals.of(turn, self.clock.now())
        open_ = [each for each in approvals if each.call is not None and each.question.person.id == person]
        platform = self.platforms.get(open_[0].question.source) if open_ else None
        if platform is None:
            return ""
        names = dict[str, str]()
        for approval in open_:
            names |= await self._names(platform, approval)
        asked = ", ".join(map(literal, sorted(names.values())))
        return tool_texts.OTHERS_DECIDE.format(who=rule_words(open_[0].rule), people=asked)

    # Messages to approvers, by a job

    async def run(self, job: Job) -> None:
        """Show people the calls that wait for their approval, remind them, and show the outcome. Raises CogencyError.

        A job with a payload looks for a message that nothing may show any more.
        """
        if job.payload:
            await self._delete_lost(job)
            return
        now, failures = self.clock.now(), list[CogencyError]()
        approvals = await self.approvals.of(int(job.key), now)
        for approval in approvals:
            platform = self.platforms.get(approval.question.source)
            if platform is None:
                await self.jobs.again(job, now + timedelta(seconds=AWAY_S))
                return
            for each in approval.people:
                try:
                    await self._serve(platform, approval, each, now)
                except CogencyError as error:  # the others are still served
                    failures.append(error)
        if any(approval.call is not None for approval in approvals):
            for failure in failures:  # it is tried again with the next look
                log.warning("turn %s: a message to an approver could not be sent or updated: %s", job.key, failure)
            await self.jobs.again(job, now + timedelta(seconds=CHECK_S))
        elif failures:
            raise failures[0]

    async def _serve(self, platform: ApproverPlatform, approval: Approval, asked: AskedApprover, now: datetime) -> None:
        is_sent = bool(asked.pages) and asked.pages != SENDING
        if asked.closed:
            return
        if approval.call is None:
            await self._close(platform, approval, asked)
        elif not is_sent and asked.consent is Consent.NOT_NEEDED:
            await self._send(platform, approval, asked)
        elif is_sent and asked.consent is Consent.NOT_NEEDED and now >= approval.until - REMIND_BEFORE:
            await self._remind(platform, approval, asked)

    async def _send(self, platform: ApproverPlatform, approval: Approval, asked: AskedApprover) -> None:
        turn, key, person = approval.turn, approval.key, asked.person
        approver = await platform.approver(person, approval.rule, approval.question)
        if approver is None:
            await self._give_up(approval, person)
            return
        pages = await platform.find(person, _mark(approval)) if asked.pages == SENDING else ()
        if not pages:
            if not await self.approvals.shown(turn, key, person, SENDING):
                return
            try:
                pages = await platform.send(person, await self._panel(approval, approver))
            except PageGone:
                await self._give_up(approval, person)
                return
        if not await self.approvals.shown(turn, key, person, pages):  # it was forgotten meanwhile
            await self._delete(approval.question, pages)

    async def _give_up(self, approval: Approval, person: str) -> None:
        log.info("turn %d: %s cannot be asked to approve a call", approval.turn, person)
        if await self.approvals.unreachable(approval.turn, approval.key, person, self.clock.now()):
            self.wake()

    async def _remind(self, platform: ApproverPlatform, approval: Approval, asked: AskedApprover) -> None:
        """Remind the person once: a reminder that was lost in a crash is not repeated."""
        if asked.reminded or not await self.approvals.reminded(approval.turn, approval.key, asked.person):
            return
        text = tool_texts.APPROVAL_REMINDER.format(tool=approval.tool, until=_time(approval.until))
        pages = await platform.send(asked.person, Panel(text))
        if not await self.approvals.shown(approval.turn, approval.key, asked.person, (*asked.pages, *pages)):
            await self._delete(approval.question, pages)

    async def _close(self, platform: ApproverPlatform, approval: Approval, asked: AskedApprover) -> None:
        """Show the outcome in place of the call."""
        pages = asked.pages
        if pages == SENDING:
            pages = await platform.find(asked.person, _mark(approval))
        if pages:
            await platform.update(pages[0], outcome_text(approval, await self._names(platform, approval)))
            await self._delete(approval.question, pages[1:])
            if not await self.approvals.shown(approval.turn, approval.key, asked.person, pages[:1]):
                await self._delete(approval.question, pages)
        await self.approvals.closed(approval.turn, approval.key, asked.person)

    async def _names(self, platform: ApproverPlatform, approval: Approval) -> Mapping[str, str]:
        """Return the names of the people who were asked or decided; the ids of those who are not known."""
        people = [each.person for each in approval.people]
        names = {person: person for person in people} | dict(await self.audit.names_of(people))
        for person in [each for each in people if names[each] == each]:  # they have not written to the bot
            with suppress(CogencyError):
                found = await platform.approver(person, approval.rule, approval.question)
                names[person] = person if found is None else found.person.name
        return names

    async def _delete(self, question: Incoming, pages: Sequence[str]) -> None:
        for page in pages:
            shown = ShownPage(question.source, question.channel, page)
            await self.jobs.schedule(DELETE_REPLY, shown.key, shown.encode(), self.clock.now())

    async def _delete_lost(self, job: Job) -> None:
        """Delete a message that was being sent when its turn was forgotten, if it was sent."""
        source, person, name = json.loads(job.payload)
        platform = self.platforms.get(source)
        if platform is None:
            await self.jobs.again(job, self.clock.now() + timedelta(seconds=AWAY_S))
            return
        for page in await platform.find(person, f"{ALLOW} {name}"):
            shown = ShownPage(source, "", page)
            await self.jobs.schedule(DELETE_REPLY, shown.key, shown.encode(), self.clock.now())

    async def _panel(self, approval: Approval, approver: Approver) -> Panel:
        """Return the call in full, as its tool will get it, with the buttons that decide about it."""
        question = approval.question
        asker = asker_of(question)
        await self.toolbox.prepare(asker)
        call = approval.call
        if call is None:
            return Panel(tool_texts.NOTHING_WAITS)
        call = self.toolbox.registry(asker).as_run(call)
        effect = next((tool.effect for tool in self.toolbox.all(asker) if tool.name == call.name), None)
        name = f"{approval.turn}.{approval.key}"
        allow = PanelAction(tool_texts.ALLOW_ONCE, f"{ALLOW} {name}", typed=TYPED_YES)
        deny = PanelAction(tool_texts.REFUSE, f"{REFUSE} {name}", danger=True, typed=TYPED_NO)
        because = PanelAction(tool_texts.DENY_WITH_REASON, f"{REFUSE} {name}", danger=True, form=DENIAL_FORM)
        return Panel(approver_text(approval, call, effect, reads=approver.reads), (allow, deny, because))


async def _checked(
    people: Sequence[str], rule: Approvers, question: Incoming, platform: ApproverPlatform
) -> list[Approver]:
    """Return those of these people who meet the rule, all asked at once."""
    checking = [platform.approver(person, rule, question) for person in people]
    found = list[Approver]()
    for answer in await asyncio.gather(*checking, return_exceptions=True):
        if isinstance(answer, BaseException):
            _log_unknown(answer)
        elif answer is not None:
            found.append(answer)
    return found


def _log_unknown(error: BaseException) -> None:
    """Raises an error that says more than that something is not known now."""
    if not isinstance(error, CogencyError | TimeoutError):
        raise error
    log.warning("not everyone who can approve a call could be found: %r", error)


def _mark(approval: Approval) -> str:
    """Return the words of the button by which the message about a call is found."""
    return f"{ALLOW} {approval.turn}.{approval.key}"


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def rule_words(rule: Approvers) -> str:
    """Return who approves, as the subject of a sentence."""
    if rule.person:
        return tool_texts.APPROVING["person"]
    return tool_texts.APPROVING[f"{rule.needed} role" if rule.role else str(rule)]


def approver_text(approval: Approval, call: ToolCall, effect: ToolEffect | None, *, reads: bool) -> str:
    """Describe a call for somebody else than its asker, with every character of its arguments."""
    question = approval.question
    asker = literal(question.person.name)
    about = tool_texts.EFFECTS["" if effect is None else effect.name]
    head = tool_texts.OTHER_MAY_RUN.format(tool=call.name, about=about, asker=asker)
    asked = tool_texts.OTHER_ASKED_ELSEWHERE.format(asker=asker)
    if reads:
        asked = tool_texts.OTHER_ASKED.format(asker=asker, question=literal(shortened(question.text, ASKED_CHARS)))
        asked = joined([asked, tool_texts.OPEN_THREAD.format(link=question.permalink) if question.permalink else ""])
    needed = tool_texts.TWO_NEEDED if approval.rule.needed > 1 else ""
    expires = tool_texts.APPROVAL_EXPIRES.format(until=_time(approval.until))
    return "\n".join([head, "", *argument_lines(call), "", asked, "", " ".join(filter(None, [needed, expires]))])


def outcome_text(approval: Approval, names: Mapping[str, str]) -> str:
    """Describe for the approvers how the decision about a call ended, without its arguments."""
    deciding = [each for each in approval.people if each.consent is approval.consent]
    people = ", ".join(literal(names.get(each.person, each.person)) for each in deciding)
    text = tool_texts.OUTCOMES.get(approval.consent.name if deciding else "", tool_texts.OUTCOMES["OVER"])
    return text.format(tool=approval.tool, people=people, asker=literal(approval.question.person.name))
