"""One call of a tool: its result, whatever happens.

Above: `agent.loop`. Below: `agent.tools.registry`, the Tool port.

One of the three broad excepts of this program is here: a tool call. Whatever a tool raises becomes a failed result.
"""

import asyncio
import logging

from agent.effects import CallAnswered, CallPlaced
from agent.errors import ToolError
from agent.messages import ResultStatus, ToolResult
from agent.ports import ToolContext, ToolOutput
from agent.tools.registry import Registry

log = logging.getLogger(__name__)

TOOL_BROKE = "the tool failed unexpectedly; the operator finds the reason in the log"


async def run_call(placed: CallPlaced, tools: Registry, context: ToolContext) -> CallAnswered:
    """Run a call that was checked, within its tool's time. Raises CancelledError only if the caller is cancelled."""
    tool = tools.get(placed.call.name)
    try:
        async with asyncio.timeout(tool.timeout_s):
            output = await tool.run(placed.call.args, context)
        if isinstance(output, str):
            output = ToolOutput(output)
        result = ToolResult(tool.name, ResultStatus.SUCCESS, output.text, output.sources)
    except TimeoutError:
        result = ToolResult(tool.name, ResultStatus.FAILURE, f"no result after {tool.timeout_s:g} s; it was stopped")
    except ToolError as error:
        result = ToolResult(tool.name, ResultStatus.FAILURE, str(error))
    except asyncio.CancelledError:
        if _is_cancelled():
            raise
        log.warning("tool %s cancelled itself in call %s", tool.name, placed.id)
        result = ToolResult(tool.name, ResultStatus.FAILURE, TOOL_BROKE)
    except Exception:
        log.exception("tool %s failed in call %s", tool.name, placed.id)
        result = ToolResult(tool.name, ResultStatus.FAILURE, TOOL_BROKE)
    return CallAnswered(placed.id, tools.bounded(result))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
