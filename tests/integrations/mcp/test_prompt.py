"""The prompt `continue` and the resources, asked by the SDK's own client."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.integrations.mcp.asking import COUNT, NAMES, asking, quotations, stored, user
from tests.profiles import examples


@pytest.fixture
def store():
    made = MemoryStore()
    stored(made, "first", user("The parser drops the last line."), {"role": "assistant", "content": "Off by one."})
    stored(made, "second", user("Deploy the parser on Friday."))
    return made


def test_resources_are_the_sessions_with_encoded_names():
    store = MemoryStore()
    for name in ("a b/ü?#%", "../x", "plain"):
        stored(store, name, user(f"words of {name}"))
    with asking(store) as client:
        found = client.do("list_resources").resources
        assert [each.name for each in found] == ["plain", "../x", "a b/ü?#%"]
        assert found[2].uri == "backscroll://sessions/a%20b%2F%C3%BC%3F%23%25"
        for each in found:
            assert f"words of {each.name}" in client.do("read_resource", each.uri).contents[0].text
        assert client.do("list_resource_templates").resource_templates[0].uri_template.endswith("/{name}")


def test_resources_come_in_pages():
    store = MemoryStore()
    for number in range(150):
        stored(store, f"s{number}", user("x"))
    with asking(store) as client:
        first = client.do("list_resources")
        assert len(first.resources) == 100
        assert first.next_cursor == "100"


def test_the_prompt_shows_where_a_session_ended(store):
    stored(store, "long", *(user(f"turn {number} " + "word " * 300) for number in range(40)), user("The end."))
    with asking(store) as client:
        assert [each.name for each in client.do("list_prompts").prompts] == ["continue"]
        text = client.do("get_prompt", "continue", {}).messages[0].content.text
        other = client.do("get_prompt", "continue", {"session": "first"}).messages[0].content.text
    assert "The end." in text
    assert "turn 39" in text
    assert "turn 1 " not in text
    assert COUNT(text) <= 4_000
    assert "Off by one." in other


class CountedStore(SqliteStore):
    """Counts the records that are read."""

    records = 0

    def read(self, session, start=0, stop=None):
        for record in super().read(session, start, stop):
            self.records += 1
            yield record


def test_the_prompt_reads_only_the_end_of_a_session(tmp_path):
    stored(SqliteStore(tmp_path / "a.db"), "long", *(user(f"turn {number}") for number in range(6_000)))
    store = CountedStore(tmp_path / "a.db")
    with asking(store) as client:
        client.text("sessions")
        store.records = 0
        text = client.do("get_prompt", "continue", {}).messages[0].content.text
    assert text.count("turn") > 400
    assert "turn 5999" in text
    assert 0 < store.records < 3_000


def test_the_prompt_begins_with_the_newest_digest():
    store = MemoryStore()
    with ContextManager(store=store, session="work", budget=3_000, tokenizer="estimate") as context:
        for number in range(60):
            context.append(user(f"turn {number}: look at src/file{number}.py " + "word " * 60))
            context.append({"role": "assistant", "content": f"done {number}"})
            context.get_messages_for_request()
    with asking(store) as client:
        text = client.do("get_prompt", "continue", {}).messages[0].content.text
    assert "<summary>" in text
    assert "done 59" in text


ODD = st.text(st.sampled_from("a ~\\\"'\n\u200b\u202e\U000e0001\U0001f9e0龘ꙮ"), max_size=400)


@settings(max_examples=examples(40))
@given(
    name=NAMES | ODD.filter(str.isprintable).map(lambda text: f"x{text[:60]}"),
    project=ODD,
    said=ODD,
    repeated=st.integers(1, 30),
)
@example(name="龘" * 85, project="ꙮ" * 300, said="龘" * 400, repeated=3)
@example(name='"' * 255, project='\\"' * 200, said="~" * 9_000, repeated=1)
def test_the_prompt_keeps_to_its_tokens_for_any_names(name, project, said, repeated):
    store = MemoryStore()
    messages = [user(said, project=project, parent=project, client="codex", time="2026-01-01T00:00:00Z")]
    stored(store, name, *messages * repeated, user(f"The end. {said}"))
    with asking(store, page_tokens=1_000) as client:
        text = client.do("get_prompt", "continue", {"session": name}).messages[0].content.text
        listed, found = client.text("sessions"), client.text("search", query="end")
    assert max(map(COUNT, (text, listed, found))) <= 1_000
    assert json.loads(text.rpartition("read: read ")[2]) == {"session": name}
    assert len(quotations(text)) == 1
    assert "The end." in text or COUNT(name) > 150
    assert len(quotations(found)) == 1
