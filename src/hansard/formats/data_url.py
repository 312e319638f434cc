"""Files whose address is their data (`data:image/png;base64,...`): who fetches from the web cannot fetch those."""

from __future__ import annotations

from msgspec import UNSET
from msgspec.structs import replace

from hansard.model.parts import FilePart


def by_value(part: FilePart) -> FilePart:
    """The file with data in place of an address that is nothing else; every other file as it is.

    >>> by_value(FilePart(media_type="image/*", url="data:image/png;base64,aGk=")).media_type
    'image/png'
    """
    if part.data is not UNSET or type(part.url) is not str or not part.url.startswith("data:"):
        return part
    header, comma, data = part.url[5:].partition(",")
    if not comma or not header.endswith(";base64"):
        return part
    media = part.media_type
    if type(media) is not str or media.endswith("/*"):
        media = header.removesuffix(";base64").partition(";")[0] or media
    return replace(part, media_type=media, data=data, url=UNSET)
