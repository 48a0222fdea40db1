"""The server: what a client asks, answered from an archive in threads."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from backscroll import __version__
from backscroll.errors import BackscrollError, ConfigurationError
from backscroll.integrations.mcp import answers, resources
from backscroll.integrations.mcp.archive import Archive
from backscroll.integrations.mcp.continuing import DESCRIPTION, continued
from backscroll.integrations.mcp.tools import DEFINITIONS, Tools, described
from backscroll.notices import warn
from backscroll.tokens.engines import resolve

Result = TypeVar("Result")
_ANNOTATIONS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class SessionServer:
    """The handlers of a server.

    Args:
        archive: the sessions that it may show.
        page_tokens: tokens of an answer at most; at least 1,000.

    Raises:
        ConfigurationError: `page_tokens` is too small.
    """

    def __init__(self, archive: Archive, page_tokens: int = 4_000) -> None:
        if type(page_tokens) is not int or page_tokens < answers.LEAST:
            raise ConfigurationError(f"`page_tokens` must be at least {answers.LEAST:,}, not {page_tokens!r:.40}")
        self._archive, self._most = archive, page_tokens
        self._count = resolve("auto").count
        self._tools = Tools(archive, self._count, page_tokens)

    @asynccontextmanager
    async def running(self, _: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """Import and index in the background while the server runs."""
        await asyncio.to_thread(self._archive.start)
        warming = asyncio.create_task(asyncio.to_thread(self._count, "the first count loads a vocabulary"))
        try:
            yield {}
        finally:
            await warming
            await asyncio.to_thread(self._archive.close)

    async def list_tools(self, _: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        """Return the three tools."""
        return ListToolsResult(
            tools=[
                Tool(name=name, description=text, input_schema=schema, annotations=_ANNOTATIONS)
                for name, (text, schema) in DEFINITIONS.items()
            ]
        )

    async def call_tool(self, _: object, params: CallToolRequestParams) -> CallToolResult:
        """Answer a call; what goes wrong is an answer too, so that the model can do better."""
        try:
            if params.name not in DEFINITIONS:
                raise ConfigurationError(f"there is no tool {params.name!r:.80}; there are: {', '.join(DEFINITIONS)}")
            text, failed = await _in_thread(self._tools.answer, params.name, params.arguments), False
        except BackscrollError as error:
            text, failed = answers.cut(str(error), self._most, self._count), True
        return CallToolResult(content=[TextContent(type="text", text=_encodable(text))], is_error=failed)

    async def list_resources(self, _: object, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Return a page of the sessions, the newest first."""
        cursor = (params and params.cursor) or "0"
        if not cursor.isdecimal() or len(cursor) > 12:
            raise MCPError(INVALID_PARAMS, "the cursor is not one of this server")
        try:
            await _in_thread(self._archive.refresh)
            found = await _in_thread(self._archive.sessions)
        except BackscrollError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        end = int(cursor) + resources.PAGE
        shown = [
            Resource(
                uri=resources.uri_of(each.name),
                name=each.name,
                description=_encodable(described(each)),
                mime_type="text/plain",
            )
            for each in found[int(cursor) : end]
        ]
        return ListResourcesResult(resources=shown, next_cursor=str(end) if end < len(found) else None)

    async def list_templates(self, _: object, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """Return the form of a session's address."""
        template = ResourceTemplate(
            uri_template=f"{resources.PREFIX}{{name}}", name="session", description="A stored session as text"
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: object, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the first page of a session, which names the call that reads on."""
        uri = str(params.uri)
        try:
            text = await _in_thread(self._tools.answer, "read", {"session": resources.session_of(uri)})
        except BackscrollError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        contents = TextResourceContents(uri=uri, text=_encodable(text), mime_type="text/plain")
        return ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: object, __: PaginatedRequestParams | None) -> ListPromptsResult:
        """Return the prompt `continue`."""
        session = PromptArgument(name="session", description="Its name; default: the newest", required=False)
        return ListPromptsResult(prompts=[Prompt(name="continue", description=DESCRIPTION, arguments=[session])])

    async def get_prompt(self, _: object, params: GetPromptRequestParams) -> GetPromptResult:
        """Return where a session was."""
        if params.name != "continue":
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name!r:.80}; there is: continue")
        name = (params.arguments or {}).get("session", "")
        try:
            text = await _in_thread(continued, self._archive, name, self._most, self._count)
        except BackscrollError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        message = PromptMessage(role="user", content=TextContent(type="text", text=_encodable(text)))
        return GetPromptResult(description=DESCRIPTION, messages=[message])


def make_server(archive: Archive, page_tokens: int = 4_000) -> Server[Any]:
    """Return a server of the SDK that answers from an archive, for `run` or for the SDK's own client.

    Args:
        archive: the sessions that it may show.
        page_tokens: tokens of an answer at most; at least 1,000.

    Raises:
        ConfigurationError: `page_tokens` is too small.
    """
    handlers = SessionServer(archive, page_tokens)
    return Server(
        "backscroll",
        version=__version__,
        instructions="Earlier sessions of agents: search them before you ask again or redo work.",
        lifespan=handlers.running,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


async def _in_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """Return what a call returns in a thread. Raises only errors of Backscroll, so that any failure is an answer."""
    try:
        return await asyncio.to_thread(call, *arguments)
    except BackscrollError:
        raise
    except Exception as error:
        warn("".join(traceback.format_exception(error)))
        raise BackscrollError(f"the server failed: {type(error).__name__}: {error}; please report this") from error


def _encodable(text: str) -> str:
    """Return a text with lone surrogates escaped, which JSON in UTF-8 cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode()
