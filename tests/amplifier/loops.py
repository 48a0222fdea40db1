"""Two orchestrators: `Loop` follows today's contract, `OldLoop` that of 1.x. Both are modules that the kernel loads."""

import asyncio
from typing import Any

from amplifier_core import ChatRequest, ChatResponse, HookResult, Message, ToolCall, ToolResult, ToolSpec, events
from amplifier_core.llm_errors import ContextLengthError

__amplifier_module_type__ = "orchestrator"

RETRIES = 5  # of a request that does not fit


class Loop:
    """Asks the context for a view before each request, runs tools side by side, and lets hooks inject where they do."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.retries = config.get("retries", RETRIES)

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any, coordinator: Any = None, **_: Any
    ) -> str:
        self.context, self.tools, self.hooks, self.coordinator = context, tools, hooks, coordinator
        self.name, self.provider = next(iter(providers.items()))
        await self._emit(events.PROMPT_SUBMIT, {"prompt": prompt})
        await self._emit(events.EXECUTION_START, {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        turns, text, status = 0, "", "incomplete"
        try:
            while True:
                turns += 1
                response = await self._ask(turns)
                calls = self.provider.parse_tool_calls(response)
                text = "".join(block.text for block in response.content if block.type == "text")
                await context.add_message(written(response, calls))
                if not calls:
                    status = "success"
                    return text
                await self._use(calls)
        finally:
            data = {"orchestrator": "loop-scripted", "turn_count": turns, "status": status}
            await self._emit(events.ORCHESTRATOR_COMPLETE, data)
            await self._emit(events.EXECUTION_END, {"response": text, "status": status})

    async def _emit(self, event: str, data: dict[str, Any]) -> HookResult:
        """Tells hooks; what they inject for good is in the context afterwards, the rest is in the result."""
        result = await self.hooks.emit(event, data)
        return await self.coordinator.process_hook_result(result, event, "hook") if self.coordinator else result

    # Requests

    async def _ask(self, turn: int) -> ChatResponse:
        for attempt in range(self.retries + 1):
            result = await self._emit(events.PROVIDER_REQUEST, {"provider": self.name, "iteration": turn})
            view = [dict(message) for message in await self._view()]
            behind = _append(view, result)
            request = ChatRequest(
                messages=[Message(**message) for message in view],
                tools=[
                    ToolSpec(name=t.name, description=t.description, parameters=t.input_schema)
                    for t in self.tools.values()
                ],
                metadata={"appended": behind},
            )
            try:
                response = await self.provider.complete(request)
            except ContextLengthError as error:
                told = {"type": type(error).__name__, "msg": str(error)}
                await self._emit(events.PROVIDER_ERROR, {"provider": self.name, "error": told})
                if attempt == self.retries:
                    raise
                await self._emit(events.PROVIDER_RETRY, {"provider": self.name, "attempt": attempt + 1, "error": told})
            else:
                # the usage goes as an object here, as loops do; hooks see what the kernel makes of it, which is a text
                await self._emit(events.PROVIDER_RESPONSE, {"provider": self.name, "usage": response.usage})
                return response
        raise AssertionError("every attempt ends the loop")

    async def _view(self) -> list[dict[str, Any]]:
        return await self.context.get_messages_for_request(provider=self.provider)

    # Tools

    async def _use(self, calls: list[ToolCall]) -> None:
        """All calls at once; their results are written when the last has come, in the order of the calls."""
        results = await asyncio.gather(*(self._run(call) for call in calls))
        for call, result in zip(calls, results, strict=True):
            content: Any = result.get_serialized_output()
            if result.content:
                content = [block.model_dump(exclude_none=True) for block in result.content]
            answer = {"role": "tool", "name": call.name, "tool_call_id": call.id, "content": content}
            await self.context.add_message(answer)

    async def _run(self, call: ToolCall) -> ToolResult:
        data = {"tool_name": call.name, "tool_call_id": call.id, "tool_input": call.arguments}
        before = await self._emit(events.TOOL_PRE, data)
        if before.action == "deny":
            return ToolResult(success=False, error={"message": f"Denied by hook: {before.reason}"})
        tool = self.tools.get(call.name)
        if tool is None:
            missing = {"message": f"Tool '{call.name}' not found"}
            await self._emit(events.TOOL_ERROR, {**data, "error": missing})
            return ToolResult(success=False, error=missing)
        result: ToolResult = await tool.execute(call.arguments)
        await self._emit(events.TOOL_POST, {**data, "result": result.safe_hook_presentation()})
        return result


class OldLoop(Loop):
    """The contract of 1.x: the loop asks whether to compact, has it done, and sends what `get_messages` returns."""

    async def _view(self) -> list[dict[str, Any]]:
        if await self.context.should_compact():
            await self.context.compact()
        return await self.context.get_messages()


def written(response: ChatResponse, calls: list[ToolCall]) -> dict[str, Any]:
    """An assistant message as loops write it: the blocks of the answer, and its calls a second time beside them."""
    message: dict[str, Any] = {"role": "assistant", "content": [block.model_dump() for block in response.content]}
    if calls:
        message["tool_calls"] = [{"id": call.id, "tool": call.name, "arguments": call.arguments} for call in calls]
    if response.metadata:
        message["metadata"] = response.metadata
    return message


def _append(view: list[dict[str, Any]], result: HookResult) -> int:
    """Puts what hooks inject for this request only behind the view; says how many messages that made."""
    before = len(view)
    for injection in result.context_injections if result.action == "inject_context" else ():
        last = view[-1] if view else {}
        if injection.append_to_last_tool_result and last.get("role") == "tool" and isinstance(last["content"], str):
            view[-1] = {**last, "content": f"{last['content']}\n\n{injection.content}"}
        else:
            view.append({"role": injection.role, "content": injection.content})
    return len(view) - before


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Entry point of the module `loop-scripted`; `config["contract"]` of 1 gives the old loop."""
    config = config or {}
    await coordinator.mount("orchestrator", (OldLoop if config.get("contract") == 1 else Loop)(config))
