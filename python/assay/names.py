"""File names as text: for tables, where any reader must take them, and for messages, where they stay in one line."""

import os


def printable(text: object) -> str:
    """A file name as text that any reader takes: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(str(text)).decode("utf-8", "replace")


def shown(text: object) -> str:
    """A file name for a message: line breaks, terminal controls and the like are written as escapes."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in printable(text)
    )
