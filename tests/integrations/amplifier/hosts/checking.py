"""What must hold for every life of a session, in any host."""

from typing import Any

Life = dict[str, Any]


def assert_sound(lives: list[Life]) -> None:
    """No request that a provider would refuse, in form or in length; a history that is whole and not doubled; and no
    request that moves what was sent before, without a compaction that says so.
    """
    assert [
        (life["session"], life["problems"], life["overflows"])
        for life in lives
        if life["problems"] or life["overflows"]
    ] == []
    assert [life["history"] for life in lives if life["history"]] == []
    assert [life["extras"] for life in lives if life["extras"]] == []
    assert all(life["users_whole"] for life in lives)


def assert_unmoved(lives: list[Life]) -> None:
    """Each request begins with the whole one before it, unless it was compacted."""
    assert [(life["session"], life["moved"]) for life in lives if life["moved"]] == []
