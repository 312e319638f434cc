"""The parts a message is made of.

Every part may carry `id`, and `extra`: the residue of a format, which is its data without a field here,
keyed by the format's name. `unknown` holds fields of native JSON that this release does not know; JSON can neither fill
nor write its type, so a document cannot forge it (see `native`).
An absent field is `UNSET`, never None: an explicit null is data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import UNSET, Struct, StructMeta, UnsetType, field

if TYPE_CHECKING:
    from inspect import Signature
else:
    Signature = Any  # slow to import


class Unknown:
    """Fields (or a whole value) of native JSON that this release does not know, kept unchanged."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(tuple(self.fields))

    def __repr__(self) -> str:
        return f"Unknown({self.fields!r})"


class _NodeType(StructMeta):
    """Shows a type's own fields before those that all values have, in `help` and completion."""

    @property
    def __signature__(cls) -> Signature:
        shown: Signature = super().__signature__
        late = [one for name, one in shown.parameters.items() if name in ("extra", "unknown")]
        return shown.replace(parameters=[*(one for one in shown.parameters.values() if one not in late), *late])


class Node(
    Struct,
    metaclass=_NodeType,
    repr_omit_defaults=True,
    frozen=True,
    kw_only=True,
    gc=False,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """Base of all canonical values."""

    extra: dict[str, Any] | UnsetType = UNSET
    unknown: Unknown | UnsetType = UNSET


class Binding(Node, frozen=True, kw_only=True):
    """Where opaque reasoning may be sent again: its provider and model, and the digest of the prefix it follows."""

    provider: str | UnsetType = UNSET
    transport: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    prefix: str | UnsetType = UNSET


class Part(Node, frozen=True, kw_only=True, tag_field="type"):
    """The base of all parts.

    >>> isinstance(TextPart(text="hi"), Part)
    True
    """

    id: str | UnsetType = UNSET


class TextPart(Part, frozen=True, kw_only=True, tag="text"):
    """Plain text.

    >>> TextPart(text="Which tea?").text
    'Which tea?'
    """

    text: str
    signature: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET


class ReasoningPart(Part, frozen=True, kw_only=True, tag="reasoning"):
    """Reasoning: its text (possibly empty), its signature, or its encrypted form.

    >>> ReasoningPart(text="It is four o'clock.", signature="c2ln").signature
    'c2ln'
    """

    text: str
    signature: str | UnsetType = UNSET
    encrypted: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET


class ToolCallPart(Part, frozen=True, kw_only=True, tag="tool-call"):
    """A tool call. `input` holds the data; `input_text` the raw arguments if encoding `input` would differ.

    `state` is `partial` if the stream was cut inside the input: the call was never made, and no tool may run it.

    >>> call = ToolCallPart(tool_call_id="c1", tool_name="weather", input={"city": "Leith"})
    >>> call.name, call.call_id, call.arguments["city"]
    ('weather', 'c1', 'Leith')
    """

    tool_call_id: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    input: Any = UNSET
    input_text: str | UnsetType = UNSET
    provider_executed: bool | UnsetType = UNSET
    approval: Any = UNSET
    state: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET

    @property
    def name(self) -> str:
        """The name of the tool; empty if the source gave none."""
        return self.tool_name or ""

    @property
    def call_id(self) -> str:
        """The id that the result repeats; empty if the source gave none."""
        return self.tool_call_id or ""

    @property
    def arguments(self) -> dict[str, Any]:
        """`input` if it is an object, else an empty dict."""
        return self.input if isinstance(self.input, dict) else {}


PARTIAL = "partial"


def is_partial(part: Any) -> bool:
    """Whether the part is a call whose input was cut off.

    >>> is_partial(ToolCallPart(tool_name="pay", input_text='{"amount": 1', state="partial"))
    True
    """
    return type(part) is ToolCallPart and part.state == PARTIAL


class ToolResultPart(Part, frozen=True, kw_only=True, tag="tool-result"):
    """A tool result: plain data in `output`, or parts (text, files) in `content`.

    `status` is set only when it says more than `is_error`: denied, interrupted, retried.

    >>> ToolResultPart(tool_call_id="c1", output={"celsius": 11}).output
    {'celsius': 11}
    """

    tool_call_id: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    output: Any = UNSET
    content: list[AnyPart] | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    status: str | UnsetType = UNSET
    provider_executed: bool | UnsetType = UNSET
    preliminary: bool | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET

    @property
    def name(self) -> str:
        """The name of the tool; empty if the source gave none."""
        return self.tool_name or ""

    @property
    def call_id(self) -> str:
        """The id of the call that this answers; empty if the source gave none."""
        return self.tool_call_id or ""


class FilePart(Part, frozen=True, kw_only=True, tag="file"):
    """A file by `url`, by value (`data`, base64) or by a provider's `file_id`.

    >>> FilePart(media_type="image/png", url="https://example.com/cat.png").media_type
    'image/png'
    """

    media_type: str | UnsetType = field(default=UNSET, name="mimeType")
    url: str | UnsetType = UNSET
    data: str | UnsetType = UNSET
    file_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET


class SourcePart(Part, frozen=True, kw_only=True, tag="source"):
    """A page or document that an answer cites.

    >>> SourcePart(url="https://example.com", title="Tides").title
    'Tides'
    """

    source_id: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    media_type: str | UnsetType = field(default=UNSET, name="mimeType")
    name: str | UnsetType = UNSET


class RefusalPart(Part, frozen=True, kw_only=True, tag="refusal"):
    """A refusal message from the model.

    >>> RefusalPart(text="I cannot help with that.").text
    'I cannot help with that.'
    """

    text: str


class DataPart(Part, frozen=True, kw_only=True, tag="data"):
    """Named data of an application; each system event is one.

    >>> DataPart(name="weather", data={"celsius": 11}).data["celsius"]
    11
    """

    name: str
    data: Any = UNSET


class RetryPart(Part, frozen=True, kw_only=True, tag="retry"):
    """A request to the model to retry its answer or its call.

    >>> RetryPart(tool_call_id="c1", tool_name="weather", content="Name a city.").content
    'Name a city.'
    """

    content: Any = UNSET
    tool_call_id: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET


class CompactionPart(Part, frozen=True, kw_only=True, tag="compaction"):
    """A summary that replaces everything before it.

    >>> CompactionPart(text="They talked about tea.").text
    'They talked about tea.'
    """

    text: str | UnsetType = UNSET
    encrypted: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    binding: Binding | UnsetType = UNSET


class RawPart(Part, frozen=True, kw_only=True, tag="raw"):
    """A part of a format without a canonical form, kept unchanged.

    >>> RawPart(format="anthropic", value={"type": "new_block"}).value["type"]
    'new_block'
    """

    format: str
    value: Any


AnyPart: TypeAlias = (
    TextPart
    | ReasoningPart
    | ToolCallPart
    | ToolResultPart
    | FilePart
    | SourcePart
    | RefusalPart
    | DataPart
    | RetryPart
    | CompactionPart
    | RawPart
)
OpaquePart: TypeAlias = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | FilePart | CompactionPart
PART_TYPES: tuple[type[Part], ...] = (
    TextPart,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    FilePart,
    SourcePart,
    RefusalPart,
    DataPart,
    RetryPart,
    CompactionPart,
    RawPart,
)
