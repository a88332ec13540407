"""The turn's state machine, driven by hand: events go in, effects come out."""

from datetime import UTC, datetime

import pytest

from agent import texts
from agent.appended_messages import REMINDER
from agent.events import (
    CallsArrived,
    CallsRejected,
    Outcome,
    SummaryArrived,
    TextArrived,
    ThoughtArrived,
    UnknownSaid,
    WorkspaceArrived,
)
from agent.messages import Consent, Image, ResultStatus, ToolCall, ToolResult
from agent.ports.model import ReasoningArrived, StopReason
from agent.progress import Progress, RoundStep, decode, encode
from agent.protocol.grammar import LAST_ROUND
from agent.protocol.render import joined
from agent.state import Workspace
from agent.texts import NOT_KNOWN, QUESTION_EDITED
from agent.turn import (
    CRASHED_CALL,
    EMPTY_ANSWER,
    GONE_CALL,
    NOT_ALLOWED,
    NOT_RUN,
    REFUSED_CALL,
    REPEATED_CALL,
    Turn,
    TurnLimits,
)
from agent.turn_events import (
    AwaitConsent,
    CallAnswered,
    CallModel,
    CallPlaced,
    ConsentDecided,
    Effect,
    EndDue,
    Finish,
    ResponseBegun,
    ResponseCompleted,
    ResponseFailed,
    RunTools,
    SaveProgress,
    ShowNotice,
    TurnInput,
)

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
READ = ToolCall("read", {})
WRITE = ToolCall("write", {})
DONE = ResponseCompleted(StopReason.END)


def check(call: ToolCall) -> str | None:
    return None if call.name in {"read", "write"} else f"unknown tool {call.name!r}"


def repeatable(name: str) -> bool:
    return name == "read"


FRESH = Progress()


def new_turn(progress: Progress = FRESH, **limits: int) -> Turn:
    return Turn(check, repeatable, TurnLimits(**limits), progress)


def feed(turn: Turn, *happened: TurnInput) -> list[Effect]:
    """Everything that `happened` in one model call; the effects of the last."""
    effects: list[Effect] = []
    for event in (ResponseBegun(NOON), *happened):
        effects = turn.receive(event)
    return effects


def answered(id_: str, content: str = "ok") -> CallAnswered:
    return CallAnswered(id_, ToolResult("read", ResultStatus.SUCCESS, content))


def only(effects: list[Effect], kind: type[Effect]) -> Effect:
    (found,) = [effect for effect in effects if isinstance(effect, kind)]
    return found


def appended(effects: list[Effect]) -> list[str]:
    """The texts that the next model call will find behind its context."""
    call = only(effects, CallModel)
    assert isinstance(call, CallModel)
    return [message.text for message in call.appended]


def test_a_turn_begins_by_asking_the_model_with_nothing_appended() -> None:
    assert new_turn().start() == [CallModel(1, ())]


def test_an_answer_is_saved_before_the_turn_finishes() -> None:
    turn = new_turn()
    turn.start()
    saved, finished = feed(turn, TextArrived("Hel"), TextArrived("lo."), DONE)
    assert isinstance(saved, SaveProgress)
    assert saved.progress.reply == "Hello."
    assert finished == Finish(Outcome.ANSWERED, "Hello.")


def test_the_sign_beside_an_answer_is_saved_with_it_and_one_beside_calls_says_nothing() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, TextArrived("I do not know yet."), UnknownSaid(), CallsArrived((READ,)))
    turn.receive(answered("1.1", "Heron"))
    assert not turn.progress.unknown
    after_it = new_turn(turn.progress)
    after_it.start()
    feed(after_it, TextArrived("It is Heron."), DONE)
    assert not after_it.progress.unknown
    feed(turn, TextArrived("I do not know."), UnknownSaid(), DONE)
    assert decode(encode(turn.progress)).unknown
    assert turn.text == "I do not know yet.\n\nI do not know."


def test_an_answer_of_nothing_but_the_sign_is_a_sentence() -> None:
    turn = new_turn()
    turn.start()
    notice, saved, finished = feed(turn, TextArrived("\n"), UnknownSaid(), DONE)
    assert notice == ShowNotice(NOT_KNOWN)
    assert isinstance(saved, SaveProgress)
    assert finished == Finish(Outcome.ANSWERED, NOT_KNOWN)
    assert saved.progress.unknown


def test_calls_are_saved_before_they_run() -> None:
    turn = new_turn()
    turn.start()
    saved, run = feed(turn, TextArrived("Let me look."), CallsArrived((READ, WRITE)))
    assert isinstance(saved, SaveProgress)
    assert saved.progress.steps[0].results == (None, None)
    assert run == RunTools((CallPlaced("1.1", READ), CallPlaced("1.2", WRITE)))


def test_each_result_is_saved_and_the_model_is_asked_after_the_last_one() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, TextArrived("Let me look."), CallsArrived((READ, WRITE)))
    (saved,) = turn.receive(answered("1.2", "second"))
    assert isinstance(saved, SaveProgress)
    effects = turn.receive(answered("1.1", "first"))
    call = effects[-1]
    assert isinstance(call, CallModel)
    assert call.number == 2
    answer, results = appended(effects)
    assert answer.startswith("Let me look.")
    assert results.index("first") < results.index("second"), "results stand in the order of the calls"


def test_later_rounds_only_append_to_what_the_model_has_read() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, CallsArrived((READ,)))
    first = only(turn.receive(answered("1.1")), CallModel)
    feed(turn, TextArrived("More."), CallsArrived((READ,)))
    second = only(turn.receive(answered("2.1")), CallModel)
    assert isinstance(first, CallModel)
    assert isinstance(second, CallModel)
    assert second.appended[: len(first.appended)] == first.appended


def test_pictures_of_a_result_are_seen_with_it_in_every_later_round() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, CallsArrived((READ,)))
    picture = Image("image/png", b"png")
    (_, first) = turn.receive(CallAnswered("1.1", ToolResult("read", ResultStatus.SUCCESS, "", images=(picture,))))
    assert isinstance(first, CallModel)
    feed(turn, CallsArrived((WRITE,)))
    (_, second) = turn.receive(answered("2.1"))
    assert isinstance(second, CallModel)
    assert [message.images for message in second.appended] == [(), (picture,), (), ()]
    assert second.appended[:2] == first.appended
    assert decode(encode(turn.progress)) == turn.progress


def test_text_before_calls_stays_in_the_reply_as_a_paragraph_of_its_own() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, TextArrived("Let me look.\n"), CallsArrived((READ,)))
    turn.receive(answered("1.1"))
    assert feed(turn, TextArrived("Found it."), DONE)[-1] == Finish(Outcome.ANSWERED, "Let me look.\n\nFound it.")


def test_an_unknown_tool_is_a_failed_result_and_the_good_call_beside_it_runs() -> None:
    turn = new_turn()
    turn.start()
    run = feed(turn, CallsArrived((ToolCall("raed", {}), READ)))[-1]
    assert run == RunTools((CallPlaced("1.2", READ),))
    shown = appended(turn.receive(answered("1.2")))
    assert "unknown tool 'raed'" in shown[-1]


def test_a_block_that_reads_as_no_calls_goes_back_with_its_reason() -> None:
    turn = new_turn()
    turn.start()
    shown = appended(feed(turn, CallsRejected("not JSON: line 1 column 9")))
    assert "not JSON: line 1 column 9" in shown[-1]


@pytest.mark.parametrize("bad", [CallsRejected("not JSON"), CallsArrived((ToolCall("nothing", {}),))])
def test_three_bad_steps_in_a_row_end_the_turn_with_a_sentence(bad: TurnInput) -> None:
    turn = new_turn()
    turn.start()
    feed(turn, bad)
    feed(turn, bad)
    assert feed(turn, bad)[-1] == Finish(Outcome.REFUSED, texts.BROKEN_CALLS)


def test_a_good_call_breaks_the_row_of_bad_steps() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, CallsRejected("not JSON"))
    feed(turn, CallsRejected("not JSON"))
    feed(turn, CallsArrived((READ,)))
    turn.receive(answered("3.1"))
    feed(turn, CallsRejected("not JSON"))
    assert isinstance(feed(turn, CallsRejected("not JSON"))[-1], CallModel)


def test_a_request_marked_as_not_secure_runs_no_call_of_that_round() -> None:
    turn = new_turn()
    turn.start()
    shown = appended(feed(turn, WorkspaceArrived(Workspace("x"), secure=False), CallsArrived((WRITE,))))
    assert REFUSED_CALL in shown[-1]


def test_the_next_round_is_not_refused_for_the_mark_of_the_one_before() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, WorkspaceArrived(Workspace("x"), secure=False), CallsArrived((WRITE,)))
    assert isinstance(feed(turn, CallsArrived((WRITE,)))[-1], RunTools)


def test_a_call_made_again_is_answered_with_a_note_and_no_third_one_runs() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, CallsArrived((READ,)))
    assert REPEATED_CALL not in appended(turn.receive(answered("1.1", "seven")))[-1]
    feed(turn, CallsArrived((READ,)))
    assert f"seven\\n{REPEATED_CALL}" in appended(turn.receive(answered("2.1", "seven")))[-1]
    effects = feed(turn, CallsArrived((READ, WRITE)))
    assert effects[-1] == RunTools((CallPlaced("3.2", WRITE),))
    shown = appended(turn.receive(answered("3.2")))[-1]
    assert NOT_RUN.format(times=2, result="seven").replace("\n", "\\n") + '"' in shown


def test_the_round_after_a_call_made_twice_is_the_last_unless_it_calls_something_else() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, CallsArrived((READ,)))
    assert LAST_ROUND not in appended(turn.receive(answered("1.1")))[-1]
    feed(turn, CallsArrived((READ,)))
    assert LAST_ROUND in appended(turn.receive(answered("2.1")))[-1]
    assert feed(turn, CallsArrived((READ,)))[-1] == Finish(Outcome.EXHAUSTED, texts.SAME_CALLS)


def test_a_refused_repetition_does_not_keep_other_calls_of_its_round_from_running() -> None:
    turn = new_turn()
    turn.start()
    for number in (1, 2):
        feed(turn, CallsArrived((READ,)))
        turn.receive(answered(f"{number}.1"))
    run = feed(turn, CallsArrived((READ, WRITE)))[-1]
    assert run == RunTools((CallPlaced("3.2", WRITE),))


def test_other_arguments_and_a_call_of_which_a_crash_left_nothing_are_no_repetition() -> None:
    turn = new_turn()
    turn.start()
    for number in (1, 2, 3, 4):
        effects = feed(turn, CallsArrived((ToolCall("read", {"page": number}),)))
        assert isinstance(effects[-1], RunTools)
        assert REPEATED_CALL not in appended(turn.receive(answered(f"{number}.1")))[-1]
    unknown = ToolResult("write", ResultStatus.UNKNOWN, CRASHED_CALL)
    after = new_turn(Progress((RoundStep(NOON, calls=(WRITE,), results=(unknown,)),) * 3))
    after.start()
    assert isinstance(feed(after, CallsArrived((WRITE,)))[-1], RunTools)


def test_a_missing_workspace_delays_nothing_and_is_asked_for_twice_at_most() -> None:
    turn = new_turn()
    turn.start()
    for number in (1, 2, 3):
        feed(turn, CallsArrived((ToolCall("read", {"page": number}),)))
        shown = appended(turn.receive(answered(f"{number}.1")))
        assert (REMINDER in shown[-1]) == (number <= 2)


def test_a_valid_workspace_needs_no_reminder_and_is_kept() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, WorkspaceArrived(Workspace(objective="find it")), CallsArrived((READ,)))
    shown = appended(turn.receive(answered("1.1")))
    assert REMINDER not in shown[-1]
    assert turn.workspace == Workspace(objective="find it")


def test_what_a_workspace_leaves_out_keeps_what_it_held_and_the_model_is_reminded() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, WorkspaceArrived(Workspace("find it", "it was said", "search", "nothing yet")), CallsArrived((READ,)))
    turn.receive(answered("1.1"))
    partly = WorkspaceArrived(
        Workspace(discoveries="a boat"), missing=frozenset({"objective", "understanding", "approach"})
    )
    feed(turn, partly, CallsArrived((READ,)))
    shown = appended(turn.receive(answered("2.1")))
    assert turn.workspace == Workspace("find it", "it was said", "search", "a boat")
    assert REMINDER in shown[-1]


def test_a_workspace_that_cannot_be_read_takes_nothing_away() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, WorkspaceArrived(Workspace("find it", "b", "c", "d")), CallsArrived((READ,)))
    turn.receive(answered("1.1"))
    everything = frozenset(Workspace.__slots__)
    feed(turn, WorkspaceArrived(Workspace(), secure=False, missing=everything), CallsArrived((WRITE,)))
    assert turn.workspace == Workspace("find it", "b", "c", "d")


def test_the_model_is_told_before_its_last_round() -> None:
    turn = new_turn(max_iterations=3)
    turn.start()
    feed(turn, CallsArrived((READ,)))
    assert LAST_ROUND not in appended(turn.receive(answered("1.1")))[-1]
    feed(turn, CallsArrived((READ,)))
    assert LAST_ROUND in appended(turn.receive(answered("2.1")))[-1]


@pytest.mark.parametrize("more", [CallsArrived((READ,)), CallsRejected("not JSON")])
def test_calls_asked_for_in_the_last_round_do_not_run(more: TurnInput) -> None:
    turn = new_turn(max_iterations=1)
    turn.start()
    finished = feed(turn, TextArrived("So far."), more)[-1]
    assert isinstance(finished, Finish)
    assert finished.outcome is Outcome.EXHAUSTED
    assert finished.text.startswith(
        "So far.\n\nI stopped here because I reached the limit on rounds of tool calls (1)."
    )


def test_an_empty_answer_is_asked_for_once_more() -> None:
    turn = new_turn()
    turn.start()
    assert appended(feed(turn, ThoughtArrived("hm"), DONE))[-1] == EMPTY_ANSWER
    assert feed(turn, DONE)[-1] == Finish(Outcome.REFUSED, texts.NO_ANSWER)


def test_a_model_that_is_down_ends_the_turn_with_its_sentence() -> None:
    turn = new_turn()
    turn.start()
    assert feed(turn, ResponseFailed("The model is down."))[-1] == Finish(Outcome.REFUSED, "The model is down.")


def test_what_was_said_before_the_stream_broke_stands() -> None:
    turn = new_turn()
    turn.start()
    finished = feed(turn, TextArrived("Half an ans"), ResponseFailed("It broke off."))[-1]
    assert finished == Finish(Outcome.CUT, "Half an ans\n\nIt broke off.")


@pytest.mark.parametrize(
    ("reason", "text", "outcome"),
    [
        (StopReason.LENGTH, "Long", Outcome.CUT),
        (StopReason.FILTERED, "Some", Outcome.CUT),
        (StopReason.FILTERED, "", Outcome.REFUSED),
        (StopReason.HALTED, "Short", Outcome.ANSWERED),
        (StopReason.UNKNOWN, "The three steps are", Outcome.CUT),
    ],
)
def test_how_the_model_stopped_decides_how_the_turn_ended(reason: StopReason, text: str, outcome: Outcome) -> None:
    turn = new_turn()
    turn.start()
    finished = feed(turn, TextArrived(text), ResponseCompleted(reason))[-1]
    assert isinstance(finished, Finish)
    assert finished.outcome is outcome


def test_an_answer_that_may_be_incomplete_says_so() -> None:
    turn = new_turn()
    turn.start()
    finished = feed(turn, TextArrived("The three steps are"), ResponseCompleted(StopReason.UNKNOWN))[-1]
    assert finished == Finish(Outcome.CUT, f"The three steps are\n\n{texts.MAY_BE_CUT}")


def test_an_answer_without_a_word_for_an_unknown_reason_is_asked_for_again() -> None:
    turn = new_turn()
    turn.start()
    assert isinstance(feed(turn, ResponseCompleted(StopReason.UNKNOWN))[-1], CallModel)


def test_what_an_answer_does_not_draw_on_is_said_once_at_its_end() -> None:
    turn = new_turn()
    turn.start()
    for _ in range(2):
        turn.record_omission(texts.PICTURES_REFUSED)
    notice, _, finished = feed(turn, TextArrived("A boat."), DONE)
    assert notice == ShowNotice(texts.PICTURES_REFUSED)
    assert finished == Finish(Outcome.ANSWERED, f"A boat.\n\n{texts.PICTURES_REFUSED}")


@pytest.mark.parametrize("reason", [StopReason.END, StopReason.UNKNOWN])
def test_an_answer_that_nothing_is_to_be_reported_stays_alone(reason: StopReason) -> None:
    turn = new_turn()
    turn.start()
    turn.record_omission(texts.PICTURES_REFUSED)
    finished = feed(turn, TextArrived(texts.NOTHING_TO_REPORT), ResponseCompleted(reason))[-1]
    assert finished == Finish(Outcome.ANSWERED, texts.NOTHING_TO_REPORT)


def test_thoughts_are_kept_up_to_their_limit_and_never_said() -> None:
    turn = new_turn(max_thought_chars=10)
    turn.start()
    feed(turn, ReasoningArrived("abc"), ReasoningArrived("def"), ThoughtArrived("x" * 50), TextArrived("Hi."), DONE)
    assert turn.text == "Hi."
    assert turn.progress.steps[0].thought == "abcdef\n\nxx"


def test_summaries_of_all_rounds_add_up() -> None:
    turn = new_turn()
    turn.start()
    feed(turn, SummaryArrived({"goal": "a"}), CallsArrived((READ,)))
    turn.receive(answered("1.1"))
    feed(turn, TextArrived("Hi."), SummaryArrived({"goal": "b", "progress": "c"}), DONE)
    assert turn.progress.summary == {"goal": "b", "progress": "c"}


class TestAfterACrash:
    """The turn goes on from its last saved progress, read back from its stored form."""

    @staticmethod
    def saved(*happened: TurnInput, results: tuple[CallAnswered, ...] = ()) -> Progress:
        turn = new_turn()
        turn.start()
        feed(turn, *happened)
        for result in results:
            turn.receive(result)
        return decode(encode(turn.progress))

    def test_a_call_that_may_have_taken_effect_is_unknown_and_not_repeated(self) -> None:
        progress = self.saved(TextArrived("On it."), CallsArrived((WRITE,)))
        save, call = new_turn(progress).start()
        assert isinstance(save, SaveProgress)
        assert isinstance(call, CallModel)
        assert CRASHED_CALL in call.appended[-1].text
        assert '"unknown"' in call.appended[-1].text

    def test_a_read_only_call_without_a_result_runs_again(self) -> None:
        progress = self.saved(CallsArrived((READ, WRITE)))
        assert new_turn(progress).start()[-1] == RunTools((CallPlaced("1.1", READ),))

    def test_a_stored_result_is_used_and_its_call_not_repeated(self) -> None:
        progress = self.saved(CallsArrived((READ, READ)), results=(answered("1.2", "kept"),))
        turn = new_turn(progress)
        assert turn.start()[-1] == RunTools((CallPlaced("1.1", READ),))
        assert "kept" in appended(turn.receive(answered("1.1")))[-1]

    def test_a_finished_round_goes_straight_to_the_model(self) -> None:
        progress = self.saved(TextArrived("On it."), CallsArrived((READ,)), results=(answered("1.1"),))
        turn = new_turn(progress)
        (call,) = turn.start()
        assert isinstance(call, CallModel)
        assert call.number == 2
        assert turn.text == "On it."

    def test_a_saved_reply_needs_no_model(self) -> None:
        progress = self.saved(TextArrived("All done."), DONE)
        assert new_turn(progress).start() == [Finish(Outcome.ANSWERED, "All done.")]


class TestConsent:
    """Calls that may not run unasked: here those of "write"."""

    def turn(self, progress: Progress = FRESH) -> Turn:
        return Turn(check, repeatable, TurnLimits(), progress, needs_consent=lambda call: call.name == "write")

    def asked(self, *calls: ToolCall) -> tuple[Progress, list[Effect]]:
        turn = self.turn()
        turn.start()
        effects = feed(turn, CallsArrived(calls))
        return turn.progress, effects

    def decided(self, progress: Progress, *decisions: tuple[str, Consent]) -> tuple[Turn, list[Effect]]:
        """In another process, as it was stored."""
        turn = self.turn(decode(encode(progress)))
        for id_, consent in decisions:
            turn.receive(ConsentDecided(id_, consent))
        return turn, turn.start()

    def test_a_call_that_needs_it_does_not_run_and_the_turn_is_put_aside_with_it_saved(self) -> None:
        progress, effects = self.asked(WRITE)
        assert effects == [SaveProgress(progress), AwaitConsent((CallPlaced("1.1", WRITE),))]
        assert progress.steps[0].consents == (Consent.AWAITED,)

    def test_what_needs_none_runs_first(self) -> None:
        turn = self.turn()
        turn.start()
        (_, running) = feed(turn, CallsArrived((WRITE, READ)))
        assert running == RunTools((CallPlaced("1.2", READ),))
        (_, aside) = turn.receive(answered("1.2"))
        assert aside == AwaitConsent((CallPlaced("1.1", WRITE),))

    def test_once_given_it_runs_and_a_crash_while_it_runs_leaves_it_unknown(self) -> None:
        turn, (saved, running) = self.decided(self.asked(WRITE)[0], ("1.1", Consent.GIVEN))
        assert running == RunTools((CallPlaced("1.1", WRITE),))
        assert isinstance(saved, SaveProgress)
        again, _ = self.decided(saved.progress, ("1.1", Consent.GIVEN))
        (result,) = again.progress.steps[0].results
        assert result is not None
        assert result.status is ResultStatus.UNKNOWN
        (_, after) = turn.receive(answered("1.1"))
        assert isinstance(after, CallModel)

    def test_a_tool_that_went_while_its_call_waited_is_a_failed_result(self) -> None:
        progress, _ = self.asked(WRITE)
        turn = Turn(lambda _: "unknown tool 'write'", repeatable, TurnLimits(), progress)
        assert turn.start() == [SaveProgress(progress), AwaitConsent((CallPlaced("1.1", WRITE),))]
        turn.receive(ConsentDecided("1.1", Consent.GIVEN))
        *_, after = turn.start()
        assert isinstance(after, CallModel)
        (result,) = turn.progress.steps[0].results
        assert result == ToolResult("write", ResultStatus.FAILURE, GONE_CALL.format(why="unknown tool 'write'"))

    @pytest.mark.parametrize("consent", [Consent.REFUSED, Consent.EXPIRED])
    def test_without_it_the_call_has_failed_and_the_model_goes_on(self, consent: Consent) -> None:
        turn, effects = self.decided(self.asked(WRITE)[0], ("1.1", consent))
        (result,) = turn.progress.steps[0].results
        assert result == ToolResult("write", ResultStatus.FAILURE, NOT_ALLOWED[consent])
        assert isinstance(effects[-1], CallModel)

    def test_of_an_edited_question_what_was_said_stands_and_no_call_that_waited_runs(self) -> None:
        progress, _ = self.asked(WRITE, ToolCall("write", {"more": 1}))
        turn, effects = self.decided(progress, ("1.1", Consent.EDITED), ("1.2", Consent.EDITED))
        failed = ToolResult("write", ResultStatus.FAILURE, NOT_ALLOWED[Consent.EDITED])
        assert turn.progress.steps[0].results == (failed, failed)
        assert turn.text == joined([progress.steps[0].text, QUESTION_EDITED])
        assert isinstance(effects[-1], CallModel)

    def test_the_turn_waits_until_each_call_is_decided(self) -> None:
        progress, _ = self.asked(WRITE, ToolCall("write", {"more": 1}))
        turn, effects = self.decided(progress, ("1.2", Consent.REFUSED))
        assert effects == [SaveProgress(turn.progress), AwaitConsent((CallPlaced("1.1", WRITE),))]
        _, effects = self.decided(turn.progress, ("1.2", Consent.GIVEN), ("1.1", Consent.GIVEN))
        assert effects[-1] == RunTools((CallPlaced("1.1", WRITE),))  # the first word about 1.2 stands

    @pytest.mark.parametrize("id_", ["2.1", "1.2", "1.0", "0.1"])
    def test_a_decision_about_another_call_changes_nothing(self, id_: str) -> None:
        progress, _ = self.asked(WRITE)
        turn, effects = self.decided(progress, (id_, Consent.GIVEN))
        assert turn.progress == progress
        assert effects[-1] == AwaitConsent((CallPlaced("1.1", WRITE),))

    def test_a_call_that_could_not_run_is_not_asked_about(self) -> None:
        _, effects = self.asked(ToolCall("nothing", {}))
        assert not any(isinstance(effect, AwaitConsent) for effect in effects)


ENDS = "The budget is used up."


def asked_for_more(turn: Turn) -> list[Effect]:
    """A round whose call has its result: the next call of the model is due."""
    turn.start()
    turn.receive(CallsArrived((READ,)))
    return turn.receive(CallAnswered("1.1", ToolResult("read", ResultStatus.SUCCESS, "one")))


def test_a_turn_that_has_to_end_asks_for_what_there_is_and_says_why_it_ends() -> None:
    turn = Turn(check, repeatable)
    asked_for_more(turn)
    (call,) = turn.end_early(EndDue(ENDS))
    assert isinstance(call, CallModel)
    assert LAST_ROUND in call.appended[-1].text
    assert turn.end_early(EndDue("Again.")) == []
    turn.receive(TextArrived("One, so far."))
    assert turn.receive(DONE)[-1] == Finish(Outcome.EXHAUSTED, f"One, so far.\n\n{ENDS}")


@pytest.mark.parametrize("happened", [CallsArrived((READ,)), CallsRejected("no JSON"), DONE])
def test_a_turn_that_has_to_end_ends_whatever_the_model_does(happened: TurnInput) -> None:
    turn = Turn(check, repeatable)
    asked_for_more(turn)
    turn.end_early(EndDue(ENDS))
    assert turn.receive(happened)[-1] == Finish(Outcome.EXHAUSTED, ENDS)


def test_a_turn_that_has_to_end_at_once_asks_nothing_more() -> None:
    turn = Turn(check, repeatable)
    turn.start()
    turn.receive(TextArrived("I look."))
    turn.receive(CallsArrived((READ,)))
    turn.receive(CallAnswered("1.1", ToolResult("read", ResultStatus.SUCCESS, "one")))
    assert turn.end_early(EndDue(ENDS, at_once=True))[-1] == Finish(Outcome.REFUSED, f"I look.\n\n{ENDS}")


def test_the_last_round_is_not_asked_for_twice() -> None:
    turn = Turn(check, repeatable, TurnLimits(max_iterations=2))
    asked_for_more(turn)
    assert turn.end_early(EndDue(ENDS)) == []
    turn.receive(TextArrived("One."))
    assert turn.receive(DONE)[-1] == Finish(Outcome.ANSWERED, "One.")
