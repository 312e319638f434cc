"""Files given by value: an address that is their data (`data:image/png;base64,...`), and base64 that is none."""

from __future__ import annotations

import base64
import re
from urllib.parse import unquote_to_bytes

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


def base64_of(part: FilePart) -> FilePart | None:
    """The file of a data URL that is not base64 with its data in base64; None for every other file.

    >>> base64_of(FilePart(media_type="image/*", url="data:image/svg+xml,%3Csvg%3E")).data
    'PHN2Zz4='
    """
    if part.data is not UNSET or type(part.url) is not str or not part.url.startswith("data:"):
        return None
    header, comma, text = part.url[5:].partition(",")
    if not comma or header.endswith(";base64"):
        return None
    media = part.media_type
    if type(media) is not str or media.endswith("/*"):
        media = header.partition(";")[0] or media
    data = base64.b64encode(unquote_to_bytes(text.encode("utf-8", "surrogatepass"))).decode()
    return replace(part, media_type=media, data=data, url=UNSET)


_BASE64 = re.compile(r"[A-Za-z0-9+/]*|[A-Za-z0-9_-]*")


def mended_base64(data: str) -> str | None:
    """The data as base64 of whole groups, without white space; None if it is not base64 of either alphabet.

    >>> mended_base64("aGk"), mended_base64("<the file>")
    ('aGk=', None)
    """
    bare = data.rstrip("=")
    if _BASE64.fullmatch(bare) is None:
        bare = "".join(data.split()).rstrip("=")
        if _BASE64.fullmatch(bare) is None:
            return None
    if len(bare) % 4 == 1:
        return None
    whole = bare + "=" * (-len(bare) % 4)
    return data if whole == data else whole
