"""`--recall`: a tool of ours in the requests of agents, and its calls answered before they see them."""

import json
from contextlib import ExitStack, closing
from itertools import product
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import FakeProviderError, reply
from backscroll.integrations.proxy.recall_rounds import NO_MORE
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.responses import read_usage
from tests.integrations.clients.provider_server import serving
from tests.integrations.proxy.agents import AGENTS, mostly_anthropic, scripted
from tests.integrations.proxy.harness import proxied
from tests.long_run import usual_sets, usually
from tests.present import present

BUDGET = 4_000


def looking_up(*, parallel=False, each=4, rounds=1, asks={"query": "nothing of note"}):  # noqa: B006  read only
    """A model that reads files, and looks something up before each fourth answer, or together with it."""
    answered = looked = 0

    def answer(request):
        nonlocal answered, looked
        has_tool = "recall" in names(request)
        if has_tool and not parallel and answered % each == each - 1 and looked < rounds:
            looked += 1
            return reply("I look. ", thinking="What was it?", calls=[("recall", asks)])
        answered, looked = answered + 1, 0
        if answered % 5 == 0:
            return reply(f"Answer {answered}.", thinking="Enough.")
        calls = [("read", {"path": f"file{answered}"})]
        if has_tool and parallel and answered % each == 0:
            calls.insert(answered % 2, ("recall", {"ref": "0"}))
        return reply(thinking="Read on.", calls=calls)

    return answer


def results_of(body):
    """The texts of all results in a request, by the id of their call."""
    found = {}
    for item in body.get("messages") or body["input"]:
        if item.get("role") == "tool":
            found[item["tool_call_id"]] = item["content"]
        elif item.get("type") == "function_call_output":
            found[item["call_id"]] = item["output"]
        elif isinstance(item.get("content"), list):
            for block in item["content"]:
                if block.get("type") == "tool_result":
                    found[block["tool_use_id"]] = block["content"]
    return found


def lookups_in(body):
    """The ids of the calls of our tool in a request."""
    found = []
    for item in body.get("messages") or body["input"]:
        for each in [item, *(item.get("tool_calls") or ()), *_blocks(item)]:
            if (each.get("name") or each.get("function", {}).get("name")) == "recall":
                found.append(each.get("call_id") or each["id"])
    return found


def _blocks(item):
    return item["content"] if isinstance(item.get("content"), list) else ()


def names(body):
    """The names of a request's tools."""
    return [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]


@pytest.fixture
def begin(stack, proxy_of):
    """Begins an agent behind a proxy with recall before a fake."""

    def begun(kind, script, *, is_streamed=False, ends_after=0, **settings):
        fake = kind.fake(replies=script)
        server = stack.enter_context(serving(fake.create))
        settings = {"budget": BUDGET, "recall": True, **settings}
        with ExitStack() as first:
            proxy = (
                first.enter_context(proxied(server.url, **settings)) if ends_after else proxy_of(server.url, **settings)
            )
            agent = stack.enter_context(closing(kind(proxy.url, is_streamed=is_streamed)))
            agent.run(ends_after)
        return fake, server, proxy, agent

    return begun


all_apis = pytest.mark.parametrize("kind", AGENTS, ids=lambda kind: kind.format)
usual_apis = pytest.mark.parametrize(
    "kind", usually(sorted(AGENTS, key=lambda kind: kind.format == "responses"), 2), ids=lambda kind: kind.format
)
"""Agents of Responses take three times as long as others; the first tests of each kind have them always."""
both_ways = pytest.mark.parametrize("is_streamed", usually([True, False], 1))


@all_apis
@pytest.mark.parametrize("way", usually([(True, True), (False, False), (True, False), (False, True)], 1))
def test_calls_are_answered_before_the_client_sees_them(begin, kind, way):
    """No request is refused, reasoning stays valid, the cache holds, and the agent sees its own tools only."""
    is_streamed, parallel = way
    fake, server, proxy, agent = begin(kind, looking_up(parallel=parallel), is_streamed=is_streamed)
    agent.run(20)
    assert server.refusals == []
    assert getattr(fake, "transformations", []) == []
    assert '"recall"' not in json.dumps(agent.history)
    assert all(names(body) == ["read", "recall"] for body in server.bodies)
    proxy.outcomes(20)
    assert proxy.totals.lookups >= 4
    assert proxy.totals.requests == 20
    assert len(server.bodies) == 20 + (0 if parallel else proxy.totals.lookups)
    assert proxy.totals.cached_tokens / proxy.totals.input_tokens > 0.6
    answered = {call: text for body in server.bodies for call, text in results_of(body).items()}
    asked = {call for body in server.bodies for call in lookups_in(body)}
    assert len(asked) >= 4
    assert all("[ref:" in answered[call] or "Question 1." in answered[call] for call in asked)
    assert any("Nothing is lost: recall a reference" in json.dumps(body) for body in server.bodies)


@all_apis
@both_ways
def test_text_of_all_round_trips_reaches_the_client_once(begin, kind, is_streamed):
    _, server, _, agent = begin(kind, looking_up(rounds=2, asks={"ref": "0"}), is_streamed=is_streamed)
    agent.run(4)
    text = json.dumps(agent.history)
    assert text.count("I look. ") == 2
    assert json.dumps(server.bodies[-1]).count("I look. ") == 2
    agent.run(1)
    assert json.dumps(server.bodies[-1]).count("I look. ") == 2


@all_apis
@pytest.mark.parametrize(
    ("budget", "way"),
    usual_sets(
        [
            (BUDGET, (True, True)),
            (100_000, (True, False)),
            *product((BUDGET, 100_000), ((False, False), (False, True))),
            (BUDGET, (True, False)),
            (100_000, (True, True)),
        ],
        2,
    ),
)
def test_conversation_goes_on_after_a_restart(begin, kind, way, budget):
    """With the look-ups of the first process, which the client never saw: the cache holds, and so does reasoning."""
    is_streamed, parallel = way
    store, script = MemoryStore(), looking_up(parallel=parallel, each=3)
    more = {"ends_after": 14, "store": store, "budget": budget}
    fake, server, first, agent = begin(kind, script, is_streamed=is_streamed, **more)
    first.outcomes(14)
    asked, before = len(server.bodies), items_of(server.bodies[-1])
    with proxied(server.url, budget=budget, recall=True, store=store) as second:
        agent.close()
        agent.client = agent.connect(second.url)
        agent.run(14)
        second.outcomes(14)
        assert {report.what for report in second.reports} <= {"as it came", "compacted"}
        assert second.totals.lookups >= 2
    assert server.refusals == []
    assert getattr(fake, "transformations", []) == []
    assert all(names(body) == ["read", "recall"] for body in server.bodies)
    assert len(store.sessions()) == 1
    assert "rewind" not in [stored.record.kind for stored in store.read(store.sessions()[0])]
    if budget > BUDGET:
        assert items_of(server.bodies[asked])[: len(before)] == before
        assert len(lookups_in(server.bodies[-1])) == first.totals.lookups + second.totals.lookups


@usual_apis
def test_turn_goes_on_after_a_restart(begin, kind):
    """The provider failed behind a look-up: it is not made twice."""
    store, script = MemoryStore(), looking_up(asks={"ref": "0"})
    _, server, _, agent = begin(kind, script, ends_after=3, store=store, budget=100_000)
    kept = server.create

    def failing(**request):
        if not lookups_in(request):
            return kept(**request)
        server.create = kept
        raise FakeProviderError(529, "Overloaded", {"error": {"message": "Overloaded", "type": "overloaded_error"}})

    server.create = failing
    agent.history += agent.results([(call, "text") for call, _ in agent.calls])
    for process in range(2):
        with proxied(server.url, budget=100_000, recall=True, store=store) as later:
            agent.close()
            agent.client = agent.connect(later.url)
            if process == 0:
                with pytest.raises(Exception, match="verloaded"):
                    agent.ask()
                continue
            agent.calls = agent.answered(agent.ask())
            assert len(lookups_in(server.bodies[-1])) == 1
            agent.run(14)
            assert len(lookups_in(server.bodies[-1])) == 1 + later.totals.lookups
    assert server.refusals == ["Overloaded"]


@usual_apis
def test_look_up_with_a_call_of_the_client_is_lost(begin, kind):
    """It was answered, and nothing of that is stored before the client sends the results of its own calls."""
    store, script = MemoryStore(), looking_up(parallel=True, each=3)
    fake, server, first, agent = begin(kind, script, ends_after=12, store=store, budget=100_000)
    first.outcomes(12)
    assert agent.calls
    with proxied(server.url, budget=100_000, recall=True, store=store) as second:
        agent.close()
        agent.client = agent.connect(second.url)
        agent.run(14)
        second.outcomes(14)
        assert len(lookups_in(server.bodies[-1])) == first.totals.lookups - 1 + second.totals.lookups
    assert server.refusals == []
    assert getattr(fake, "transformations", []) == []


def items_of(body):
    """The messages of a request, without marks."""
    return [json.loads(json.dumps(item).replace(MARK, "")) for item in body.get("messages") or body["input"]]


MARK = ', "cache_control": {"type": "ephemeral"}'


@usual_apis
@both_ways
def test_restart_without_the_option_takes_the_tool_away(begin, kind, is_streamed):
    """The page says so; nothing is refused, and no text of a view speaks of a tool that is not there any more."""
    store, script = MemoryStore(), looking_up()
    _, server, _, agent = begin(kind, script, is_streamed=is_streamed, ends_after=6, store=store)
    with proxied(server.url, budget=BUDGET, store=store) as second:
        agent.close()
        agent.client = agent.connect(second.url)
        agent.run(20)
        assert "compacted" in second.outcomes(20)
    assert names(server.bodies[-1]) == ["read"]
    assert "Nothing is lost" not in json.dumps(server.bodies[-1])
    assert server.refusals == []


@usual_apis
@pytest.mark.parametrize("parallel", usually([True, False], 1))
def test_fake_refuses_a_call_without_its_answer(begin, kind, parallel):
    """So the tests above would show it."""
    _, server, _, agent = begin(kind, looking_up(parallel=parallel, each=2), budget=100_000)
    kept = server.create

    def without(**request):
        ours = set(lookups_in(request))
        key = "input" if "input" in request else "messages"
        return kept(**{**request, key: [left for item in request[key] if (left := _without(item, ours))]})

    server.create = without
    with pytest.raises(Exception, match=r"40\d"):
        agent.run(6)
    assert server.refusals


def _without(item, calls):
    """An item without the results of these calls; `None` if nothing is left."""
    if item.get("tool_call_id") in calls or (item.get("type") == "function_call_output" and item["call_id"] in calls):
        return None
    if not isinstance(item.get("content"), list):
        return item
    left = [block for block in item["content"] if block.get("tool_use_id") not in calls]
    return {**item, "content": left} if left else None


@both_ways
@usual_apis
def test_error_of_the_provider_in_the_middle_is_handed_on(begin, kind, is_streamed):
    """The client asks again, and the model goes on from its look-up: it is not made twice."""
    _, server, proxy, agent = begin(kind, looking_up(asks={"ref": "0"}), is_streamed=is_streamed)
    agent.run(3)
    agent.history += agent.results([(call, "text") for call, _ in agent.calls])
    kept = server.create

    def failing(**request):
        if lookups_in(request):
            server.create = kept
            raise FakeProviderError(529, "Overloaded", {"error": {"message": "Overloaded", "type": "overloaded_error"}})
        return kept(**request)

    server.create = failing
    with pytest.raises(Exception, match=r"verloaded|ResponseErrorEvent"):
        agent.ask()
    assert len(lookups_in(server.bodies[-1])) == 1
    said = agent.ask()
    agent.answered(said)
    assert len(lookups_in(server.bodies[-1])) == 1
    assert len(server.bodies) == 6
    assert server.refusals == ["Overloaded"]
    proxy.outcomes(5)
    assert [report.lookups for report in proxy.reports][-2:] == [1, 0]


@both_ways
@usual_apis
def test_model_that_only_looks_up_ends(begin, kind, is_streamed):
    """Six look-ups are answered, two are told to go on, and what is called then is left out."""
    script = lambda _: reply("Hm. ", calls=[("recall", {"ref": "0"})])  # noqa: E731
    _, server, proxy, agent = begin(kind, script, is_streamed=is_streamed)
    agent.run(1)
    assert len(server.bodies) == 9
    texts = list(results_of(server.bodies[-1]).values())
    assert [text == NO_MORE for text in texts] == [False] * 6 + [True] * 2
    assert proxy.outcomes(1) == ["as it came"]
    assert proxy.reports[0].lookups == 8
    assert json.dumps(agent.history).count("Hm. ") == 9
    agent.run(1)
    assert server.refusals == []


@mostly_anthropic
def test_client_with_a_tool_of_this_name_keeps_its_own(begin, kind):
    """Two of one name would be refused. Its calls reach it, and nothing is said of ours."""
    _, server, proxy, agent = begin(kind, scripted())
    own = json.loads(json.dumps(kind.tools[0]).replace('"read"', '"recall"'))
    agent.tools = [*kind.tools, own]
    agent.run(20)
    assert names(server.bodies[-1]) == ["read", "recall"]
    assert "Nothing is lost" not in json.dumps(server.bodies[-1])
    assert "compacted" in proxy.outcomes(20)


@mostly_anthropic
def test_conversation_that_began_without_stays_without(begin, kind):
    """The tool would come in front of all that the provider's cache holds."""
    store = MemoryStore()
    _, server, _, agent = begin(kind, scripted(), ends_after=2, recall=False, store=store)
    with proxied(server.url, budget=BUDGET, recall=True, store=store) as second:
        agent.close()
        agent.client = agent.connect(second.url)
        agent.run(20)
    assert all(names(body) == ["read"] for body in server.bodies)
    assert "recall" not in json.dumps(server.bodies[-1])


@mostly_anthropic
def test_shadow_adds_nothing(begin, kind):
    _, server, _, agent = begin(kind, None, shadow=True)
    agent.run(3)
    assert names(server.bodies[-1]) == ["read"]


@usual_apis
@both_ways
def test_usage_is_that_of_the_last_prompt_and_of_all_answers(begin, kind, is_streamed):
    """A client reads from it how long its conversation is; the report has what was paid for."""
    _, server, proxy, agent = begin(kind, looking_up(each=1, rounds=2, asks={"ref": "0"}), is_streamed=is_streamed)
    agent.history.append(agent.said("Go."))
    usage = present(read_usage(agent.ask()))
    counted: list[Any] = [read_usage(each) for each in server.responses]
    assert len(counted) == 3
    assert usage.prompt == counted[-1].prompt
    assert usage.answer == sum(each.answer for each in counted)
    proxy.outcomes(1)
    assert proxy.totals.input_tokens == sum(each.prompt for each in counted)
    assert proxy.client.get("/backscroll/status").json()["lookups"] == 2


@usual_apis
def test_request_without_tools_is_no_agent(begin, kind):
    _, server, _, agent = begin(kind, None)
    agent.history.append(agent.said("Name this conversation."))
    request = {key: value for key, value in agent.request().items() if key != "tools"}
    agent.request = lambda: request
    agent.ask()
    assert "tools" not in server.bodies[-1]
