"""A result that only refers to an earlier one is never shown without it, or without a word that it is not shown."""

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import events
from backscroll.evaluation.validity import problems
from tests.builders import DIALECTS
from tests.profiles import examples
from tests.rereading import UNCHANGED, Rereading

FILES = st.integers(0, 11).map(lambda number: f"src/{number}.py")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.lists(FILES, min_size=1, max_size=3), st.sampled_from([5, 40, 120, 400])),
        st.tuples(st.just("change"), FILES, st.just(0)),
        st.tuples(st.just("say"), st.integers(1, 300), st.just(0)),
        st.tuples(st.just("compact"), st.just(0), st.just(0)),
        st.tuples(st.just("undo"), st.just(0), st.just(0)),
    ),
    min_size=8,
    max_size=40,
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "clear_at_least_tokens": st.just(200),
        "max_messages": st.just(14),
        "strategies": st.sampled_from([None, ["clear"], ["importance"], ["truncate"], ["deduplicate", "digest"]]),
        "mode": st.just("lean"),
    },
)


def do(agent, step):
    kind, what, words = step
    if kind == "read":
        agent.read(*what, words=words)
    elif kind == "change":
        agent.change(what)
    elif kind == "say":
        agent.say("assistant", "I see. " * what)
        agent.say("user", f"Go on with {what}.")
    elif kind == "compact":
        agent.manager.compact()
    else:
        agent.manager.undo_compaction()


@settings(max_examples=examples(60))
@given(
    st.sampled_from(DIALECTS), STEPS, st.integers(1_200, 6_000), st.integers(1, 2**24), OPTIONS,
    st.sampled_from(UNCHANGED),
)  # fmt: skip  # one thought
def test_what_a_result_refers_to_is_in_the_view(dialect, steps, budget, ask, options, sentence):
    agent = Rereading(dialect, sentence=sentence, budget=budget, **options)
    before = []
    for number, step in enumerate(steps):
        do(agent, step)
        if not ask >> (number % 24) & 1:
            continue
        view = agent.view()
        if view is None:
            continue
        assert problems(view, agent.manager.get_messages()) == []
        assert agent.manager.usage().used_upper_bound <= budget
        assert agent.lacking(view)[0] == []
        assert view[: len(before)] == before or set(agent.session.names) & events.MOVES_PREFIX
        assert agent.view() == view
        before = view
        agent.session.events.clear()
