"""A turn's steps as the messages that are appended to its context. Pure.

Above: `agent.turn`. Below: `agent.protocol.render`, `agent.progress`.
Rule: more steps only append; what was rendered before stays byte for byte, so that a vendor's prefix cache hits.
"""

from collections.abc import Sequence

from agent.messages import Message, ResultStatus, Role, ToolResult
from agent.progress import Step
from agent.protocol.grammar import WORKSPACE_SCHEMA
from agent.protocol.render import continued, neutralise, render_results, render_step

REMINDER = f"Begin the next round with <workspace>, in this form: {WORKSPACE_SCHEMA}"

JUST_ARRIVED = (
    "A message from the person has just arrived, while you worked. Heed it in what you do and say from now on:"
)


def appended_messages(steps: Sequence[Step], hint: str = "") -> tuple[Message, ...]:
    """Each step as the model's own words and the system's answer; `hint` closes the newest answer."""
    messages: list[Message] = []
    for number, step in enumerate(steps, 1):
        words = render_step(step.text, step.workspace, step.calls)
        messages.append(Message(Role.ASSISTANT, words, native=step.native))
        messages.append(Message(Role.USER, _answer(step, hint if number == len(steps) else "")))
    return tuple(messages)


def _answer(step: Step, hint: str) -> str:
    results = [result for result in step.results if result is not None]
    if step.bad and step.problem:
        results = [ToolResult("execute", ResultStatus.FAILURE, step.problem)]
    parts = [
        render_results(results) if results else "",
        step.problem if not results else "",
        REMINDER if step.reminded else "",
        *("\n".join([JUST_ARRIVED, *continued(neutralise(one.text).splitlines())]) for one in step.joined),
        hint,
    ]
    return "\n\n".join(part for part in parts if part)
