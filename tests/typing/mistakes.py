"""Mistakes of users: type checkers reject every line that is marked, and no other. Nothing runs here."""

from backscroll import AsyncContextManager, BudgetOptions, ContextManager, Summarizer, SummaryRequest


def counted(request: SummaryRequest) -> str:
    return request.prompt + request.max_tokens  # rejected


def mistakes(context: ContextManager) -> None:
    ContextManager("sqlite:///agent.db")  # rejected
    ContextManager(budgt=4_000)  # rejected
    ContextManager(budget=BudgetOptions(max_tokens="32k"))  # rejected
    ContextManager(on_event="print")  # rejected
    ContextManager(summarizer=Summarizer(3))  # rejected
    context.append({"role": "user", "content": "Hello"}, idempotency_key=7)  # rejected
    context.get_messages_for_request("4k")  # rejected
    context.trim()  # rejected
    context.recall(lines=3)  # rejected
    context.rewind("start")  # rejected
    print(context.usage().used.token)  # rejected
    context.compact().tokens_before.upper()  # rejected


async def forgotten(context: AsyncContextManager) -> int:
    with context:  # rejected
        pass
    view = context.get_messages_for_request()
    return len(view)  # rejected
