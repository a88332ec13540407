"""The steps of a turn as messages: what is appended to the context for the next call of the model. Pure."""

from collections.abc import Sequence

from agent.messages import Message, ResultStatus, Role, ToolResult
from agent.progress import RoundStep
from agent.protocol.grammar import WORKSPACE_SCHEMA
from agent.protocol.render import continued, neutralise, render_results, render_step
from agent.turn_records import Waiting

REMINDER = f"Begin the next round with <workspace>, in this form: {WORKSPACE_SCHEMA}"

QUESTION_AGAIN = "The person's question was:"
REPEATED_CHARS = 2_000  # Of a question; the whole of it stands above

JUST_ARRIVED = (
    "A message from the person has just arrived, while you worked. Heed it in what you do and say from now on:"
)
ANSWER_ARRIVED = "What the person answers to your question:"


def appended_messages(steps: Sequence[RoundStep], hint: str = "", question: str = "") -> tuple[Message, ...]:
    """Render each step as two messages, the model's output and the answer to it; `hint` ends the newest answer.

    An answer that only corrects the model repeats the `question`: small models answer what they read last. A step
    without any output is no message: a model that reads one takes it for its answer.
    """
    messages: list[Message] = []
    for number, step in enumerate(steps, 1):
        output = render_step(step.text, step.workspace, step.calls)
        if output or step.native is not None:
            calls = step.calls if step.in_functions else ()
            messages.append(Message(Role.ASSISTANT, output, native=step.native, said=step.text, calls=calls))
        images = tuple(image for result in step.results if result is not None for image in result.images)
        answer = _render_answer(step, hint if number == len(steps) else "", question)
        messages.append(Message(Role.USER, answer, images))
    return tuple(messages)


def _render_answer(step: RoundStep, hint: str, question: str) -> str:
    results = [result for result in step.results if result is not None]
    if step.bad and step.problem and not step.in_functions:
        results = [ToolResult("execute", ResultStatus.FAILURE, step.problem)]
    parts = [
        render_results(results) if results else "",
        step.problem if not results else "",
        step.note,
        _render_question(question) if step.bad or step.problem else "",
        REMINDER if step.reminded else "",
        *map(_render_joined, step.joined),
        hint,
    ]
    return "\n\n".join(part for part in parts if part)


def _render_joined(message: Waiting) -> str:
    head = ANSWER_ARRIVED if message.answers else JUST_ARRIVED
    return "\n".join([head, *continued(neutralise(message.text).splitlines())])


def _render_question(question: str) -> str:
    if not question.strip():
        return ""
    return f"{QUESTION_AGAIN}\n{quoted(question)}"


def quoted(question: str) -> str:
    text = question if len(question) <= REPEATED_CHARS else f"{question[:REPEATED_CHARS]}…"
    return "\n".join(continued(neutralise(text).splitlines()))
