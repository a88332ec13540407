"""The chat through pipes, with a fake bot: the output for an input."""

import asyncio
import io
import json
import os
import resource
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from agent.errors import Refused, StoreError
from agent.events import Outcome
from agent.incoming import Attachment
from agent.messages import Depth
from bot.chat.commands.declaration import BoundCommand, CommandCall
from bot.chat.exit_codes import Exit
from bot.chat.panels import FieldKind, FormField, Panel, PanelAction, PanelForm
from bot.chat.reply.surface import ReplyAction, Surface
from bot.chat.texts import formatting
from bot.forgetting import texts as forgetting_texts
from bot.memory.commands import MAY_DECIDE
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.attachments import write_file
from bot.platforms.terminal.pipe import PipeWindow
from bot.platforms.terminal.run import answer_as_json, ask_once, chat, question_of
from bot.tools.answers import QuestionAnswer
from bot.tools.commands import COMMAND, press_question, press_waiting, question_panel
from tests.fakes.chatbot import TIME, FakeChatBot
from tests.patience import PATIENCE_S


def now() -> datetime:
    return TIME


async def typed(lines: Sequence[str]) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def conversation(
    bot: FakeChatBot, *lines: str, ends: Exit = Exit.OK, complaints: list[str] | None = None
) -> list[str]:
    """Return the texts that the chat wrote to its output. `complaints`: the texts on its error stream."""
    out, err = io.StringIO(), io.StringIO()
    window = PipeWindow(typed(lines), out, err)
    async with asyncio.timeout(PATIENCE_S):
        assert await chat(bot, window, now) is ends
    error_text = err.getvalue().removeprefix(f"{bot.greeting()}\n\n")
    assert error_text.removesuffix("\n\n").split("\n\n") == (complaints or [""])
    assert "\x1b" not in out.getvalue()
    assert out.getvalue() == "" or out.getvalue().endswith("\n\n")
    return out.getvalue().removesuffix("\n\n").split("\n\n") if out.getvalue() else []


async def test_what_was_said_in_one_thread_is_found_in_the_next() -> None:
    assert await conversation(
        FakeChatBot(), "remember that my boat is blue", "/new", "what did I say about my boat?"
    ) == ["I will remember that my boat is blue.", "Started a new thread.", "You said: my boat is blue."]


async def test_the_start_up_lines_go_to_the_error_stream_and_only_answers_to_the_output() -> None:
    out, err = io.StringIO(), io.StringIO()
    await chat(FakeChatBot(), PipeWindow(typed(["hello"]), out, err), now)
    assert err.getvalue() == "**rehearsal** answers, as nothing is configured.\n\n"
    assert out.getvalue() == "You wrote: hello\n\n"


async def test_everything_is_forgotten_when_the_next_line_says_yes() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "remember that tea is hot", "/forget everything", "Yes", "/memory", "/threads")
    assert texts[1].startswith("I will forget everything that you told me")
    assert texts[2] == "Write `yes` for “Forget”. Anything else means “Keep everything”."
    assert texts[3].startswith(
        "Forgotten: 1 message, 1 fact. A search confirmed that these texts are no longer where they were stored"
    )
    assert texts[4:] == [
        "I know 0.",
        "There are no threads yet.",
    ]


class InterruptedWindow(PipeWindow):
    """A user presses Ctrl-C as soon as progress is shown."""

    _stop: Callable[[], None] | None = None

    @contextmanager
    def answering(self, stop: Callable[[], None]) -> Generator[None]:
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    def say(self, markdown: str) -> None:
        super().say(markdown)
        if self._stop is not None and markdown.startswith("Looking"):
            self._stop()


async def test_who_waits_for_what_is_to_be_forgotten_sees_how_far_it_is_and_stops_it_by_ctrl_c() -> None:
    bot, out = FakeChatBot(), io.StringIO()
    window = InterruptedWindow(typed(["/forget about much", "one"]), out, io.StringIO())
    async with asyncio.timeout(PATIENCE_S):
        await chat(bot, window, now)
    texts = out.getvalue().split("\n\n")
    assert texts[0].startswith("Looking through what you said… 7,000 messages found so far.")
    assert texts[0].endswith(platforms_texts.STOP_BY_KEYS)
    assert texts[1] == forgetting_texts.FORGET_STOPPED
    assert bot.stopped == ["p"]
    assert "one" in texts[2]


async def test_an_export_of_many_screens_is_only_written_to_a_file(tmp_path: Path) -> None:
    bot, path = FakeChatBot(), tmp_path / "export.json"
    bot.export = "x" * 50_001
    await conversation(bot, "/memory export", ends=Exit.FAILED, complaints=[platforms_texts.EXPORT_TO_FILE])
    await conversation(bot, f"/memory export {path}")
    assert path.read_text() == bot.export


async def test_budget_hands_its_words_on_and_shows_what_comes_back() -> None:
    texts = await conversation(FakeChatBot(), "/budget everyone")
    assert "The budget of everyone: no limit." in texts


async def test_usage_shows_what_the_questions_took() -> None:
    texts = await conversation(FakeChatBot(), "hello", "/usage")
    assert "**Today**: $0.0002, 1 model call" in texts
    assert "**This month**: $0.0002, 1 model call" in texts


@pytest.mark.parametrize(("said", "agreed"), [("yes", ["thread"]), ("All", ["thread+|name"]), ("those", [])])
async def test_what_may_say_the_same_elsewhere_is_forgotten_with_all_alone(said: str, agreed: list[str]) -> None:
    bot = FakeChatBot(wider="thread+|name")
    texts = await conversation(bot, "one", "/forget thread", said)
    ways = "Write `yes` for “Forget” or `all` for “Forget those, too”. Anything else means “Keep everything”."
    assert texts[2] == ways
    assert bot.agreed == agreed


async def test_all_is_no_yes_where_there_is_nothing_else_to_forget() -> None:
    bot = FakeChatBot()
    await conversation(bot, "one", "/forget thread", "all")
    assert bot.agreed == []


@pytest.mark.parametrize("typed", [["/forget everything"], ["/forget"], ["/forget", "everything"]])
async def test_a_script_that_ends_where_it_is_asked_learns_that_nothing_was_forgotten(typed: list[str]) -> None:
    bot = FakeChatBot()
    why = [forgetting_texts.FORGET_DECLINED]
    await conversation(bot, "remember that tea is hot", *typed, ends=Exit.FAILED, complaints=why)
    assert len(bot.facts) == 1


@pytest.mark.parametrize("answers", [["no"], [""], ["yes please"]])
async def test_anything_but_yes_keeps_everything_and_says_so(answers: list[str]) -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "remember that tea is hot", "/forget everything", *answers)
    assert texts[-1] == "Nothing was forgotten."
    assert len(bot.facts) == 1


async def test_forget_asks_what_to_forget_when_nothing_is_named() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "one", "/new", "two", "/forget", "Thread", "yes")
    assert texts[3] == forgetting_texts.forget_which(in_thread=True)
    assert texts[4].startswith("I will forget this thread")
    assert list(bot.asked) == ["c1"]


async def test_words_that_name_nothing_to_forget_get_one_sentence() -> None:
    bot = FakeChatBot()
    why = "I did not understand “both”."
    await conversation(bot, "one", "/forget", "both", "two", ends=Exit.FAILED, complaints=[why])
    assert bot.asked == {"c1": ["one", "two"]}


async def test_a_command_in_place_of_a_yes_keeps_everything_and_is_done() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "remember that tea is hot", "/forget everything", "/memory", "/quit", "yes")
    assert texts[3:] == [forgetting_texts.FORGET_DECLINED, "I know 1.", "- **1** tea is hot (today)", MAY_DECIDE]
    assert len(bot.facts) == 1
    assert await conversation(bot, "/forget everything", "/quit", "yes") == [
        *texts[1:3],
        forgetting_texts.FORGET_DECLINED,
    ]


async def test_a_command_in_place_of_what_to_forget_is_done() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "one", "/forget", "/forget thread", "yes", "/forget", "/memory")
    assert texts[2].startswith("I will forget this thread")
    assert texts[-2:] == [forgetting_texts.forget_which(in_thread=True), "I know 0."]


async def test_after_forgetting_a_thread_the_next_question_begins_a_new_one() -> None:
    bot = FakeChatBot()
    await conversation(bot, "one", "/forget thread", "yes", "two")
    assert bot.asked == {"c2": ["two"]}


async def test_a_thread_of_the_list_can_be_gone_back_to() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "boats", "/new", "tea", "/threads", "/threads 2", "more boats")
    assert "1. tea (today 12:00, this one)\n2. boats (today 12:00)" in texts
    assert texts[-4:] == ["Back in “boats”.", "> boats", "You wrote: boats", "You wrote: more boats"]
    assert bot.asked == {"c1": ["boats", "more boats"], "c2": ["tea"]}


async def test_a_number_means_the_list_that_was_shown_last() -> None:
    bot = FakeChatBot()
    await conversation(bot, "one", "/new", "two", "/threads", "/new", "three", "/threads 1", "back")
    assert bot.asked["c2"] == ["two", "back"]


async def test_a_number_without_a_list_means_the_threads_as_they_are() -> None:
    bot = FakeChatBot()
    missing = [f"There is no thread {number}. To see your threads, use `/threads`." for number in (1, 3)]
    lines = ["/threads 1", "one", "/new", "/threads 1", "back", "/threads 3"]
    await conversation(bot, *lines, ends=Exit.FAILED, complaints=missing)
    assert bot.asked == {"c1": ["one", "back"]}


async def test_memory_is_shown_and_decided_about_with_words() -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "remember that tea is hot", "/memory", "/memory delete 1")
    assert f"I know 1.\n\n- **1** tea is hot (today)\n\n{MAY_DECIDE}" in "\n\n".join(texts)
    assert "You asked: delete 1.\n\n- **1** tea is hot (today)" in "\n\n".join(texts)


async def test_an_export_is_shown_or_written_to_a_new_file_for_its_person_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    exports = (f"/memory export {path}", f"/memory export {path}", f"/memory export {tmp_path}/no/such/place")
    complaints = [
        formatting.literal(platforms_texts.FILE_EXISTS.format(name=path)),
        formatting.literal(
            platforms_texts.FILE_UNWRITABLE.format(name=f"{tmp_path}/no/such/place", reason="No such file or directory")
        ),
    ]
    shown, written = await conversation(
        FakeChatBot(), "/memory export", *exports, ends=Exit.FAILED, complaints=complaints
    )
    assert shown == '```json\n{"facts": []}\n```'
    assert (path.read_text(), path.stat().st_mode & 0o777) == ('{"facts": []}', 0o600)
    assert written == platforms_texts.FILE_WRITTEN.format(name=formatting.literal(str(path)))


def test_a_file_that_has_no_room_is_not_left_there_in_part(tmp_path: Path) -> None:
    path, limits = tmp_path / "mine.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(Refused, match=r"mine\.json could not be written \(the file would exceed a size limit"):
            write_file(str(path), "a" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()


async def test_an_export_is_written_through_no_link(tmp_path: Path) -> None:
    """Another user of the folder could redirect it to a file of theirs, or over one of ours."""
    link, target = tmp_path / "mine.json", tmp_path / "theirs"
    link.symlink_to(target)
    refused = platforms_texts.FILE_EXISTS.format(name=link)
    await conversation(FakeChatBot(), f"/memory export {link}", ends=Exit.FAILED, complaints=[refused])
    assert not target.exists()


async def test_the_model_is_shown_and_changed() -> None:
    bot = FakeChatBot()
    lines = ["/model", "/model ollama:llama3.2", "/model unknown"]
    missing = ["There is no model *unknown*."]
    shown = await conversation(bot, *lines, ends=Exit.SETTINGS, complaints=missing)
    assert shown == ["`rehearsal` answers.", "`ollama:llama3.2` answers."]
    assert bot.name == "ollama:llama3.2"


async def test_text_after_ask_and_after_two_slashes_is_sent() -> None:
    bot = FakeChatBot()
    await conversation(bot, "/ask hello", "//new is a command", "", "  ")
    assert bot.asked == {"c1": ["hello", "/new is a command"]}


async def test_help_lists_the_commands_and_an_unknown_one_gets_a_sentence() -> None:
    missing = ["There is no command `/thread`. Did you mean `/threads`?"]
    texts = await conversation(FakeChatBot(), "/help", "/thread", ends=Exit.USAGE, complaints=missing)
    assert "- `/forget`: Forget what you told me" in texts[0]


async def test_nothing_after_quit_is_read() -> None:
    bot = FakeChatBot()
    assert await conversation(bot, "/quit", "hello") == []
    assert bot.asked == {}


async def test_what_goes_wrong_is_one_sentence_and_the_chat_goes_on() -> None:
    complaints = ["the disk is full: make room and ask again."]
    shown = await conversation(FakeChatBot(), "break", "hello", ends=Exit.UNAVAILABLE, complaints=complaints)
    assert shown == ["You wrote: hello"]


async def test_why_there_is_no_answer_goes_to_the_error_stream_and_the_first_failure_is_the_exit_code() -> None:
    complaints = ["The model is away.", "the disk is full: make room and ask again."]
    lines = ["hello", "refuse", "break"]
    shown = await conversation(FakeChatBot(), *lines, ends=Exit.UNAVAILABLE, complaints=complaints)
    assert shown == ["You wrote: hello"]


@pytest.mark.parametrize("instead", ["what is tea?", "yesterday I said something else", "eat"])
async def test_what_is_typed_where_a_yes_is_asked_for_and_is_no_answer_is_the_next_question(instead: str) -> None:
    bot = FakeChatBot()
    texts = await conversation(bot, "remember that tea is hot", "/forget everything", instead)
    assert texts[-2:] == ["Nothing was forgotten.", f"You wrote: {instead}"]
    assert len(bot.facts) == 1


async def test_one_question_is_asked_and_answered_on_the_output() -> None:
    for question, ends, said, complained in [
        ("hello", Exit.OK, "You wrote: hello\n\n", ""),
        ("two\nlines", Exit.OK, "You wrote: two\nlines\n\n", ""),
        ("refuse", Exit.UNAVAILABLE, "", "The model is away.\n\n"),
    ]:
        out, err = io.StringIO(), io.StringIO()
        bot = FakeChatBot({"old": "An old answer."})
        assert await ask_once(bot, PipeWindow(typed([]), out, err), now, question) is ends
        assert (out.getvalue(), err.getvalue()) == (said, complained)


async def test_one_question_is_answered_as_json() -> None:
    answer, code = await answer_as_json(FakeChatBot(), "hello")
    assert code is Exit.OK
    assert json.loads(answer) == {
        "version": 1,
        "outcome": "answered",
        "answer": "You wrote: hello",
        "model": "rehearsal",
    }
    answer, code = await answer_as_json(FakeChatBot(), "refuse")
    assert (json.loads(answer)["outcome"], code) == ("refused", Exit.UNAVAILABLE)


@pytest.mark.parametrize(
    ("words", "given", "question"),
    [
        (["what", "is", "tea?"], None, "what is tea?"),
        ([], "one\ntwo\n", "one\ntwo"),
        (["-"], "one\ntwo\n", "one\ntwo"),
        (["sum this up:", "-"], "one\ntwo\n", "sum this up:\n\none\ntwo"),
        (["/etc/hosts", "is", "what?"], None, "/etc/hosts is what?"),
        (["-"], "/tools", "/tools"),
    ],
)
def test_a_question_is_made_of_words_and_of_standard_input_where_it_is_asked_for(
    words: list[str], given: str | None, question: str
) -> None:
    def read(most: int) -> str:
        assert given is not None, "nobody asked for standard input"
        return given[:most]

    assert question_of(words, read) == question


@pytest.mark.parametrize("words", [["/forget everything"], ["/Tools", "policy"]])
def test_a_command_is_no_question_to_a_model(words: list[str]) -> None:
    with pytest.raises(ValueError, match=rf"works only in the chat\. .* `echo '{' '.join(words)}' \| cogency chat`"):
        question_of(words, lambda _: "")


def test_no_question_and_too_long_a_one_are_refused() -> None:
    with pytest.raises(ValueError, match="There is no question"):
        question_of([], lambda _: " \n")
    with pytest.raises(ValueError, match="too long"):
        question_of(["-"], lambda most: "x" * most)


async def test_interrupted_answers_are_finished_at_the_start_one_after_the_other() -> None:
    bot = FakeChatBot(left={"old": "An old answer.", "older": "An older answer."})
    assert await conversation(bot, "hello") == [
        "Continuing with “An old question?” (thread 1 of `/threads`, “old thread”):",
        "An old answer.",
        "Continuing with “An older question?” (thread 2 of `/threads`, “older thread”):",
        "An older answer.",
        "You wrote: hello",
    ]


async def test_what_another_terminal_leaves_meanwhile_is_finished_before_the_next_question() -> None:
    bot = FakeChatBot()
    bot.left_by_the_next_question = {"old": "An old answer."}
    assert await conversation(bot, "hello", "/threads 1") == [
        "You wrote: hello",
        "Continuing with “An old question?” (thread 1 of `/threads`, “old thread”):",
        "An old answer.",
        "Back in “old thread”.",
    ]


async def test_a_failure_before_the_first_line_reaches_the_caller() -> None:
    class Broken(FakeChatBot):
        async def past_questions(self) -> list[str]:
            raise StoreError("the database is locked.")

    with pytest.raises(StoreError, match="locked"):
        await conversation(Broken(), "hello")


async def test_a_chat_that_is_cancelled_ends_and_shows_what_was_said() -> None:
    bot, out = FakeChatBot(), io.StringIO()
    task = asyncio.create_task(chat(bot, PipeWindow(typed(["wait"]), out, io.StringIO()), now))
    async with asyncio.timeout(PATIENCE_S):
        await bot.waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert out.getvalue() == "Well, then\n\n*Stopped.*\n\n"


async def test_stop_is_no_question_when_nothing_runs() -> None:
    bot = FakeChatBot()
    assert await conversation(bot, "stop", "Stop!", "/stop") == ["Nothing is running here."] * 3
    assert bot.asked == {}


async def test_a_question_may_say_how_deep_its_answer_should_go() -> None:
    bot = FakeChatBot()
    await conversation(bot, "/deep why?", "/fast when?", "where?")
    assert bot.asked == {"c1": ["why?", "when?", "where?"]}
    assert bot.depths == [Depth.DEEP, Depth.FAST, Depth.ADAPT]


async def test_a_closed_pipe_ends_the_chat_quietly() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    bot = FakeChatBot()
    with open(write_end, "w", encoding="utf-8") as out:  # noqa: PTH123, ASYNC230 -- a pipe has no path and does not block
        async with asyncio.timeout(PATIENCE_S):
            assert await chat(bot, PipeWindow(typed(["one", "two"]), out, io.StringIO()), now) is Exit.OK
        out.write("what Python flushes at its end does not complain")
    assert bot.asked == {"c1": ["one"]}


class TwoQuestions:
    """`/tools`, where two questions are open at once. `fails`: the error of reading them."""

    def __init__(self, fails: StoreError | None = None) -> None:
        self.open, self.declined, self.fails = ["1.a", "1.b"], list[str](), fails
        self.over = asyncio.Event()

    async def run(self, call: CommandCall) -> Panel:
        if self.fails is not None:
            self.over.set()
            raise self.fails
        if call.words.startswith("decline "):
            self.open.remove(name := call.words.removeprefix("decline "))
            self.declined.append(name)
            return Panel("Declined.")
        if self.open:
            return question_panel(QuestionAnswer("Which one?", self.open[0]), call.caller.window_fields)
        self.over.set()
        return Panel("Nobody waits for it.", refused=True)


class Asking(FakeChatBot):
    """Answers when no question is open any more."""

    def __init__(self, asked: TwoQuestions) -> None:
        super().__init__()
        self.asked_by_tools = asked

    @property
    def tools(self) -> BoundCommand:
        return BoundCommand(
            COMMAND, self.asked_by_tools.run, presses={ReplyAction.ANSWER: partial(press_question, None)}
        )

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        await surface.show_waiting(1)
        await self.asked_by_tools.over.wait()
        return await super().ask(text, conversation, surface, depth, files)


async def test_a_program_declines_all_that_tools_ask_at_once() -> None:
    asked = TwoQuestions()
    async with asyncio.timeout(PATIENCE_S):
        answer, code = await answer_as_json(Asking(asked), "hello")
    assert (json.loads(answer)["answer"], code, asked.declined) == ("You wrote: hello", Exit.OK, ["1.a", "1.b"])


async def test_a_reply_goes_on_where_what_a_tool_asks_cannot_be_read() -> None:
    bot = Asking(TwoQuestions(StoreError("the disk is full.")))
    shown = await conversation(bot, "hello", ends=Exit.UNAVAILABLE, complaints=["the disk is full."])
    assert shown == ["You wrote: hello"]


ROUNDS = 100  # Of the event loop: a reply ends in fewer


class WaitingForWords(FakeChatBot):
    """Its replies wait for an answer in words, which `/tools` asks for: during the reply, and afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = list[str]()
        self.read = asyncio.Event()

    async def run(self, call: CommandCall) -> Panel:
        if call.words.startswith("reply "):
            self.answers.append(call.words.removeprefix("reply "))
            return Panel("Your answer is stored.")
        if self.answers:
            return Panel("Nobody waits for it.")
        self.read.set()
        typed = (PanelAction("A", "reply a", typed=("1",)),)
        return Panel("Which one?", typed, takes_words=True, words_before="reply")

    @property
    def tools(self) -> BoundCommand:
        presses = {ReplyAction.ANSWER: partial(press_question, None), ReplyAction.DECIDE: partial(press_waiting, None)}
        return BoundCommand(COMMAND, self.run, presses=presses)

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        if text != "deploy":
            return await super().ask(text, conversation, surface, depth, files)
        await surface.show_waiting(1)
        await self.read.wait()
        return None

    async def typed(self, lines: Sequence[str]) -> AsyncIterator[str]:
        """What somebody types who reads the question for longer than the reply takes."""
        for line in lines:
            for _ in range(ROUNDS if self.read.is_set() else 0):
                await asyncio.sleep(0)
            yield line


async def at_a_terminal(bot: WaitingForWords, *lines: str) -> list[str]:
    """Return the texts of a chat with somebody who types, after the greeting."""
    out = io.StringIO()
    async with asyncio.timeout(PATIENCE_S):
        await chat(bot, PipeWindow(bot.typed(lines), out, io.StringIO(), "> "), now)
    return out.getvalue().removesuffix("\n\n").split("\n\n")


@pytest.mark.parametrize(("answer", "stored"), [("to neither of them", "to neither of them"), ("1", "a")])
async def test_what_a_reply_asks_is_answered_once_also_in_words(answer: str, stored: str) -> None:
    bot = WaitingForWords()
    shown = await at_a_terminal(bot, "deploy", answer)
    assert bot.answers == [stored]
    assert shown == ["Which one?", "Your answer is stored."]


async def test_a_command_in_place_of_an_answer_is_carried_out_after_the_reply_which_asks_no_second_time() -> None:
    bot = WaitingForWords()
    shown = await at_a_terminal(bot, "deploy", "/new", "hello")
    assert shown == ["Which one?", "Started a new thread.", "You wrote: hello"]


async def test_who_answers_nothing_learns_that_the_question_is_still_open() -> None:
    bot = WaitingForWords()
    shown = await at_a_terminal(bot, "deploy", "", "hello")
    assert shown == ["Which one?", platforms_texts.STILL_WAITS, "You wrote: hello"]


BOAT = PanelForm(
    name="boat",
    label="Answer",
    title="A boat",
    submit="Send",
    fields=(FormField("name", "Name"), FormField("sail", "Sail", FieldKind.BOX, hint="With a sail")),
    words=lambda filled: filled["name"],
    mistakes=lambda filled: {"name": "No fish."} if filled["name"] == "cod" else {},
)


class Booking(FakeChatBot):
    """`/tools` asks for a boat, by a form."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = list[tuple[str, dict[str, str], bool]]()

    @property
    def tools(self) -> BoundCommand:
        return BoundCommand(COMMAND, self.book)

    async def book(self, call: CommandCall) -> Panel:
        if not call.words:
            buttons = (BOAT.button("book"), PanelAction("Decline", "no"), PanelAction("Cancel", "later"))
            typed = (("y", "yes"), ("n", "no"), ("",))
            actions = [replace(button, typed=words) for button, words in zip(buttons, typed, strict=True)]
            return Panel("Which boat?", tuple(actions))
        self.calls.append((call.words, dict(call.options), call.pressed))
        return Panel("Done.")


@pytest.mark.parametrize(
    ("lines", "call"),
    [
        (["cod", "", "Mary", "y", "Yes"], ("book Mary", {"sail": "yes"}, False)),
        (["Mary", "", "yes"], ("book Mary", dict[str, str](), False)),
        (["Mary", "", "no"], ("no", dict[str, str](), True)),
        (["Mary", "", "hm"], ("later", dict[str, str](), True)),
        (["cod", "cod", "cod", "cod", "cod"], ("later", dict[str, str](), True)),
    ],
)
async def test_a_form_of_a_panel_is_filled_in_before_what_to_do_with_it_is_asked(
    lines: list[str], call: tuple[str, dict[str, str], bool]
) -> None:
    bot = Booking()
    out, err = io.StringIO(), io.StringIO()
    async with asyncio.timeout(PATIENCE_S):
        await chat(bot, PipeWindow(typed(["/tools", *lines]), out, err), now)
    assert bot.calls == [call]
    assert "Which boat?" in out.getvalue()
    assert ("No fish." in out.getvalue()) is ("cod" in lines)
    assert ("hm" in str(bot.asked)) is ("hm" in lines)
