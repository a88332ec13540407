"""Cogency as a library: `from cogency_bot import Agent`. Each name is loaded when it is first used.

This package only hands on what `agent` and `store` offer to programs, under a name that cannot be that of a module of
yours; `cogency_bot.own_packages` says how it works beside an `agent.py` or `store.py` in your folder.
"""

from typing import TYPE_CHECKING

from cogency_bot.own_packages import load

if TYPE_CHECKING:
    from agent import Agent as Agent
    from agent import AgentEvent as AgentEvent
    from agent import AgentRun as AgentRun
    from agent import AgentStore as AgentStore
    from agent import Answer as Answer
    from agent import Call as Call
    from agent import CogencyError as CogencyError
    from agent import FileText as FileText
    from agent import Hide as Hide
    from agent import ModelRequest as ModelRequest
    from agent import Outcome as Outcome
    from agent import Provider as Provider
    from agent import ProviderError as ProviderError
    from agent import ProviderRefused as ProviderRefused
    from agent import ProviderUnavailable as ProviderUnavailable
    from agent import Question as Question
    from agent import Refuse as Refuse
    from agent import SettingsError as SettingsError
    from agent import StoreError as StoreError
    from agent import StreamBroken as StreamBroken
    from agent import TextArrived as TextArrived
    from agent import ToolContext as ToolContext
    from agent import ToolDefinitionError as ToolDefinitionError
    from agent import ToolEffect as ToolEffect
    from agent import ToolError as ToolError
    from agent import ToolOutput as ToolOutput
    from agent import TurnEnded as TurnEnded
    from agent import tool as tool
    from store import open_store as open_store

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
    "open_store",
    "tool",
)


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'cogency_bot' has no attribute {name!r}")
    return getattr(load("store" if name == "open_store" else "agent"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
