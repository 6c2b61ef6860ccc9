"""What a file looks like whose first bytes are not those of the text that its name promises."""

import re

from assay.landing.faults import RefusedError

_MAGIC = (
    (b"\xff\xfe", "UTF-16 text: write it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text: write it as UTF-8"),
    (b"\x00\x00\xfe\xff", "UTF-32 text: write it as UTF-8"),
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer: fetch the file it stands for (git lfs pull)"),
    (b"\x1f\x8b", "gzip inside gzip: decompress it once"),
    (b"(\xb5\x2f\xfd", "a zstd file: decompress it, or compress it with gzip"),
    (b"BZh", "a bzip2 file: decompress it, or compress it with gzip"),
    (b"\xfd7zXZ\x00", "an xz file: decompress it, or compress it with gzip"),
    (b"PAR1", "a parquet file: write it as JSON"),
    (b"ARROW1", "an Arrow file: write it as JSON"),
    (b"PK\x03\x04", "a zip archive: unpack it"),
    (b"SQLite format 3\x00", "a SQLite database: write it as JSON"),
    (b"%PDF-", "a PDF document"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x8a\x8c\]}()cKXq]")
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body|\?xml)\b", re.IGNORECASE)
# Text of the first characters in two or four bytes each, without a byte order mark.
_WIDE = re.compile(
    rb"(?:[\x09-\x7e]\x00){4}|(?:\x00[\x09-\x7e]){4}|(?:[\x09-\x7e]\x00{3}){2}|(?:\x00{3}[\x09-\x7e]){2}"
)
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[[ \t\r]*(?:\n|[\[{][ \t\r]*\n|[\[{][^\n]*,[ \t\r]*\n)")
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[ \t\r]*\n\s*\"")


def refuse_foreign(beginning: bytes, is_json_lines: bool) -> None:
    """Raise `RefusedError` with one sentence for a text file that begins like something else.

    `is_json_lines` says that every line has to be a JSON object, so that one value over several lines is foreign too.
    """
    look = next((look for magic, look in _MAGIC if beginning.startswith(magic)), None)
    if look is None and _PICKLE.match(beginning):
        look = "a Python pickle: it is never loaded; write it as JSON"
    elif look is None and _PAGE.match(beginning):
        look = "an HTML or XML page: was it a download that failed?"
    elif look is None and _WIDE.match(beginning):
        look = "UTF-16 or UTF-32 text: write it as UTF-8"
    elif look is None and is_json_lines and _ARRAY.match(beginning):
        look = "one JSON array over several lines: write each element on a line of its own"
    elif look is None and is_json_lines and _OBJECT.match(beginning):
        look = "indented JSON: write each object on one line"
    if look is not None:
        raise RefusedError("foreign_file", f"it looks like {look}")
