"""A small invented world: repositories with Python source, tests and one issue for each planted fault.

A module is a core text, in which faults can be planted, and (at full scale) generic helpers. Names come from the
repository's vocabulary, so that no two repositories read alike. Nothing here is random.
"""

from dataclasses import dataclass, field
from functools import cache
from string import Template


@dataclass(frozen=True)
class Fault:
    """One planted fault: `good` is the right fragment of a line, `bad` the planted one."""

    name: str
    symbol: str
    good: str
    bad: str
    wrong: str
    title: str
    symptom: str
    cause: str
    check: str
    expected: str
    actual: str
    test: str


@dataclass(frozen=True)
class Issue:
    """One task: a repository with one fault planted in one module."""

    key: str
    repository: "Repository"
    module: str
    path: str
    test_path: str
    fault: Fault
    line: int
    files: dict[str, str] = field(repr=False, hash=False, compare=False)


@dataclass(frozen=True)
class Repository:
    """An invented repository: its vocabulary and its healthy files."""

    owner: str
    name: str
    package: str
    words: dict[str, str] = field(hash=False, compare=False)
    files: dict[str, str] = field(repr=False, hash=False, compare=False)
    has_pytest: bool = True


_REPOSITORIES = (
    # owner, name, package, thing, plural, key field, amount field, unit, place
    ("harborlight", "tidewater", "tidewater", "reading", "readings", "gauge", "height", "cm", "harbour"),
    ("ferncroft", "mossbed", "mossbed", "plot", "plots", "bed", "moisture", "pct", "garden"),
    ("quillworks", "inkstone", "inkstone", "paragraph", "paragraphs", "anchor", "width", "pt", "page"),
    ("brasslamp", "lanternfish", "lanternfish", "route", "routes", "stop", "distance", "km", "depot"),
    ("oatmill", "granary", "granary", "parcel", "parcels", "label", "weight", "kg", "silo"),
    ("pinecast", "weathervane", "weathervane", "forecast", "forecasts", "station", "gust", "kn", "region"),
    ("copperfold", "turnstile", "turnstile", "ticket", "tickets", "gate", "price", "ct", "venue"),
    ("saltmarsh", "heronry", "heronry", "sighting", "sightings", "species", "count", "birds", "marsh"),
    ("ironbark", "ledgerline", "ledgerline", "invoice", "invoices", "account", "total", "ct", "branch"),
    ("cloudberry", "packhorse", "packhorse", "bundle", "bundles", "wheel", "size", "kb", "mirror"),
    ("stonebridge", "waymark", "waymark", "waypoint", "waypoints", "trail", "elevation", "m", "valley"),
    ("lowtide", "periscope", "periscope", "probe", "probes", "target", "latency", "ms", "cluster"),
)

_STORE = '''"""In-memory storage of $things, bounded by a limit."""

from collections import OrderedDict

from $package.errors import ${Thing}Missing


class ${Thing}Store:
    """Keep the newest $things of one $place."""

    def __init__(self, limit=128):
        self.limit = limit
        self._items = OrderedDict()
        self.evicted = 0

    def __len__(self):
        return len(self._items)

    def put(self, $key, $thing):
        """Store one $thing and drop the oldest when the limit is passed."""
        self._items[$key] = $thing
        self._items.move_to_end($key)
        while len(self._items) > self.limit:
            self._items.popitem(last=False)
            self.evicted += 1

    def get(self, $key, default=None):
        """Return the $thing under $key, or the default."""
        if $key not in self._items:
            return default
        return self._items[$key]

    def take(self, $key):
        """Remove and return one $thing."""
        try:
            return self._items.pop($key)
        except KeyError:
            raise ${Thing}Missing($key) from None

    def merge(self, other):
        """Take over the $things of another store; what is here stays."""
        for $key, $thing in other._items.items():
            self._items.setdefault($key, $thing)
        return len(self._items)
'''

_PARSER = '''"""Read $things from the line format."""

from $package.errors import ${Thing}SyntaxError
from $package.models import $Thing

COMMENT = "#"
SEPARATOR = ";"


def split_fields(line):
    """Split one line into $key, $amount and note."""
    fields = line.split(SEPARATOR, 2)
    if len(fields) < 2:
        raise ${Thing}SyntaxError(line)
    return [part.strip() for part in fields]


def parse_line(line, number=0):
    """Return the $thing of one line, or None for a comment or a blank line."""
    text = line.strip()
    if not text or text.startswith(COMMENT):
        return None
    fields = split_fields(text)
    note = fields[2] if len(fields) > 2 else ""
    try:
        value = float(fields[1])
    except ValueError:
        raise ${Thing}SyntaxError(line, number) from None
    return $Thing(fields[0], value, note)


def parse_text(text):
    """Return all $things of a text in order."""
    $things = []
    for number, line in enumerate(text.splitlines(), start=1):
        $thing = parse_line(line, number)
        if $thing is not None:
            $things.append($thing)
    return $things
'''

_FORMAT = '''"""Show $things as text."""

UNIT = "$unit"


def format_$amount(value, digits=1):
    """Format one $amount with its unit."""
    sign = "-" if value < 0 else ""
    return sign + format(abs(value), "." + str(digits) + "f") + " " + UNIT


def column_widths(rows):
    """Return the widest cell of every column."""
    widths = []
    for row in rows:
        for index, cell in enumerate(row):
            if index == len(widths):
                widths.append(0)
            widths[index] = max(widths[index], len(str(cell)))
    return widths


def format_table(rows, gap=2):
    """Lay out rows of cells in columns."""
    widths = column_widths(rows)
    lines = []
    for row in rows:
        cells = [str(cell).ljust(width) for cell, width in zip(row, widths)]
        lines.append((" " * gap).join(cells).rstrip())
    return "\\n".join(lines)


def shorten(note, limit=40):
    """Cut a note to the limit, dots included."""
    if len(note) <= limit:
        return note
    return note[: limit - 3] + "..."
'''

_CONFIG = '''"""Settings of $package: defaults, file, environment."""

import os

DEFAULTS = {"limit": 128, "unit": "$unit", "strict": True, "retries": 3}
PREFIX = "${PACKAGE}_"


def read_settings(lines):
    """Read `name = value` lines into a dictionary."""
    settings = {}
    for line in lines:
        if "=" not in line:
            continue
        name, value = line.split("=", 1)
        settings[name.strip()] = value.strip()
    return settings


def merge_settings(base, override):
    """Return base with the values of override, zero and False included."""
    merged = dict(base)
    for name, value in override.items():
        if value is not None:
            merged[name] = value
    return merged


def from_environment(environment=None):
    """Return the settings given by environment variables."""
    environment = os.environ if environment is None else environment
    found = {}
    for name, value in environment.items():
        if name.startswith(PREFIX):
            found[name[len(PREFIX):].lower()] = value
    return found


def load(lines=(), environment=None):
    """Return the settings in force: the environment beats the file, the file beats the defaults."""
    settings = merge_settings(DEFAULTS, read_settings(lines))
    return merge_settings(settings, from_environment(environment))
'''

_SCHEDULE = '''"""When the next $thing of a $place is due."""

MINUTES_PER_DAY = 24 * 60


def overlaps(first, second):
    """Tell whether two (start, end) windows share a minute; the end is not part of a window."""
    return first[0] < second[1] and second[0] < first[1]


def next_due(minute, every):
    """Return the first multiple of `every` after `minute`, within the day."""
    if every <= 0:
        raise ValueError("every must be positive")
    due = (minute // every + 1) * every
    return due % MINUTES_PER_DAY


def plan(windows):
    """Return windows in order, each joined with those it touches."""
    planned = []
    for start, end in sorted(windows):
        if planned and start <= planned[-1][1]:
            planned[-1] = (planned[-1][0], max(planned[-1][1], end))
        else:
            planned.append((start, end))
    return planned


def free_minutes(windows, day=MINUTES_PER_DAY):
    """Return how many minutes of the day no window covers."""
    return day - sum(end - start for start, end in plan(windows))
'''

_CLIENT = '''"""Fetch $things page by page."""

from $package.errors import ${Thing}Unavailable


class ${Thing}Client:
    """A client over a transport that answers `(status, items)` for a page number."""

    def __init__(self, transport, retries=3, pause=None):
        self.transport = transport
        self.retries = retries
        self.pause = pause or (lambda seconds: None)

    def fetch_page(self, page):
        """Return the items of one page and try again after a server error."""
        for attempt in range(self.retries + 1):
            status, items = self.transport(page)
            if status < 500:
                return items
            if attempt < self.retries:
                self.pause(2**attempt)
        raise ${Thing}Unavailable(page)

    def fetch_all(self, pages):
        """Return the items of pages 1 to `pages`."""
        $things = []
        for page in range(1, pages + 1):
            $things.extend(self.fetch_page(page))
        return $things

    def count(self, pages):
        """Return how many items the pages hold."""
        return len(self.fetch_all(pages))
'''

_VALIDATE = '''"""Checks a $thing must pass before it is stored."""

from $package.errors import ${Thing}Invalid

REQUIRED = ("$key", "$amount")


def missing_fields(record):
    """Return the required fields that the record lacks; zero is a value."""
    return [name for name in REQUIRED if record.get(name) is None]


def in_range(value, low, high):
    """Tell whether low <= value <= high."""
    return low <= value <= high


def validate_$thing(record, low=0.0, high=1000.0):
    """Return the record, or raise when it breaks a rule."""
    missing = missing_fields(record)
    if missing:
        raise ${Thing}Invalid("missing: " + ", ".join(missing))
    if not in_range(record["$amount"], low, high):
        raise ${Thing}Invalid("$amount out of range")
    return record


def split_valid(records):
    """Return (valid, rejected) records in their order."""
    valid, rejected = [], []
    for record in records:
        try:
            valid.append(validate_$thing(record))
        except ${Thing}Invalid as error:
            rejected.append((record, str(error)))
    return valid, rejected
'''

_REPORT = '''"""Totals over the $things of a $place."""


def total(records):
    """Return the sum of every $amount."""
    return sum(record["$amount"] for record in records)


def mean(records):
    """Return the mean $amount, 0.0 for no records."""
    if not records:
        return 0.0
    return total(records) / len(records)


def by_$key(records):
    """Return the records of each $key, keys sorted."""
    groups = {}
    for record in records:
        groups.setdefault(record["$key"], []).append(record)
    return dict(sorted(groups.items()))


def share(part, whole):
    """Return part of whole in percent, rounded to one digit."""
    if whole == 0:
        return 0.0
    return round(100.0 * part / whole, 1)


def top(records, n=3):
    """Return the n largest records, the earlier one first on a tie."""
    ranked = sorted(records, key=lambda record: -record["$amount"])
    return ranked[:n]
'''

_MODELS = '''"""Plain records of $package."""

from dataclasses import dataclass


@dataclass(frozen=True)
class $Thing:
    """One $thing of a $place."""

    $key: str
    $amount: float
    note: str = ""

    def as_record(self):
        """Return the $thing as a dictionary."""
        return {"$key": self.$key, "$amount": self.$amount, "note": self.note}
'''

_ERRORS = '''"""Everything that $package raises."""


class ${Thing}Error(Exception):
    """Base of all errors."""


class ${Thing}Missing(${Thing}Error):
    """The $thing is not stored."""


class ${Thing}SyntaxError(${Thing}Error):
    """A line cannot be read."""


class ${Thing}Invalid(${Thing}Error):
    """A record breaks a rule."""


class ${Thing}Unavailable(${Thing}Error):
    """The server did not answer."""
'''

_INIT = '''"""$package: $things of a $place."""

from $package.models import $Thing
from $package.parser import parse_text
from $package.store import ${Thing}Store

__all__ = ["$Thing", "${Thing}Store", "parse_text"]
__version__ = "1.4.2"
'''

_CLI = '''"""Command line of $package."""

import argparse

from $package import config, formatting, parser, report


def build_parser():
    """Return the argument parser."""
    arguments = argparse.ArgumentParser(prog="$package")
    arguments.add_argument("path", help="file with one $thing a line")
    arguments.add_argument("--top", type=int, default=3, help="how many $things to list")
    arguments.add_argument("--digits", type=int, default=1)
    return arguments


def main(argv=None):
    """Print the largest $things of a file."""
    options = build_parser().parse_args(argv)
    settings = config.load()
    with open(options.path, encoding="utf-8") as handle:
        $things = [item.as_record() for item in parser.parse_text(handle.read())]
    rows = [
        (record["$key"], formatting.format_$amount(record["$amount"], options.digits))
        for record in report.top($things, options.top)
    ]
    print(formatting.format_table(rows))
    return 0 if settings else 1
'''

_README = """# $name

$Things of a $place, read from plain text and kept in memory 🌊.

    from $package import parse_text
    $things = parse_text("north;12.5;first line")

Run the tests with `python -m pytest`.
"""

_USAGE = """# Usage

One $thing a line: $key, $amount in $unit, a note.

- lines that start with `#` are comments ✅
- the note may hold separators
- naïve dates — “as written” — are kept

日本語のメモも保存されます。
"""

_CHANGES = """# Changes

## 1.4.2
- note of a $thing may hold any text,\u2028including line separators

## 1.4.1
- bounded store for $things

## 1.4.0
- command line `$package`
"""

_PROJECT = """[project]
name = "$name"
version = "1.4.2"
description = "$Things of a $place"

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

_HELPERS = (
    '''

def chunked_$aspect($things, size):
    """Yield lists of at most `size` $things."""
    chunk = []
    for $thing in $things:
        chunk.append($thing)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
''',
    '''

def describe_$aspect($thing, indent=0):
    """Return a readable block about one $thing for the log."""
    pad = " " * indent
    lines = [pad + "$thing:"]
    for name in sorted(vars($thing)):
        lines.append(pad + "  " + name + " = " + repr(getattr($thing, name)))
    lines.append(pad + "  source = $aspect")
    return "\\n".join(lines)
''',
    '''

def difference_$aspect(before, after):
    """Return (added, removed, changed) keys between two mappings of $things."""
    added = sorted(set(after) - set(before))
    removed = sorted(set(before) - set(after))
    changed = sorted(key for key in set(before) & set(after) if before[key] != after[key])
    return added, removed, changed
''',
    '''

def normalise_$aspect(value):
    """Return the $key in the form that every table uses: lower case, words joined by a dash."""
    text = str(value).strip().lower()
    words = [word for word in text.replace("_", " ").split() if word]
    if not words:
        raise ValueError("empty $aspect")
    return "-".join(words)
''',
    '''

class ${Thing}${Aspect}Log:
    """Remember the last events about $things, by $aspect."""

    def __init__(self, size=50):
        self.size = size
        self.events = []

    def add(self, event, **details):
        """Append one event and forget the oldest beyond the size."""
        self.events.append((event, tuple(sorted(details.items()))))
        if len(self.events) > self.size:
            del self.events[0]

    def matching(self, event):
        """Return the details of every event of one name."""
        return [dict(details) for name, details in self.events if name == event]

    def clear(self):
        """Forget everything."""
        self.events = []
''',
    '''

def convert_$aspect(value, source="$unit", target="$unit"):
    """Convert a $amount between the units that $package knows."""
    factors = {"$unit": 1.0, "k$unit": 1000.0, "m$unit": 0.001}
    if source not in factors or target not in factors:
        raise KeyError("unknown unit: " + source + " or " + target)
    return value * factors[source] / factors[target]
''',
    '''

def window_$aspect(records, start, end):
    """Return the records whose position lies in start <= position < end."""
    picked = []
    for position, record in enumerate(records):
        if position < start:
            continue
        if position >= end:
            break
        picked.append(record)
    return picked
''',
    '''

def parse_flags_$aspect(text):
    """Read `a,b,-c` into a mapping of flag to bool."""
    flags = {}
    for word in text.split(","):
        word = word.strip()
        if not word:
            continue
        if word.startswith("-"):
            flags[word[1:]] = False
        else:
            flags[word] = True
    return flags
''',
)

_HELPER_TESTS = (
    """
def test_chunked_$aspect():
    parts = list(subject.chunked_$aspect([1, 2, 3, 4, 5], 2))
    assert parts == [[1, 2], [3, 4], [5]]
""",
    "",
    """
def test_difference_$aspect():
    before, after = {"a": 1, "b": 2}, {"b": 3, "c": 4}
    assert subject.difference_$aspect(before, after) == (["c"], ["a"], ["b"])
""",
    """
def test_normalise_$aspect():
    assert subject.normalise_$aspect("  North_East  Side ") == "north-east-side"
""",
    """
def test_${aspect}_log_forgets_the_oldest():
    log = subject.${Thing}${Aspect}Log(size=2)
    for number in range(3):
        log.add("seen", number=number)
    assert log.matching("seen") == [{"number": 1}, {"number": 2}]
""",
    """
def test_convert_$aspect():
    assert subject.convert_$aspect(2.0, source="k$unit") == 2000.0
""",
    """
def test_window_$aspect():
    assert subject.window_$aspect(list("abcdef"), 1, 4) == ["b", "c", "d"]
""",
    """
def test_parse_flags_$aspect():
    assert subject.parse_flags_$aspect("a, -b,") == {"a": True, "b": False}
""",
)

_ASPECTS = ("region", "season", "origin", "status", "batch", "owner", "channel", "period", "grade", "origin_code")

_MODULES: dict[str, str] = {
    "store": _STORE,
    "parser": _PARSER,
    "formatting": _FORMAT,
    "config": _CONFIG,
    "schedule": _SCHEDULE,
    "client": _CLIENT,
    "validate": _VALIDATE,
    "report": _REPORT,
}

# name, module, symbol, good, bad, wrong attempt, title, symptom, cause, check, expected, actual
_FAULTS: tuple[tuple[str, ...], ...] = (
    (
        "evict_early",
        "store",
        "put",
        "while len(self._items) > self.limit:",
        "while len(self._items) >= self.limit:",
        "while len(self._items) >= self.limit + 2:",
        "${Thing}Store holds one $thing less than its limit",
        "A store made with `limit=2` keeps only one $thing after two calls of `put`.",
        "the eviction loop in `put` compares with `>=`, so it already drops when the limit is just reached",
        "store = ${Thing}Store(limit=2); store.put('a', 1); store.put('b', 2); len(store)",
        "2",
        "1",
    ),
    (
        "merge_overwrites",
        "store",
        "merge",
        "self._items.setdefault($key, $thing)",
        "self._items[$key] = $thing",
        "self._items.update({$key: $thing})",
        "merge() overwrites $things that are already stored",
        "`merge` replaces a $thing that both stores hold, although what is here should stay.",
        "`merge` assigns into the mapping instead of using `setdefault`",
        "a, b = ${Thing}Store(), ${Thing}Store(); a.put('x', 1); b.put('x', 2); a.merge(b); a.get('x')",
        "1",
        "2",
    ),
    (
        "note_cut",
        "parser",
        "split_fields",
        "fields = line.split(SEPARATOR, 2)",
        "fields = line.split(SEPARATOR)",
        "fields = line.split(SEPARATOR, 1)",
        "A note that holds a semicolon is cut",
        "Parsing `north;12.5;wind;rain` gives the note `wind`; the rest of the text is lost.",
        "`split_fields` splits at every separator, so the third part ends at the next semicolon",
        "parse_line('north;12.5;wind;rain').note",
        "'wind;rain'",
        "'wind'",
    ),
    (
        "line_number",
        "parser",
        "parse_text",
        "for number, line in enumerate(text.splitlines(), start=1):",
        "for number, line in enumerate(text.splitlines()):",
        "for number, line in enumerate(text.splitlines(), start=2):",
        "Syntax errors name the line before the broken one",
        "A broken first line is reported as line 0.",
        "`parse_text` enumerates lines from zero while messages count from one",
        "error_line(parse_text, 'north;x;bad')",
        "1",
        "0",
    ),
    (
        "negative_sign",
        "formatting",
        "format_$amount",
        'sign = "-" if value < 0 else ""',
        'sign = "-" if value <= 0 else ""',
        'sign = "-" if value < 1 else ""',
        "Zero is shown with a minus sign",
        "`format_$amount(0)` prints `-0.0 $unit`.",
        "the sign test in `format_$amount` includes zero",
        "format_$amount(0)",
        "'0.0 $unit'",
        "'-0.0 $unit'",
    ),
    (
        "shorten_long",
        "formatting",
        "shorten",
        'return note[: limit - 3] + "..."',
        'return note[:limit] + "..."',
        'return note[: limit - 1] + "..."',
        "shorten() returns more characters than asked for",
        "`shorten(text, 10)` gives 13 characters, which breaks the table layout.",
        "`shorten` cuts at the limit and then appends three dots on top",
        "len(shorten('a' * 50, 10))",
        "10",
        "13",
    ),
    (
        "zero_override",
        "config",
        "merge_settings",
        "if value is not None:",
        "if value:",
        "if value or name in base:",
        "A setting of zero is ignored",
        "`retries = 0` in an override has no effect, the default stays in force.",
        "`merge_settings` tests the truth of the value, so 0 and False count as missing",
        "merge_settings({'retries': 3}, {'retries': 0})['retries']",
        "0",
        "3",
    ),
    (
        "equals_in_value",
        "config",
        "read_settings",
        'name, value = line.split("=", 1)',
        'name, value = line.split("=")[:2]',
        'name, value = line.rsplit("=", 1)',
        "Values that hold an equals sign are cut",
        "`token = a=b` is read as `a`.",
        "`read_settings` splits at every equals sign and keeps the first two parts",
        "read_settings(['token = a=b'])['token']",
        "'a=b'",
        "'a'",
    ),
    (
        "touching_windows",
        "schedule",
        "overlaps",
        "return first[0] < second[1] and second[0] < first[1]",
        "return first[0] <= second[1] and second[0] <= first[1]",
        "return first[0] < second[1] or second[0] < first[1]",
        "Windows that only touch are reported as overlapping",
        "`overlaps((0, 60), (60, 120))` is true although the end is not part of a window.",
        "`overlaps` compares with `<=`, which counts the shared end minute",
        "overlaps((0, 60), (60, 120))",
        "False",
        "True",
    ),
    (
        "midnight",
        "schedule",
        "next_due",
        "return due % MINUTES_PER_DAY",
        "return due",
        "return min(due, MINUTES_PER_DAY)",
        "next_due() returns minute 1440 just before midnight",
        "At minute 1435 with `every=15` the next due minute should be 0, the function answers 1440.",
        "`next_due` does not wrap around at the end of the day",
        "next_due(1435, 15)",
        "0",
        "1440",
    ),
    (
        "last_page",
        "client",
        "fetch_all",
        "for page in range(1, pages + 1):",
        "for page in range(1, pages):",
        "for page in range(0, pages):",
        "The last page is never fetched",
        "`fetch_all(3)` returns the $things of pages 1 and 2 only.",
        "the loop in `fetch_all` uses `range(1, pages)`, which stops one page early",
        "len(${Thing}Client(two_per_page).fetch_all(3))",
        "6",
        "4",
    ),
    (
        "pause_last",
        "client",
        "fetch_page",
        "if attempt < self.retries:",
        "if attempt <= self.retries:",
        "if attempt < self.retries - 1:",
        "The client sleeps once more after the last attempt",
        "With `retries=1` two pauses are made although only one retry follows.",
        "`fetch_page` also pauses when no attempt is left, because of `<=`",
        "pauses(${Thing}Client, retries=1)",
        "1",
        "2",
    ),
    (
        "zero_missing",
        "validate",
        "missing_fields",
        "if record.get(name) is None]",
        "if not record.get(name)]",
        "if name not in record or not record[name]]",
        "A $amount of zero is reported as missing",
        "`validate_$thing` raises `missing: $amount` for a record whose $amount is 0.",
        "`missing_fields` tests the truth of the value, so zero counts as absent",
        "missing_fields({'$key': 'north', '$amount': 0})",
        "[]",
        "['$amount']",
    ),
    (
        "upper_bound",
        "validate",
        "in_range",
        "return low <= value <= high",
        "return low <= value < high",
        "return low < value <= high",
        "The upper bound itself is rejected",
        "A record with exactly the highest allowed $amount is refused.",
        "`in_range` leaves the upper bound out",
        "in_range(1000.0, 0.0, 1000.0)",
        "True",
        "False",
    ),
    (
        "empty_mean",
        "report",
        "mean",
        "return 0.0",
        "return None",
        "return float('nan')",
        "mean() of no $things is None",
        "The weekly report crashes for an empty $place because `mean([])` returns None.",
        "`mean` returns None for no records while callers add the result",
        "mean([])",
        "0.0",
        "None",
    ),
    (
        "tie_order",
        "report",
        "top",
        'ranked = sorted(records, key=lambda record: -record["$amount"])',
        'ranked = sorted(records, key=lambda record: record["$amount"])[::-1]',
        'ranked = sorted(records, key=lambda record: record["$key"])',
        "top() lists later records first when the $amount is equal",
        "Two $things with the same $amount come out in reverse order.",
        "`top` sorts upwards and reverses, which also reverses ties",
        "[r['$key'] for r in top(ties)]",
        "['a', 'b']",
        "['b', 'a']",
    ),
)


def _fill(text: str, words: dict[str, str]) -> str:
    return Template(text).safe_substitute(words)


def _test_file(module: str, words: dict[str, str], checks: list[str]) -> str:
    symbols = [fault[2] for fault in _FAULTS if fault[1] == module]
    names = dict.fromkeys(
        words["Thing"] + {"store": "Store", "client": "Client"}[module] if module in ("store", "client") else symbol
        for symbol in symbols
    )
    if module == "parser":
        names = dict.fromkeys([*names, "parse_line"])
    lines = [f'"""Tests of {words["package"]}.{module}."""', ""]
    lines.append(f"from {words['package']}.{module} import {', '.join(_fill(name, words) for name in names)}")
    if checks:
        lines.append(f"from {words['package']} import {module} as subject")
    lines.append("from helpers import error_line, pauses, ties, two_per_page  # noqa: F401")
    for fault in _FAULTS:
        if fault[1] != module:
            continue
        check = _fill(fault[9], words)
        *statements, result = check.split("; ")
        lines += ["", "", f"def test_{fault[0]}():"]
        lines += [f"    {statement}" for statement in statements]
        lines.append(f"    assert {result} == {_fill(fault[10], words)}")
    for check in checks:
        lines += ["", "", *check.strip("\n").split("\n")]
    lines += ["", "", f"def test_{module}_has_documentation():"]
    lines.append(f"    assert __import__({words['package'] + '.' + module!r}, fromlist=['x']).__doc__")
    return "\n".join(lines) + "\n"


_TEST_HELPERS = '''"""Small stand-ins that several tests share."""

ties = [{"$key": "a", "$amount": 5}, {"$key": "b", "$amount": 5}]


def two_per_page(page):
    """Answer every page with two items."""
    return 200, [page * 10, page * 10 + 1]


def pauses(client_class, retries):
    """Return how often a client pauses when every answer is a server error."""
    seen = []
    client = client_class(lambda page: (503, []), retries=retries, pause=seen.append)
    try:
        client.fetch_page(1)
    except Exception:
        pass
    return len(seen)


def error_line(function, text):
    """Return the line number that a syntax error carries."""
    try:
        function(text)
    except Exception as error:
        return error.args[1]
    return None
'''


@cache
def repositories(scale: str) -> tuple[Repository, ...]:
    """All repositories; `scale` is `full` or `small` (modules without the generic helpers)."""
    made = []
    for index, (owner, name, package, thing, things, key, amount, unit, place) in enumerate(_REPOSITORIES):
        words = {
            "name": name,
            "package": package,
            "PACKAGE": package.upper(),
            "thing": thing,
            "things": things,
            "Thing": thing.capitalize(),
            "Things": things.capitalize(),
            "key": key,
            "amount": amount,
            "unit": unit,
            "place": place,
        }
        files: dict[str, str] = {}
        for position, (module, core) in enumerate(_MODULES.items()):
            text = _fill(core, words)
            checks: list[str] = []
            for step in range(26 + (index + position) % 5 if scale == "full" else 0):
                aspect = _ASPECTS[(index + position * 2 + step // len(_HELPERS)) % len(_ASPECTS)]
                number = (index * 3 + position + step) % len(_HELPERS)
                local = words | {"aspect": aspect, "Aspect": aspect.capitalize()}
                text += _fill(_HELPERS[number], local)
                checks.append(_fill(_HELPER_TESTS[number], local))
            files[f"{package}/{module}.py"] = text
            files[f"tests/test_{module}.py"] = _test_file(module, words, [c for c in checks if c][:9])
        for path, text in (
            (f"{package}/__init__.py", _INIT),
            (f"{package}/cli.py", _CLI),
            (f"{package}/errors.py", _ERRORS),
            (f"{package}/models.py", _MODELS),
            ("tests/helpers.py", _TEST_HELPERS),
            ("README.md", _README),
            ("CHANGES.md", _CHANGES),
            ("docs/usage.md", _USAGE),
            ("pyproject.toml", _PROJECT),
        ):
            files[path] = _fill(text, words)
        files["data/sample.bin"] = f"{package.upper()[:4]}\x00\x01\x02{thing}\x00"
        ordered = dict(sorted(files.items()))
        made.append(Repository(owner, name, package, words, ordered, has_pytest=index % 5 != 4))
    return tuple(made)


@cache
def issues(scale: str) -> tuple[Issue, ...]:
    """Every (repository, fault) pair as a task whose files hold the fault."""
    made = []
    for fault_index, row in enumerate(_FAULTS):
        for repository in repositories(scale):
            module = row[1]
            filled = [_fill(part, repository.words) for part in row]
            fault = Fault(
                filled[0],
                filled[2],
                filled[3],
                filled[4],
                filled[5],
                filled[6],
                filled[7],
                filled[8],
                filled[9],
                filled[10],
                filled[11],
                f"test_{filled[0]}",
            )
            path = f"{repository.package}/{module}.py"
            healthy = repository.files[path]
            place = healthy.index(fault.good, healthy.index(f"def {fault.symbol}("))
            planted = healthy[:place] + fault.bad + healthy[place + len(fault.good) :]
            line = planted.count("\n", 0, place) + 1
            files = repository.files | {path: planted}
            key = f"{repository.owner}__{repository.name}-{100 + fault_index * 7 + len(repository.name)}"
            made.append(Issue(key, repository, module, path, f"tests/test_{module}.py", fault, line, files))
    return tuple(made)
