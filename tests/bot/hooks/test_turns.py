"""Hooks in real turns: what the model reads, what is stored, shown, asked, run and audited."""

import asyncio
import re
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest

from agent import texts
from agent.events import Outcome
from agent.hooks.models import HookedProvider
from agent.hooks.running import Hooks
from agent.hooks.values import Answer, Call, Hide, ModelRequest, Question, Refuse
from agent.incoming import Attachment, Incoming, Quoted
from agent.messages import Consent, JsonObject, ToolCall
from agent.ports.tool_audit import AuditedCall
from agent.ports.tools import ToolContext, ToolEffect
from agent.providers.scripted import Answer as Scripted
from agent.providers.scripted import Answering, Until
from agent.toolbox.registry import FixedTools, Toolbox
from bot.chat.attachments.reading import Attached
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.tool_use import ToolUse
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from tests.agent.hooks.hook_modules import Function, hooks_with
from tests.bot.chat.turns.test_worker import World
from tests.bot.chat.turns.test_worker_stopping import asking, hang
from tests.fakes.fixed_config import always
from tests.fakes.incoming import said
from tests.fakes.one_turn import Echo, echo_call
from tests.patience import until

EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
NO = Refuse("That name stays here.")


@dataclass(slots=True)
class Code:
    """A tool whose "code" calls echo."""

    name: str = "code"
    description: str = "Run it."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0
    runs_code: bool = True

    @property
    def schema(self) -> JsonObject:
        return {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        assert context.inner is not None
        result = await context.inner.run(ToolCall("echo", {"text": str(args["text"])}))
        return f"{result.status}: {result.content}"


@dataclass
class Hooked(World):
    """`echo`: a tool that acts outward, unless its effect is changed."""

    hooks: Hooks | None = None
    joins: bool = False
    attached: Attached = Attached()  # noqa: RUF009 -- frozen
    echo: Echo = field(default_factory=Echo)

    async def read(self, _: Incoming) -> Attached:
        """Implements the port `FileReader`."""
        return self.attached

    def runner(self) -> TurnRunner:
        table = PolicyTable(self.store.preferences, self.store.audit, self.clock)
        policy = ApprovalPolicy(self.store.consents, self.store.approvals, self.clock, table)
        toolbox = Toolbox([], [FixedTools((self.echo, Code()))], policy)
        runner = replace(
            super().runner(),
            tools=ToolUse(toolbox, policy, self.store.audit),
            hooks=self.hooks,
            joins=self.joins,
            files=self,
        )
        return (
            runner if self.hooks is None else replace(runner, provider=always(HookedProvider(self.model, self.hooks)))
        )

    async def audited(self) -> list[tuple[str, str, str]]:
        rows: Sequence[AuditedCall] = await self.store.audit.newest(20)
        return [(row.tool, row.decision, row.decided_by) for row in reversed(rows)]


Script = Sequence[Scripted | Answering]


class HookedWorlds:
    """Opens worlds with hooks, until the test ends."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(
        self,
        script: Script,
        *,
        hold_answers: bool = False,
        before_question: Function | None = None,
        before_call: Function | None = None,
        before_model: Function | None = None,
        after_answer: Function | None = None,
    ) -> Hooked:
        functions = before_question, before_call, before_model, after_answer
        hooks = self._stack.enter_context(hooks_with(*functions, hold_answers=hold_answers))
        return Hooked(script, hooks=hooks)


@pytest.fixture
def hooked() -> Generator[HookedWorlds]:
    with ExitStack() as stack:
        yield HookedWorlds(stack)


async def keeps_the_name(question: Question) -> Question | Refuse:
    return NO if "Bluefin" in question.text else question


async def test_a_refused_question_goes_to_no_model_is_not_stored_and_its_person_reads_why(hooked: HookedWorlds) -> None:
    world = hooked(["Fine."], before_question=keeps_the_name)
    async with world.serving() as turns:
        assert await turns.ask(said("How is Bluefin?")) is Outcome.REFUSED
        assert world.model.requests == []
        assert world.shown() == [NO.sentence]
        await turns.ask(said("And you?"))
    assert world.stored() == [reply_texts.QUESTION_WITHHELD, NO.sentence, "And you?", "Fine."]
    assert "Bluefin" not in repr(world.model.requests)
    assert await world.audited() == [("before_question", "refused", "hook"), ("before_question", "passed", "hook")]


async def test_a_withheld_question_that_is_asked_again_by_its_button_is_refused(hooked: HookedWorlds) -> None:
    world = hooked(["Fine."], before_question=keeps_the_name)
    async with world.serving() as turns:
        assert await turns.ask(said(reply_texts.QUESTION_WITHHELD)) is Outcome.REFUSED
    assert (world.model.requests, world.shown()) == ([], [reply_texts.ASK_OTHERWISE])


async def test_a_replaced_question_is_what_the_model_reads_and_what_is_stored(hooked: HookedWorlds) -> None:
    async def shortens(question: Question) -> Question:
        return replace(question, text=question.text.replace("4111 1111 1111 1111", "(a card)"))

    world = hooked(["Fine.", "Yes."], before_question=shortens)
    async with world.serving() as turns:
        await turns.ask(said("My card is 4111 1111 1111 1111."))
        await turns.ask(said("Is it?"))
    assert world.stored() == ["My card is (a card).", "Fine.", "Is it?", "Yes."]
    assert "4111" not in repr(world.model.requests)
    assert "My card is (a card)." in world.model.requests[0][-1].text
    assert world.store.chosen == {}


async def test_the_texts_of_files_are_checked_and_replaced_with_their_question(hooked: HookedWorlds) -> None:
    async def shortens(question: Question) -> Question | Refuse:
        if any("Bluefin" in file.text for file in question.files):
            return NO
        return replace(question, files=tuple(replace(file, text=file.text[:5]) for file in question.files))

    world = hooked(["Fine."], before_question=shortens)
    asked = replace(said("What is this?"), files=(Attachment("a.txt", "text/plain", 9, "here"),))
    async with world.serving() as turns:
        world.attached = Attached(quoted=(Quoted("attached file a.txt", "Ann", "short, then Marlin"),))
        await turns.ask(asked)
        world.attached = Attached(quoted=(Quoted("attached file a.txt", "Ann", "Bluefin"),))
        assert await turns.ask(replace(said("And this?"), files=asked.files)) is Outcome.REFUSED
    (request,) = world.model.requests
    assert "short" in request[-1].text + request[-2].text
    assert "Marlin" not in repr(request)


async def test_what_was_spoken_is_checked_once_it_is_written_down(hooked: HookedWorlds) -> None:
    world = hooked(["Fine."], before_question=keeps_the_name)
    voice = (Attachment("voice.ogg", "audio/ogg", 9, "here", spoken=True),)
    async with world.serving() as turns:
        world.attached = Attached(spoken="How is Bluefin?")
        assert await turns.ask(replace(said(""), files=voice)) is Outcome.REFUSED
    assert world.model.requests == []
    assert world.stored() == [reply_texts.QUESTION_WITHHELD, NO.sentence]


async def test_a_check_that_fails_lets_no_question_pass(hooked: HookedWorlds) -> None:
    async def fails(_: Question) -> Question:
        raise ValueError

    world = hooked(["Fine."], before_question=fails)
    async with world.serving() as turns:
        assert await turns.ask(said("How is Bluefin?")) is Outcome.REFUSED
    assert (world.model.requests, world.shown()) == ([], [texts.HOOK_FAILED])
    assert world.stored() == [reply_texts.QUESTION_WITHHELD, texts.HOOK_FAILED]
    assert await world.audited() == [("before_question", "failed", "hook")]


async def test_a_message_that_would_join_waits_for_the_check_of_its_own_turn(hooked: HookedWorlds) -> None:
    world = hooked([], before_question=keeps_the_name)
    world.joins = True

    async def write_on() -> None:
        await world.store.ledger.accept(said("And Bluefin?"))

    world.echo.effect = ToolEffect.READS
    world.model.script = [["Wait.\n", Until(write_on), f"<execute>{echo_call('a')}</execute>"], "Fine."]
    async with world.serving() as turns:
        await turns.submit(said("Hello?"))
        await turns.idle()
    assert "Bluefin" not in repr(world.model.requests)
    assert world.stored() == ["Hello?", "Wait.\n\nFine.", reply_texts.QUESTION_WITHHELD, NO.sentence]


async def to_ben(call: Call) -> Call | Refuse:
    return NO if "Bluefin" in str(call.arguments["text"]) else replace(call, arguments={"text": "to Ben"})


async def test_the_person_is_asked_about_the_arguments_that_will_run(hooked: HookedWorlds) -> None:
    world = hooked([f"<execute>{echo_call('to Ann')}</execute>"], before_call=to_ben)
    async with world.serving() as turns:
        await turns.submit(said("Tell Ann."))
        await turns.idle()
    (waiting,) = await world.store.consents.undecided("ann")
    assert waiting.call == ToolCall("echo", {"text": "to Ben"})
    assert world.echo.said == []
    assert await world.audited() == [("before_call", "changed", "hook")]


async def test_a_refused_call_does_not_run_and_the_person_reads_why_whatever_the_model_says(
    hooked: HookedWorlds,
) -> None:
    world = hooked([f"<execute>{echo_call('Bluefin')}</execute>", "I sent it."], before_call=to_ben)
    async with world.serving() as turns:
        await turns.ask(said("Tell Ann."))
    assert world.echo.said == []
    assert world.shown() == [f"I sent it.\n\n{NO.sentence}"]
    assert texts.CALL_REFUSED_BY_HOOK.format(sentence=NO.sentence) in world.model.requests[1][-1].text
    assert await world.audited() == [("before_call", "refused", "hook"), ("echo", "refused", "hook")]


async def test_the_person_reads_why_also_after_another_call_has_waited_for_them(hooked: HookedWorlds) -> None:
    both = '[{"name": "echo", "args": {"text": "Bluefin"}}, {"name": "echo", "args": {"text": "a"}}]'
    world = hooked([f"<execute>{both}</execute>"], before_call=to_ben)
    async with world.serving() as turns:
        await turns.submit(said("Tell Ann."))
        await turns.idle()
    (waiting,) = await world.store.consents.undecided("ann")
    world.model.script, world.model.requests[:] = ["I sent it."], []
    async with world.serving() as turns:  # another process goes on with it
        await world.store.consents.decide(waiting.turn, waiting.key, "ann", Consent.GIVEN, world.clock.now())
        await turns.idle()
    assert world.echo.said == ["to Ben"]
    assert world.stored()[-1].endswith(f"I sent it.\n\n{NO.sentence}")


async def test_a_call_with_wrong_arguments_is_corrected_before_the_hook_sees_it(hooked: HookedWorlds) -> None:
    seen = list[Call]()

    async def notes(call: Call) -> Call:
        seen.append(call)
        return call

    world = hooked(
        ['<execute>[{"name": "code", "args": {}}]</execute>', f"<execute>{echo_call('a')}</execute>", "Fine."],
        before_call=notes,
    )
    world.echo.effect = ToolEffect.READS
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
    assert seen == [Call("echo", {"text": "a"}, "reads", False, "ann", "channel", "thread")]


async def test_arguments_that_break_the_schema_do_not_run(hooked: HookedWorlds) -> None:
    async def breaks(call: Call) -> Call:
        return replace(call, arguments={"text": 7})

    world = hooked([f"<execute>{echo_call('a')}</execute>", "Fine."], before_call=breaks)
    async with world.serving() as turns:
        await turns.ask(said("Hello?"))
    assert world.echo.said == []
    assert "wrong arguments" in world.model.requests[1][-1].text


@pytest.mark.parametrize(("text", "said_by_echo"), [("to Ann", ["to Ben"]), ("Bluefin", [])])
async def test_calls_of_code_pass_the_hook_too(hooked: HookedWorlds, text: str, said_by_echo: list[str]) -> None:
    seen = list[bool]()

    async def checks(call: Call) -> Call | Refuse:
        seen.append(call.by_code)
        return await to_ben(call) if call.by_code else call

    call = f'<execute>[{{"name": "code", "args": {{"text": "{text}"}}}}]</execute>'
    world = hooked([call, "Fine."], before_call=checks)
    world.echo.effect = ToolEffect.READS
    async with world.serving() as turns:
        await turns.ask(said("Run it."))
    assert (seen, world.echo.said) == ([False, True], said_by_echo)
    assert (NO.sentence in world.shown()[0]) == (not said_by_echo)


async def no_name(answer: Answer) -> str | Refuse | None:
    if "Bluefin" in answer.text:
        return NO
    return answer.text.replace("ann@example.com", "(an address)") if "@" in answer.text else None


async def test_an_answer_is_replaced_once_it_is_complete_and_stored_as_it_is_shown(hooked: HookedWorlds) -> None:
    world = hooked(["Ask ann@example.com.", "Fine."], after_answer=no_name)
    async with world.serving() as turns:
        assert await turns.ask(said("Whom?")) is Outcome.ANSWERED
        await turns.ask(said("Sure?"))
    assert world.shown()[0] == "Ask (an address)."
    assert world.stored() == ["Whom?", "Ask (an address).", "Sure?", "Fine."]
    assert "ann@" not in repr(world.model.requests)
    assert await world.audited() == [("after_answer", "changed", "hook"), ("after_answer", "passed", "hook")]


async def test_a_held_answer_is_shown_only_after_the_check(hooked: HookedWorlds) -> None:
    shown_before = list[list[str]]()

    async def look() -> None:
        shown_before.append(world.shown())

    async def checks(answer: Answer) -> str | Refuse | None:
        shown_before.append(world.shown())
        return await no_name(answer)

    world = hooked([], after_answer=checks, hold_answers=True)
    world.echo.effect = ToolEffect.READS
    world.model.script = [
        ["The plan of Bluefin is this: ", Until(look), f"\n<execute>{echo_call('a')}</execute>"],
        ["It is late. " * 40, Until(look)],
    ]
    async with world.serving() as turns:
        assert await turns.ask(said("How is it?")) is Outcome.REFUSED
    assert not any("Bluefin" in text or "late" in text for shown in shown_before for text in shown)
    assert len(shown_before) == 3
    assert world.shown() == [NO.sentence]
    assert world.stored() == ["How is it?", NO.sentence]


async def test_without_holding_the_answer_is_shown_as_it_grows(hooked: HookedWorlds) -> None:
    shown_before = list[list[str]]()

    async def checks(answer: Answer) -> str | Refuse | None:
        shown_before.append(world.shown())
        return await no_name(answer)

    world = hooked([], after_answer=checks)

    async def shown() -> None:
        await until(lambda: "thread" in world.surfaces and any("Bluefin" in text for text in world.shown()))

    world.model.script = [["Bluefin is late. " * 10, Until(shown)]]
    async with world.serving() as turns:
        assert await turns.ask(said("How is it?")) is Outcome.REFUSED
    assert shown_before[0][0].startswith("Bluefin is late. Bluefin")
    assert world.shown() == [NO.sentence]


async def test_a_check_of_answers_that_fails_shows_the_answer(
    hooked: HookedWorlds, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: Answer) -> None:
        raise ValueError

    world = hooked(["Fine."], after_answer=fails, hold_answers=True)
    async with world.serving() as turns:
        await turns.ask(said("How is it?"))
    assert world.shown() == ["Fine."]
    assert "the hook after_answer failed" in caplog.text
    assert await world.audited() == [("after_answer", "failed", "hook")]


async def test_what_a_stopped_answer_says_so_far_is_checked_too(hooked: HookedWorlds) -> None:
    world, stopping = hooked([], after_answer=no_name, hold_answers=True), asyncio.Event()
    world.model.script = [["Bluefin is late.", Until(stopping.wait), Until(hang)]]
    async with world.serving() as turns:
        running = await asking(world, turns, "How is it?")
        stopping.set()
        assert await turns.stop_conversation("thread")
        assert await running is Outcome.REFUSED
    assert world.shown() == [NO.sentence]
    assert world.stored() == ["How is it?", NO.sentence]


async def hides(request: ModelRequest) -> Hide:
    return Hide({found: "email" for text in request.texts for found in EMAIL.findall(text)})


async def test_what_is_hidden_from_the_model_is_in_calls_answers_and_the_store_as_it_was(hooked: HookedWorlds) -> None:
    world = hooked(
        [["<execute>", echo_call("to [EMAIL-1]"), "</execute>"], ["Told [EMA", "IL-1] it.", ""], "You: [EMAIL-1]."],
        before_model=hides,
    )
    world.echo.effect = ToolEffect.READS
    async with world.serving() as turns:
        await turns.ask(said("Tell ann@example.com."))
        await turns.ask(said("Whom did you tell?"))
    assert world.echo.said == ["to ann@example.com"]
    assert world.shown()[-1] == "You: ann@example.com."
    assert world.stored() == [
        "Tell ann@example.com.",
        "Told ann@example.com it.",
        "Whom did you tell?",
        "You: ann@example.com.",
    ]
    assert not EMAIL.search(repr(world.model.requests))
