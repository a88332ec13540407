"""The core: one turn from a question to an answer; and, as a library, an agent for your own program and tools.

Pure by default. I/O happens only through `agent.loop` (the driver), `agent.tools` and `agent.providers`.

`__all__` is the stable interface for other programs; each name is loaded when it is first used, so that importing the
package takes no time. Everything else is internal to the bot.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.errors import CogencyError as CogencyError
    from agent.errors import ProviderError as ProviderError
    from agent.errors import ProviderRefused as ProviderRefused
    from agent.errors import ProviderUnavailable as ProviderUnavailable
    from agent.errors import SettingsError as SettingsError
    from agent.errors import StoreError as StoreError
    from agent.errors import StreamBroken as StreamBroken
    from agent.errors import ToolDefinitionError as ToolDefinitionError
    from agent.errors import ToolError as ToolError
    from agent.events import AgentEvent as AgentEvent
    from agent.events import Outcome as Outcome
    from agent.events import TextArrived as TextArrived
    from agent.events import TurnEnded as TurnEnded
    from agent.hooks.values import Answer as Answer
    from agent.hooks.values import Call as Call
    from agent.hooks.values import FileText as FileText
    from agent.hooks.values import Hide as Hide
    from agent.hooks.values import ModelRequest as ModelRequest
    from agent.hooks.values import Question as Question
    from agent.hooks.values import Refuse as Refuse
    from agent.library import Agent as Agent
    from agent.library import AgentRun as AgentRun
    from agent.ports.agent_store import AgentStore as AgentStore
    from agent.ports.model import Provider as Provider
    from agent.ports.tools import ToolContext as ToolContext
    from agent.ports.tools import ToolEffect as ToolEffect
    from agent.ports.tools import ToolOutput as ToolOutput
    from agent.tools.functions import tool as tool

_MODULES = {
    "Agent": ".library",
    "AgentEvent": ".events",
    "AgentRun": ".library",
    "AgentStore": ".ports.agent_store",
    "Answer": ".hooks.values",
    "Call": ".hooks.values",
    "CogencyError": ".errors",
    "FileText": ".hooks.values",
    "Hide": ".hooks.values",
    "ModelRequest": ".hooks.values",
    "Outcome": ".events",
    "Provider": ".ports.model",
    "ProviderError": ".errors",
    "ProviderRefused": ".errors",
    "ProviderUnavailable": ".errors",
    "Question": ".hooks.values",
    "Refuse": ".hooks.values",
    "SettingsError": ".errors",
    "StoreError": ".errors",
    "StreamBroken": ".errors",
    "TextArrived": ".events",
    "ToolContext": ".ports.tools",
    "ToolDefinitionError": ".errors",
    "ToolEffect": ".ports.tools",
    "ToolError": ".errors",
    "ToolOutput": ".ports.tools",
    "TurnEnded": ".events",
    "tool": ".tools.functions",
}

__all__ = (
    "Agent",
    "AgentEvent",
    "AgentRun",
    "AgentStore",
    "Answer",
    "Call",
    "CogencyError",
    "FileText",
    "Hide",
    "ModelRequest",
    "Outcome",
    "Provider",
    "ProviderError",
    "ProviderRefused",
    "ProviderUnavailable",
    "Question",
    "Refuse",
    "SettingsError",
    "StoreError",
    "StreamBroken",
    "TextArrived",
    "ToolContext",
    "ToolDefinitionError",
    "ToolEffect",
    "ToolError",
    "ToolOutput",
    "TurnEnded",
    "tool",
)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'agent' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
