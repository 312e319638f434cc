"""Files whose address is their data become files by value: an address that stays would be sent, and billed, twice."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from hansard.formats.data_url import base64_of, by_value
from hansard.model import FilePart


@pytest.mark.parametrize(
    ("given", "address", "media", "data"),
    [
        ("image/*", "data:image/png;base64,aGk=", "image/png", "aGk="),
        ("image/png", "data:;base64,aGk=", "image/png", "aGk="),
        (UNSET, "data:image/png;charset=x;base64,aGk=", "image/png", "aGk="),
        ("text/plain", "data:image/png;base64,a,b", "text/plain", "a,b"),
    ],
)
def test_a_file_by_address_becomes_one_by_value(given: str, address: str, media: str, data: str) -> None:
    part = FilePart(media_type=given, url=address, name="x")
    assert by_value(part) == FilePart(media_type=media, data=data, name="x")
    assert base64_of(part) is None


@pytest.mark.parametrize(
    ("given", "address", "media", "data"),
    [
        ("image/*", "data:image/svg+xml,%3Csvg%3E", "image/svg+xml", "PHN2Zz4="),
        (UNSET, "data:,a%20b", UNSET, "YSBi"),
        ("text/plain", "data:text/html;charset=utf-8,a", "text/plain", "YQ=="),
    ],
)
def test_an_address_that_is_text_is_base64_where_base64_is_asked_for(
    given: str, address: str, media: str, data: str
) -> None:
    part = FilePart(media_type=given, url=address, name="x")
    assert base64_of(part) == FilePart(media_type=media, data=data, name="x")
    assert by_value(part) == part


@pytest.mark.parametrize("address", ["https://a.b/c.png", "data:image/png;base64", "DATA:image/png;base64,aGk=", UNSET])
def test_every_other_file_stays_as_it_is(address: str) -> None:
    part = FilePart(media_type="image/png", url=address)
    assert by_value(part) == part
    assert base64_of(part) is None
    whole = FilePart(media_type="image/png", data="aGk=", url="data:image/png;base64,aGk=")
    assert by_value(whole) == whole
    assert base64_of(whole) is None
