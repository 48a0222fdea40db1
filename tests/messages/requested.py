"""What a client's own types let a request hold, strictly: keys that a type does not name are faults, as at the API."""

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

_SCALARS = (str, int, float, bool)


def faults(value: Any, kind: Any, where: str = "message") -> list[str]:
    """Where `value` is not what a request type asks for; empty if it is."""
    return list(_faults(value, kind, where))


def _faults(value: Any, kind: Any, where: str) -> Iterator[str]:
    kind = _bare(kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        tried = [faults(value, each, where) for each in get_args(kind)]
        yield from () if [] in tried else min(tried, key=len)
    elif is_typeddict(kind):
        yield from _mapping(value, kind, where)
    elif _is(origin, Iterable) and not _is(origin, Mapping):
        if type(value) is not list:
            yield f"{where} is {value!r:.60}, not a list"
            return
        for number, item in enumerate(value):
            yield from _faults(item, get_args(kind)[0], f"{where}[{number}]")
    elif not _fits(value, kind, origin):
        yield f"{where} is {value!r:.60}, not {kind!r:.80}"


def _fits(value: Any, kind: Any, origin: Any) -> bool:
    """Whether a value is of a kind that has no items; a class of the client's own, such as a block's, never fits."""
    if kind is Any or kind is object:
        return True
    if origin is Literal:
        return value in get_args(kind)
    if _is(origin, Mapping):
        return type(value) is dict
    return value is None if kind in (None, type(None)) else kind in _SCALARS and type(value) is kind


def _is(origin: Any, of: type) -> bool:
    return isinstance(origin, type) and issubclass(origin, of)


def _bare(kind: Any) -> Any:
    if isinstance(kind, TypeAliasType):
        return _bare(kind.__value__)
    return _bare(get_args(kind)[0]) if get_origin(kind) in (Annotated, Required, NotRequired) else kind


def _mapping(value: Any, kind: Any, where: str) -> Iterator[str]:
    if type(value) is not dict:
        yield f"{where} is {value!r:.60}, not {kind.__name__}"
        return
    hints = get_type_hints(kind, include_extras=True)
    for key, hint in hints.items():
        if key in value:
            yield from _faults(value[key], hint, f"{where}.{key}")
        elif get_origin(hint) is Required:  # type: ignore[comparison-overlap]  # mypy takes it for a form alone
            yield f"{where} has no {key}"
    yield from (f"{where}.{key} is not known" for key in value if key not in hints)
