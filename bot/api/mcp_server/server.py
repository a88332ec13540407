"""The protocol's side of the MCP server: tools, resources, and the question of `forget`.

Rules
  Both generations of the protocol are served: sessions with a handshake, and single requests without one.
  A client whose user can be asked (elicitation) erases nothing without asking them. Only other clients get a
  confirmation that their model passes on.
  A failure is a sentence in the call's result, on which the client's model can act. An unexpected error is logged, and
  the client does not learn its cause.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, assert_never
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agent.errors import CogencyError, ToolError
from agent.messages import JsonObject
from agent.stored_messages import Thread
from bot.api.mcp_server import texts
from bot.api.mcp_server.arguments import ToolName, read_arguments, schema_of
from bot.api.mcp_server.service import Answer, PersonalTools
from bot.chat.texts.formatting import counted

log = logging.getLogger(__name__)

Context: TypeAlias = ServerRequestContext[Any, Any]
CallResult: TypeAlias = types.CallToolResult | types.InputRequiredResult

NAME: Final = "cogency"
MAX_RUNNING: Final = 8  # Requests of one person at a time: a model makes a few calls at once
MAX_URI_CHARS: Final = 2_000
ELICIT_S: Final = 300.0  # How long a person may think about what to erase
CONFIRM: Final = "confirm"
MARKDOWN: Final = "text/markdown"
MEMORY_URI: Final = "cogency://memory"
THREADS_URI: Final = "cogency://threads/"


class Clients(Protocol):
    """Who the clients are, by their requests."""

    def person_of(self, context: Context, /) -> str:
        """Return the id of the person for whom a request is made."""
        ...

    def tools_of(self, context: Context, /) -> frozenset[ToolName]:
        """Return the tools that a request may use; `recall` also stands for resources."""
        ...

    def open(self, context: Context, /) -> AbstractAsyncContextManager[PersonalTools]:
        """Open what a request uses, for as long as it needs it. Raises CogencyError."""
        ...


def mcp_server(clients: Clients, version: str) -> Server[Any]:
    """Return the server, for any transport. `version`: of this program."""
    handlers = _Handlers(clients)
    return Server(
        NAME,
        version=version,
        title=texts.SERVER_TITLE,
        instructions=texts.INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


@dataclass(frozen=True, slots=True)
class _Handlers:
    clients: Clients
    running: Counter[str] = field(default_factory=Counter[str])
    """The requests that run, by person."""

    async def list_tools(self, context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        allowed = self.clients.tools_of(context)
        return types.ListToolsResult(tools=[_declared(name) for name in ToolName if name in allowed])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> CallResult:
        try:
            with self._counted(context):
                return await self._call(context, params)
        except CogencyError as error:
            return _result(str(error), is_error=True)
        except MCPError:
            raise
        except Exception:  # a bug fails one call, and the client can go on
            log.exception("a tool call of an MCP client failed")
            return _result(texts.BROKEN, is_error=True)

    async def list_resources(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        if ToolName.RECALL not in self.clients.tools_of(context):
            return types.ListResourcesResult(resources=[])
        with self._answered(context):
            async with self.clients.open(context) as tools:
                threads = await tools.threads()
        memory = types.Resource(uri=MEMORY_URI, name=texts.MEMORY_NAME, title=texts.MEMORY_TITLE, mime_type=MARKDOWN)
        listed = [
            types.Resource(
                uri=f"{THREADS_URI}{quote(thread.conversation, safe='')}",
                name=thread.title or texts.THREAD_NAME,
                title=thread.title or texts.THREAD_TITLE,
                description=_about(thread),
                mime_type=MARKDOWN,
            )
            for thread in threads
        ]
        return types.ListResourcesResult(resources=[memory, *listed])

    async def list_templates(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        if ToolName.RECALL not in self.clients.tools_of(context):
            return types.ListResourceTemplatesResult(resource_templates=[])
        template = types.ResourceTemplate(
            uri_template=f"{THREADS_URI}{{id}}",
            name=texts.THREAD_NAME,
            title=texts.THREAD_TITLE,
            description=texts.THREAD_SAYS,
            mime_type=MARKDOWN,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        is_thread = uri.startswith(THREADS_URI) and len(uri) <= MAX_URI_CHARS
        if ToolName.RECALL not in self.clients.tools_of(context) or not (is_thread or uri == MEMORY_URI):
            known = f"{MEMORY_URI}, {THREADS_URI}{{id}}"
            raise MCPError(types.INVALID_PARAMS, texts.RESOURCE_UNKNOWN.format(known=known))
        with self._answered(context):
            async with self.clients.open(context) as tools:
                text = await (
                    tools.read_thread(unquote(uri.removeprefix(THREADS_URI))) if is_thread else tools.memory()
                )
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=MARKDOWN, text=text)]
        )

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> CallResult:
        if params.name not in self.clients.tools_of(context):
            raise ToolError(texts.UNKNOWN_TOOL.format(name=params.name[:100]))
        name = ToolName(params.name)
        args = read_arguments(name, params.arguments or {})
        match name:
            case ToolName.RECALL:
                async with self.clients.open(context) as tools:
                    return _result(await tools.recall(args))
            case ToolName.REMEMBER:
                async with self.clients.open(context) as tools:
                    return _result(await tools.remember(str(args["text"])))
            case ToolName.ASK:
                return await self._ask(context, args)
            case ToolName.FORGET:
                return await self._forget(context, params, args)
            case _:
                assert_never(name)

    async def _ask(self, context: Context, args: JsonObject) -> types.CallToolResult:
        steps = 0

        async def show(text: str) -> None:
            nonlocal steps
            steps += 1
            await context.session.report_progress(steps, message=text)

        async with self.clients.open(context) as tools:
            asking = asyncio.ensure_future(tools.ask(str(args["question"]), str(args.get("thread", "")), show))
            try:
                return _answered(await asyncio.shield(asking))
            finally:
                if not asking.done():
                    # The SDK cancels each await of a cancelled request, but the turn has to record that it was stopped.
                    with anyio.CancelScope(shield=True):
                        asking.cancel()
                        await asyncio.wait({asking})

    async def _forget(self, context: Context, params: types.CallToolRequestParams, args: JsonObject) -> CallResult:
        asks, is_modern = _can_elicit(context), context.protocol_version in MODERN_PROTOCOL_VERSIONS
        answer = (params.input_responses or {}).get(CONFIRM)
        if asks and isinstance(answer, types.ElicitResult) and params.request_state is not None:
            return await self._erase_if(context, answer, params.request_state)
        if ("what" in args) == ("confirmation" in args):
            raise ToolError(texts.NOT_TOGETHER)
        async with self.clients.open(context) as tools:
            if "confirmation" in args:
                preview = await tools.forget(str(args["confirmation"]), asked=False)
            else:
                what, thread = str(args["what"]), str(args.get("thread", ""))
                related = bool(args.get("include_related"))
                preview = await tools.preview_forget(what, thread, related=related, asks=asks)
        if not preview.confirmation:
            return _result(preview.question, is_error=preview.refused)
        if not asks:
            minutes = int(texts.CONFIRM_TIME.total_seconds() / 60)
            confirm = texts.FORGET_CONFIRM.format(minutes=minutes, confirmation=preview.confirmation)
            return _result(preview.question, confirm)
        if is_modern:
            question = types.ElicitRequest(
                params=types.ElicitRequestFormParams(message=preview.question, requested_schema=_CONFIRM_SCHEMA)
            )
            return types.InputRequiredResult(input_requests={CONFIRM: question}, request_state=preview.confirmation)
        try:
            async with asyncio.timeout(ELICIT_S):
                answer = await context.session.elicit_form(preview.question, _CONFIRM_SCHEMA, context.request_id)
        except TimeoutError:
            return _result(texts.FORGET_NOTHING)
        return await self._erase_if(context, answer, preview.confirmation)

    async def _erase_if(self, context: Context, answer: types.ElicitResult, confirmation: str) -> types.CallToolResult:
        """Erase what the person was shown, if they agreed."""
        if answer.action != "accept" or (answer.content or {}).get(CONFIRM) is not True:
            return _result(texts.FORGET_NOTHING)
        async with self.clients.open(context) as tools:
            done = await tools.forget(confirmation, asked=True)
        return _result(done.question, is_error=done.refused)

    @contextmanager
    def _counted(self, context: Context) -> Generator[None]:
        """Raises ToolError if too many requests of the person run."""
        person = self.clients.person_of(context)
        if self.running[person] >= MAX_RUNNING:
            raise ToolError(texts.BUSY)
        self.running[person] += 1
        try:
            yield
        finally:
            self.running[person] -= 1
            if not self.running[person]:
                del self.running[person]

    @contextmanager
    def _answered(self, context: Context) -> Generator[None]:
        """Count the request, and turn our errors into those of the protocol."""
        try:
            with self._counted(context):
                yield
        except CogencyError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        except MCPError:
            raise
        except Exception as error:  # as above
            log.exception("a request of an MCP client failed")
            raise MCPError(types.INTERNAL_ERROR, texts.BROKEN) from error


def _can_elicit(context: Context) -> bool:
    """Whether the client's user can be asked with a form. Clients of 2025-06-18 name no modes, and have forms only."""
    known = context.session.client_capabilities
    elicitation = None if known is None else known.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _about(thread: Thread) -> str:
    messages = counted(thread.messages, "message", "messages")
    return texts.MESSAGES.format(messages=messages, date=f"{thread.last:%Y-%m-%d}")


def _answered(answer: Answer) -> types.CallToolResult:
    result = _result(answer.text, texts.ANSWER_THREAD.format(thread=answer.thread), is_error=not answer.complete)
    result.structured_content = {"answer": answer.text, "thread": answer.thread, "waits_for_approval": answer.waits}
    return result


def _result(*parts: str, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=part) for part in parts], is_error=is_error
    )


def _declared(name: ToolName) -> types.Tool:
    title, says, annotations = _DECLARED[name]
    return types.Tool(
        name=name.value, title=title, description=says, input_schema={**schema_of(name)}, annotations=annotations
    )


_DECLARED: Final = {
    ToolName.RECALL: (
        texts.RECALL_TITLE,
        texts.RECALL,
        types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    ),
    ToolName.REMEMBER: (
        texts.REMEMBER_TITLE,
        texts.REMEMBER,
        types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False),
    ),
    ToolName.ASK: (
        texts.ASK_TITLE,
        texts.ASK,
        types.ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=True),
    ),
    ToolName.FORGET: (
        texts.FORGET_TITLE,
        texts.FORGET,
        types.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False),
    ),
}
_CONFIRM_SCHEMA: Final[types.ElicitRequestedSchema] = {
    "type": "object",
    "properties": {CONFIRM: {"type": "boolean", "title": texts.FORGET_BOX, "default": False}},
    "required": [CONFIRM],
}
