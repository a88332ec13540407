"""What a client of the MCP server can do for its person, whatever the transport.

Rules
  A client acts within the rights of one person, as in their direct messages with the bot. These rights are looked up
  with each call. It reads nothing that a reply to them there could not hold.
  The tools `recall` and `remember` are those of the bot's turns, with the operator's policy and the audit. A call that
  would need approval is refused, because nobody can give it here. The audit holds no arguments: forgetting finds a
  row by its turn, and these calls have none.
  What is remembered is a message of the person, on which the fact rests: `/forget` erases both.
  Nothing is erased without two steps. The first one shows what would be erased, and makes a confirmation that is valid
  for this person, once and for a short time. Only a digest of it is stored.
"""

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final, Protocol, assert_never, cast

from agent.doors import MCP_CLIENT
from agent.errors import Refused, ToolError
from agent.hooks.running import Hooks
from agent.incoming import Incoming
from agent.memory.attribution import said_by
from agent.memory.audience import Place, label, may_be_used, may_flow_from
from agent.memory.layers import ContextReader, Environment, IdentityRole, Layers, memory_context
from agent.memory.marking import Superseded
from agent.memory.secrets import has_secret
from agent.messages import Json, JsonObject, Provenance, ResultStatus, ToolCall
from agent.ports.clock import Clock
from agent.ports.conversations import Conversations
from agent.ports.ledger import Ledger
from agent.ports.memory import Facts
from agent.ports.preferences import Preferences
from agent.ports.tool_audit import AuditedCall, ToolAudit
from agent.ports.tools import Asker, Tool, ToolContext, ToolOutput
from agent.protocol.render import one_line
from agent.stored_messages import Author, StoredMessage, Thread
from agent.texts import NEVER_KEPT, NOT_THEIR_WORDS
from agent.tool_policy import DecidedBy, PolicyAnswer, PolicyRow, decide
from agent.toolbox.registry import Toolbox
from agent.turn_setup import asker_of
from bot.api.mcp_server import texts
from bot.api.mcp_server.client_hooks import ClientHooks
from bot.chat.commands.declaration import BoundCommands, Caller, CommandCall
from bot.chat.panels import Panel

MAX_THREADS: Final = 50  # In the list of resources: as many as a person looks through
MAX_MESSAGES: Final = 200  # Of one thread: the newest
MAX_THREAD_CHARS: Final = 60_000  # About 15,000 tokens, which most clients can take
LATEST_TURN: Final = 2**31 - 1
CONFIRMATION: Final = "mcp_forget"  # The preference with the digest of a person's last confirmation
QUESTION_MARKS: Final = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class Answer:
    """`complete`: the question was answered. `waits`: it waits for the person's approval; `text` says of what."""

    text: str
    thread: str
    complete: bool = True
    waits: bool = False


class ShowStatus(Protocol):
    async def __call__(self, text: str) -> None:
        """Show what the bot is doing, in a short line."""
        ...


async def show_nothing(text: str) -> None:
    pass


class McpUser(Protocol):
    """The person for whom a client acts. Every method may raise Refused, if they may not use the bot now."""

    async def message(self, text: str, conversation: str) -> Incoming:
        """Return a new message of theirs, as in their direct messages with the bot, with the rights they have now."""
        ...

    async def caller(self, conversation: str) -> Caller:
        """Return them as the user of a command. `conversation`: what "this thread" means."""
        ...

    def new_conversation(self) -> str: ...

    @property
    def notes(self) -> str:
        """The conversation that holds what this client remembers for them."""
        ...

    async def ask(self, question: str, conversation: str, status: ShowStatus) -> Answer:
        """Ask a question that a program wrote, and wait for the answer. If cancelled, the turn is stopped."""
        ...


class Repositories(Protocol):
    """The parts of the store that the server uses."""

    @property
    def audit(self) -> ToolAudit: ...
    @property
    def conversations(self) -> Conversations: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def preferences(self) -> Preferences: ...


async def nothing_else(_: Place) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """`question`: what would be erased, as Markdown. `confirmation`: erases it; "" if there is nothing to erase."""

    question: str
    confirmation: str = ""
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalTools:
    """`also_readable`: returns the labels of what else the only reader of a place can read now."""

    user: McpUser
    store: Repositories
    toolbox: Toolbox
    rows: Sequence[PolicyRow]
    commands: BoundCommands
    clock: Clock
    new_secret: Callable[[], str]
    also_readable: Callable[[Place], Awaitable[frozenset[str]]] = field(default=nothing_else)
    hooks: Hooks | None = None
    """The operator's, which see what a client calls and reads."""

    @property
    def _hooks(self) -> ClientHooks:
        return ClientHooks(self.hooks, self.store.audit, self.clock)

    async def recall(self, args: JsonObject) -> str:
        """Search the person's past threads, and their documents. Raises ToolError, Refused and StoreError."""
        asked = await self.user.message("", "")
        args = await self._before_call("recall", args, asked)
        readable = await self.also_readable(asked.place)
        superseded = await self._superseded(asked, may_flow_from(asked.place, readable), str(args.get("query", "")))
        found = await self._run("recall", args, asked, self._context(asked, 0, readable, superseded))
        return await self._hooks.leaving(found, asked.person.id, str(args.get("query", "")))

    async def remember(self, text: str) -> str:
        """Store a statement of the person. Raises ToolError, Refused and StoreError."""
        _check_statement(text)
        said = await self.user.message(text, self.user.notes)
        text = str((await self._before_call("remember", {"text": text}, said))["text"])
        _check_statement(text)
        said = replace(said, text=text)
        if not said_by(text, (text,), name=said.person.name, strict=True):
            raise ToolError(NOT_THEIR_WORDS)
        await self.store.ledger.record_context_message(said)
        latest = await self.store.conversations.history(said.conversation, before_turn=LATEST_TURN, limit=MAX_MESSAGES)
        stored = next((message for message in reversed(latest) if message.message_id == said.message_id), None)
        if stored is None:  # it was forgotten meanwhile
            raise ToolError(texts.NOT_SAVED)
        context = self._context(said, stored.id, asker_texts=(text,))
        try:
            remembered = await self._run("remember", {"text": text}, said, context)
        except ToolError as refused:
            raise ToolError(f"{refused} {texts.MESSAGE_STAYS}") from None
        return await self._hooks.leaving(remembered, said.person.id, text, said.conversation)

    async def ask(self, question: str, thread: str, status: ShowStatus = show_nothing) -> Answer:
        """Ask a question; `thread`: "" for a new one. Raises ToolError, Refused and StoreError."""
        if thread and await self._thread(thread) is None:
            raise ToolError(texts.THREAD_UNKNOWN)
        return await self.user.ask(question, thread or self.user.new_conversation(), status)

    async def threads(self) -> Sequence[Thread]:
        """Return the person's threads, as far as a reply to them may hold them; the latest first."""
        asked = await self.user.message("", "")
        audiences = await self._audiences(asked)
        listed = await self.store.conversations.threads(asked.person.id, limit=MAX_THREADS, audiences=audiences)
        titles = await self._hooks.titles_leaving([thread.title for thread in listed], asked.person.id)
        return [replace(thread, title=title) for thread, title in zip(listed, titles, strict=True)]

    async def read_thread(self, conversation: str) -> str:
        """Return the newest messages of one of the person's threads. Raises Refused and StoreError."""
        asked = await self.user.message("", "")
        messages = await self._messages(conversation, asked)
        if messages is None:
            raise Refused(texts.THREAD_UNKNOWN)
        lines, chars = list[str](), 0
        for message in reversed(messages):
            by_person = message.name if message.own else texts.ASKED_FOR.format(name=message.name)
            author = texts.SERVER_TITLE if message.author is Author.BOT else by_person
            text = "\n".join(f"> {line}" for line in message.text.strip().splitlines())
            lines.append(f"{one_line(f'{message.time:%Y-%m-%d %H:%M} UTC, {author}:')}\n{text}")
            chars += len(lines[-1])
            if chars > MAX_THREAD_CHARS:
                lines[-1] = texts.THREAD_CUT
                break
        whole = "\n\n".join([texts.THREAD_HEAD, *reversed(lines)])
        return await self._hooks.leaving(whole, asked.person.id, conversation=conversation)

    async def memory(self) -> str:
        """Return what the bot remembers about the person. Raises Refused and StoreError."""
        caller = await self.user.caller("")
        panel = await self.commands["memory"].run(CommandCall(words="", caller=caller))
        return await self._hooks.leaving(_panel_text(panel), caller.person.id)

    async def preview_forget(self, what: str, thread: str, *, related: bool, asks: bool) -> ForgetPreview:
        """Return what would be erased, and make a confirmation, in place of an earlier one. Raises CogencyError.

        `asks`: the client asks the person itself, and no model passes the confirmation on.
        """
        caller = await self.user.caller(thread)
        panel = await self.commands["forget"].run(CommandCall(words=what, caller=caller))
        shown = await self._preview(panel, thread, related=related, asks=asks)
        return await self._leaving(shown, caller.person.id, thread)

    async def forget(self, confirmation: str, *, asked: bool) -> ForgetPreview:
        """Erase what a confirmation stands for, and return the receipt; or ask again, if that has changed.

        `asked`: the client has asked the person, as `preview_forget` was told. Raises Refused if the confirmation is
        not valid (any more), and CogencyError.
        """
        token, thread = await self._take(confirmation, asked=asked)
        caller = await self.user.caller(thread)
        panel = await self.commands["forget"].run(CommandCall(words=token, caller=caller, pressed=True))
        done = await self._preview(panel, thread, related=False, asks=asked)
        try:
            done = await self._leaving(done, caller.person.id, thread)
        except Refused as refused:
            if done.confirmation or done.refused:
                raise
            done = replace(done, question=texts.ERASED.format(why=refused))
        if done.confirmation or done.refused:
            return done
        return ForgetPreview(f"{done.question}\n\n{texts.ERASED_ELSEWHERE}")

    async def _leaving(self, preview: ForgetPreview, person: str, thread: str) -> ForgetPreview:
        question = await self._hooks.leaving(preview.question, person, conversation=thread)
        return replace(preview, question=question)

    async def _before_call(self, name: str, args: JsonObject, asked: Incoming) -> dict[str, Json]:
        """Return the arguments with which one of the bot's tools may be called. Raises ToolError."""
        asker = asker_of(asked)
        tool, _ = self._tool(name, asker)  # what may not run stores no message, either
        person, conversation = asked.person.id, asked.conversation
        checked = await self._hooks.before_call(name, args, tool.effect.value, person, conversation)
        if (problem := self.toolbox.registry(asker).check(ToolCall(name, checked))) is not None:
            raise ToolError(problem)
        return checked

    async def _preview(self, panel: Panel, thread: str, *, related: bool, asks: bool) -> ForgetPreview:
        tokens = [action.words for action in panel.actions if action.danger]
        if not tokens:
            return ForgetPreview(_panel_text(panel), refused=panel.refused)
        confirmation = await self._issue(tokens[-1] if related else tokens[0], thread, asks=asks)
        return ForgetPreview(_panel_text(panel), confirmation)

    async def _issue(self, token: str, thread: str, *, asks: bool) -> str:
        person = (await self.user.caller(thread)).person.id
        plain = json.dumps({"token": token, "thread": thread}, ensure_ascii=False).encode()
        confirmation = f"{urlsafe_b64encode(plain).decode()}.{self.new_secret()}"
        expires = self.clock.now() + texts.CONFIRM_TIME
        digest = _digest(confirmation, asks=asks)
        await self.store.preferences.set(person, CONFIRMATION, f"{expires.isoformat()} {digest}")
        return confirmation

    async def _take(self, confirmation: str, *, asked: bool) -> tuple[str, str]:
        """Use up a confirmation; return what it agreed to, and the thread that it means. Raises Refused."""
        person, preferences = (await self.user.caller("")).person.id, self.store.preferences
        stored = (await preferences.all_of(person)).get(CONFIRMATION, "")
        expires, _, digest = stored.partition(" ")
        is_right = compare_digest(
            digest, _digest(confirmation, asks=asked)
        ) and self.clock.now() < datetime.fromisoformat(expires)
        if not (is_right and await preferences.swap(person, CONFIRMATION, stored, "")):
            raise Refused(texts.FORGET_STALE)
        await preferences.set(person, CONFIRMATION, None)
        agreed = cast("dict[str, str]", json.loads(urlsafe_b64decode(confirmation.partition(".")[0])))
        return agreed["token"], agreed["thread"]

    async def _audiences(self, asked: Incoming) -> frozenset[str]:
        return may_flow_from(asked.place, await self.also_readable(asked.place))

    async def _thread(self, conversation: str) -> list[StoredMessage] | None:
        """Return the messages of one of the person's threads that a reply to them may hold; None if there is none."""
        return await self._messages(conversation, await self.user.message("", ""))

    async def _messages(self, conversation: str, asked: Incoming) -> list[StoredMessage] | None:
        audiences, conversations = await self._audiences(asked), self.store.conversations
        if asked.person.id not in (await conversations.participants(conversation) or ()):
            return None
        messages = await conversations.history(conversation, before_turn=LATEST_TURN, limit=MAX_MESSAGES)
        return [one for one in messages if may_be_used(one.audience, one.drawn_from, audiences, here=False)] or None

    async def _superseded(self, asked: Incoming, audiences: frozenset[str], query: str) -> tuple[Superseded, ...]:
        """Return what to mark in quotations because the person has said otherwise since."""
        facts = await self.store.facts.readable(asked.person.id, audiences)
        if not facts:
            return ()
        identity = IdentityRole(asked.person.name, asked.person.id, asked.authority)
        layers = Layers(identity, Environment(asked.time, asked.person.time_zone), facts)
        known = await asyncio.to_thread(memory_context, layers, ContextReader(audiences, query))
        return known.superseded

    def _context(
        self,
        asked: Incoming,
        message: int,
        readable: frozenset[str] = frozenset(),
        superseded: tuple[Superseded, ...] = (),
        *,
        asker_texts: tuple[str, ...] = (),
    ) -> ToolContext:
        return ToolContext(
            asked.person,
            asked.place,
            asked.conversation,
            message,
            asked.time,
            readable,
            asked.authority,
            superseded,
            asker_texts=asker_texts,
            channel=asked.channel,
            kind=asked.kind,
        )

    def _tool(self, name: str, asker: Asker) -> tuple[Tool, DecidedBy]:
        """Return one of the bot's tools, and what lets it run. Raises ToolError if the operator's policy does not let
        it run without approval.
        """
        tool = next((tool for tool in self.toolbox.all(asker) if tool.name == name), None)
        if tool is None:
            raise ToolError(texts.TOOL_OFF.format(name=name))
        decision = decide(self.rows, name, tool.effect, asker, Provenance.OWN)
        match decision.answer:
            case PolicyAnswer.YES:
                return tool, DecidedBy.EFFECT if decision.row is None else DecidedBy.TABLE
            case PolicyAnswer.ASK:
                raise ToolError(texts.TOOL_ASKS.format(name=name))
            case PolicyAnswer.NO:
                raise ToolError(texts.TOOL_OFF.format(name=name))
            case _:
                assert_never(decision.answer)

    async def _run(self, name: str, args: JsonObject, asked: Incoming, context: ToolContext) -> str:
        """Run one of the bot's tools, with a line in the audit. Raises ToolError."""
        tool, decided_by = self._tool(name, asker_of(asked))
        row = AuditedCall(
            time=self.clock.now(),
            person=asked.person.id,
            channel=MCP_CLIENT,
            audience=label(asked.place.audience),
            tool=name,
            arguments="",
            effect=tool.effect.value,
            decision="unasked",
            decided_by=decided_by,
        )
        id_, began, outcome, size = await self.store.audit.add(row), self.clock.monotonic(), ResultStatus.FAILURE, 0
        try:
            async with asyncio.timeout(tool.timeout_s):
                output = await tool.run(args, context)
            text = output.text if isinstance(output, ToolOutput) else output
            outcome, size = ResultStatus.SUCCESS, len(text.encode(errors="replace"))
        except TimeoutError:
            raise ToolError(texts.TOO_SLOW.format(name=name)) from None
        finally:
            await self.store.audit.end(id_, round(1000 * (self.clock.monotonic() - began)), size, outcome)
        return text


def _check_statement(text: str) -> None:
    """Raises ToolError if the text cannot be stored as somebody's statement."""
    if has_secret(text):
        raise ToolError(NEVER_KEPT)
    if text.rstrip().endswith(QUESTION_MARKS):
        raise ToolError(NOT_THEIR_WORDS)


def _digest(confirmation: str, *, asks: bool) -> str:
    return sha256(f"{asks} {confirmation}".encode(errors="replace")).hexdigest()


def _panel_text(panel: Panel) -> str:
    entries = "\n".join(f"- {part.text}" for part in panel.parts if part.text and part.actions)
    return "\n\n".join(filter(None, [panel.text, entries]))
