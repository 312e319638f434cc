"""What the site needs of pages that are also read in the checkout: files outside docs/ are named, not linked."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!decisions/)([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """Links that leave the folder of the documentation become the name of the file in the project."""
    below = page.file.src_uri.count("/")

    def named(found: re.Match[str]) -> str:
        if found[0].count("../") <= below:
            return found[0]
        return f"`{found[2]}`" if found[1].strip("`") == found[2] else f"{found[1]} (`{found[2]}`)"

    return _OUTSIDE.sub(named, markdown)
