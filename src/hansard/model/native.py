"""Native JSON: the structs themselves, with every field and part that this release does not know kept.

The strict decoder is tried first; only a document it refuses takes the slow way, which sets aside what is
unknown or of an unexpected kind. Writing meets the set-aside fields through the encoder's hook and takes
its slow way too. So documents without unknowns pay almost nothing.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import msgspec
import msgspec.structs
from msgspec import UNSET, UnsetType

from hansard.errors import Unreadable
from hansard.model import exact_json
from hansard.model.parts import PART_TYPES, Node, Part, RawPart, Unknown

NATIVE = "hansard"
N = TypeVar("N", bound=Node)
_PARTS: dict[str, type[Part]] = {typing.cast(str, kind.__struct_config__.tag): kind for kind in PART_TYPES}


class _MeetsUnknown(Exception):
    pass


def _stop_at_unknown(value: Any) -> Any:
    if isinstance(value, Unknown):
        raise _MeetsUnknown
    raise TypeError(f"{type(value).__name__} is not JSON: {value!r}")


_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=_stop_at_unknown)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, float_hook=exact_json.exact_float)


def encode(node: Any) -> bytes:
    """A canonical value, or a list of them, as native JSON."""
    try:
        return _ENCODER.encode(node)
    except _MeetsUnknown:
        return exact_json.encode(plain(node))
    except UnicodeEncodeError:
        return exact_json.encode_surrogates(plain(node))


def holds_surrogates(node: Any) -> bool:
    """Whether some string in the value holds a lone surrogate."""
    try:
        _ENCODER.encode(node)
    except UnicodeEncodeError:
        return True
    except _MeetsUnknown:
        return exact_json.encode_utf8(plain(node)) is None
    return False


def plain(value: Any) -> Any:
    """The same as dicts and lists, unknown fields put back in their places."""
    if isinstance(value, RawPart) and value.format == NATIVE and value.unknown is not UNSET:
        return value.value
    if isinstance(value, Node):
        tag = value.__struct_config__.tag
        out: dict[str, Any] = {"type": tag} if tag is not None else {}
        fields = msgspec.structs.asdict(value)  # what is stored, where a property shows it differently
        for name, attribute in names(type(value)).items():
            item = fields[attribute]
            if item is not UNSET:
                out[name] = plain(item)
        if isinstance(value.unknown, Unknown):
            out.update(value.unknown.fields)
        return out
    if type(value) is list:
        return [plain(item) for item in value]
    if type(value) is dict:
        return {key: plain(item) for key, item in value.items()}
    return value


def same(one: Any, other: Any) -> bool:
    """Equal with the kind of every number; written alike they surely are, and that is quick to see."""
    return encode(one) == encode(other) or exact_json.same(plain(one), plain(other))


def try_decode(kind: Any, data: bytes | str) -> Any:
    """Native JSON text as a value of that kind, or None when it holds something this release does not know."""
    return exact_json.decode_as(_decoder(kind), data)


def decode_own(kind: type[N], data: bytes) -> N:
    """Native JSON that we wrote ourselves, so that no key in it is given twice."""
    try:
        return typing.cast(N, _decoder(kind).decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode(kind, data)


def decode(kind: type[N], data: bytes | str) -> N:
    """Native JSON text as one canonical value."""
    value = try_decode(kind, data)
    return typing.cast(N, value) if value is not None else build(kind, exact_json.decode(data), "$")


def build(kind: type[N], value: Any, path: str) -> N:
    """A canonical value from plain data; what does not fit its field is set aside, never dropped."""
    if type(value) is not dict:
        raise Unreadable(f"{kind.__name__.lower()} expected, not {_name(value)}", path, "an object belongs here")
    known, shapes = names(kind), _shapes(kind)
    fields: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for name, item in value.items():
        attribute = known.get(name)
        if attribute is None:
            unknown[name] = item
            continue
        try:
            fields[attribute] = shapes[attribute](item, f"{path}.{name}")
        except (msgspec.ValidationError, UnicodeEncodeError, Unreadable) as error:
            if attribute in _required(kind):
                problem = error.problem if isinstance(error, Unreadable) else str(error)
                place = error.path if isinstance(error, Unreadable) else f"{path}.{name}"
                raise Unreadable(problem, place, "native messages have a role and a list of parts") from None
            unknown[name] = item
    for attribute in _required(kind):
        if attribute not in fields:
            raise Unreadable(f"no {attribute!r}", path, "native messages have a role and a list of parts")
    if kind.__struct_config__.tag is not None:
        unknown.pop("type", None)
    return kind(**fields, unknown=Unknown(unknown)) if unknown else kind(**fields)


def build_part(value: Any, path: str) -> Part:
    """A part; one of an unknown type is kept whole."""
    tag = value.get("type") if type(value) is dict else None
    kind = _PARTS.get(tag) if type(tag) is str else None
    if kind is not None:
        try:
            return build(kind, value, path)
        except Unreadable:
            pass
    return RawPart(format=NATIVE, value=value, unknown=Unknown({}))


@cache
def names(kind: type[Node]) -> dict[str, str]:
    return {item.encode_name: item.name for item in msgspec.structs.fields(kind) if item.name != "unknown"}


@cache
def _required(kind: type[Node]) -> frozenset[str]:
    return frozenset(item.name for item in msgspec.structs.fields(kind) if item.required)


@cache
def _shapes(kind: type[Node]) -> dict[str, Callable[[Any, str], Any]]:
    return {item.name: _shape(item.type) for item in msgspec.structs.fields(kind)}


def _shape(annotation: Any) -> Callable[[Any, str], Any]:
    """How a value of this annotation is built from plain data."""
    given = typing.get_args(annotation) if typing.get_origin(annotation) in _UNIONS else (annotation,)
    choices: list[Any] = [choice for choice in given if choice is not UnsetType]
    if node := _node_shape(choices):
        return node
    (choice, *others) = choices
    kind, inner = typing.get_origin(choice), typing.get_args(choice)
    if not others and kind is list and _holds_nodes(inner[0]):
        item = _shape(inner[0])
        return lambda value, path: [item(one, f"{path}[{i}]") for i, one in enumerate(_typed(list, value, path))]
    if not others and kind is dict and _holds_nodes(inner[1]):
        item = _shape(inner[1])
        return lambda value, path: {k: item(one, f"{path}.{k}") for k, one in _typed(dict, value, path).items()}
    if Any in choices:
        return lambda value, path: value
    kept: Any = typing.Union.__getitem__(tuple(choices))
    return lambda value, path: msgspec.convert(value, kept, builtin_types=(Decimal,))


_UNIONS = (typing.Union, types.UnionType)


def _holds_nodes(annotation: Any) -> bool:
    choices = typing.get_args(annotation) or (annotation,)
    return all(isinstance(kind, type) and issubclass(kind, Node) for kind in choices)


def _node_shape(choices: list[Any]) -> Callable[[Any, str], Any] | None:
    if not all(isinstance(kind, type) and issubclass(kind, Node) for kind in choices):
        return None
    if issubclass(choices[0], Part):
        return build_part
    return lambda value, path: build(choices[0], value, path)


def _typed(kind: type, value: Any, path: str) -> Any:
    if type(value) is not kind:
        raise Unreadable(f"{kind.__name__} expected, not {_name(value)}", path)
    return value


def _name(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), repr(value))
