"""Chat templates that nobody vouches for, rendered in a sandbox that also counts what they do.

Prompts of the teacher (contract: sn120, B.1) and rows of the mixes (contract: exports, 3a) come from here. The sandbox
keeps a template away from Python, but not from our time and memory: so every pass through a loop or a macro is counted,
and no value may outgrow a limit.
"""

import datetime
import functools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jinja2 import Template, nodes, pass_context
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from assay.errors import AssayError

RENDERED_CHARACTERS = 50_000_000
SECONDS, SECONDS_A_MESSAGE, SECONDS_A_MEGABYTE = 60.0, 0.005, 2.0
"""Processor time that a template may take in all its renders together: so much, and so much more for every message and
every million characters it is given, a hundred times what published ones take. What is counted ends most templates long
before; one that takes longer stops the build, and says so.
"""
TODAY = datetime.date(2025, 1, 1)
"""What `strftime_now` prints unless a date is set (var `chat_template_date`): the same rows today and tomorrow."""

# A template may walk over all messages a few times for each of them, and over what it has set itself.
_TICKS, _TICKS_A_MESSAGE, _TICKS_A_PAIR = 10_000, 500, 4
_BITS = 256
_NESTED = 100
_FORMAT_CHARACTERS = 100
# A C library pads a field to any width that a format names, so none may.
_FORMAT = re.compile(r"(?:[^%]|%-?[aAbBcdfHIjmMpSUwWxXyYzZ%])*")
_PARTS = 1_000_000
_TICK, _JOIN, _MEASURE = "assay_counts_a_pass", "assay_joins_texts", "assay_measures_a_list"

_FILTERS = frozenset(
    "capitalize count d default dictsort e escape first float indent int items join last length list lower map max min "
    "reject rejectattr replace reverse safe select selectattr sort string title tojson trim unique upper".split()
)
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        "capitalize count endswith find index isalnum isalpha isdigit isspace join lower lstrip partition removeprefix "
        "removesuffix replace rfind rpartition rsplit rstrip split splitlines startswith strip title upper".split()
    ),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
    int: frozenset(),
    float: frozenset(),
    bytes: frozenset(),
}


class TemplateRefusedError(ValueError):
    """A template that is broken, raises, or does what we do not let a template do; the text says which."""


class ChatTemplate:
    """A chat template, compiled once; `render` may be called any number of times, from one thread."""

    def __init__(self, source: str, variables: Mapping[str, Any] | None = None, today: datetime.date = TODAY) -> None:
        """Take the template's source, what it may name besides its messages (`eos_token`), and its date of today."""
        self._variables = {"tools": None, "documents": None, **(variables or {})}
        self._environment = _Environment(today)
        self._n_renders, self._seconds_left = 0, SECONDS
        self._fault: str | None = None
        self._template: Template | None = None
        try:
            self._template = self._environment.prepared(source)
        except TemplateRefusedError as error:
            self._fault = str(error)
        except Exception as error:  # any fault of the source, at any depth of the parser
            self._fault = f"the template cannot be read: {error}"

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        add_generation_prompt: bool = False,
        limit: int = RENDERED_CHARACTERS,
    ) -> str:
        """Return the messages as the template prints them.

        Raises TemplateRefusedError (a ValueError) when the template is broken, raises, prints more than `limit`
        characters, builds a longer value, or loops further than its messages give reason to; AssayError when its
        renders together have taken longer than they may.
        """
        if self._template is None:
            raise TemplateRefusedError(str(self._fault))
        ticks = _TICKS + _TICKS_A_MESSAGE * len(messages) + _TICKS_A_PAIR * len(messages) ** 2
        n_characters = sum(len(str(value)) for message in messages for value in message.values())
        self._seconds_left += SECONDS_A_MESSAGE * len(messages) + SECONDS_A_MEGABYTE * n_characters / 1_000_000
        self._n_renders += 1
        started = time.thread_time()
        self._environment.begin(ticks, limit, started + self._seconds_left)
        pieces: list[str] = []
        room = limit
        try:
            for piece in self._template.generate(
                messages=list(messages), add_generation_prompt=add_generation_prompt, **self._variables
            ):
                room -= len(piece)
                self._environment.check_time()
                if room < 0:
                    raise TemplateRefusedError(f"a template printed more than {limit} characters")
                pieces.append(piece)
        except _OutOfTimeError:
            raise AssayError(
                f"the chat template took {SECONDS:.0f} seconds and more of processor time within its first "
                f"{self._n_renders} renders: use another one"
            ) from None
        except TemplateRefusedError:
            raise
        except Exception as error:  # a template can raise whatever its operations raise
            raise TemplateRefusedError(f"the template cannot be rendered: {error}") from error
        finally:
            self._seconds_left -= time.thread_time() - started
        return "".join(pieces)


class _OutOfTimeError(Exception):
    """The renders of a template have taken longer than they may."""


class _Generation(Extension):
    """`{% generation %}` marks what an assistant says, for trainers that ask the template; here it prints its body."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Counting(NodeTransformer):
    """Counts passes through loops and macros, joins texts through a function that knows the limit, and measures every
    list that is written down, since lists in lists grow without one long one among them.
    """

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named by jinja2's visitor
        return self._with_tick(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        return self._with_tick(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        return self._with_tick(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        first, *rest = node.nodes
        return nodes.Filter(first, _JOIN, rest, [], None, None, lineno=node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802
        return self._measured(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802
        return self._measured(node) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802
        return self._measured(node)

    def _measured(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        return nodes.Filter(node, _MEASURE, [], [], None, None, lineno=node.lineno)

    def _with_tick(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        # A filter, since a call of the sandbox takes longer than most that a loop does; one that takes the context is
        # never worked out ahead.
        tick = nodes.Filter(nodes.Const(None), _TICK, [], [], None, None, lineno=node.lineno)
        node.body.insert(0, nodes.ExprStmt(tick, lineno=node.lineno))
        result: nodes.Node = node
        return result


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset(("+", "*", "**", "%", "-", "//"))

    def __init__(self, today: datetime.date) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, autoescape=False, extensions=[LoopControlExtension, _Generation]
        )
        self.globals = {
            "raise_exception": _raise_exception,
            "namespace": Namespace,
            "range": safe_range,
            "dict": lambda *pairs, **named: self._measured(dict(*pairs, **named)),
            "strftime_now": functools.partial(_formatted, datetime.datetime.combine(today, datetime.time())),
        }
        self.filters = {name: function for name, function in self.filters.items() if name in _FILTERS}
        self.filters |= {
            "tojson": self._to_json,
            "indent": _indent,
            "join": self._limited(self.filters["join"]),
            "replace": self._limited(self.filters["replace"]),
            _TICK: pass_context(lambda _, __: self._tick()),
            _JOIN: pass_context(lambda _, *values: self._join(*values)),
            _MEASURE: pass_context(lambda _, value: self._measured(value)),
            "list": self._measuring(self.filters["list"]),
            "sort": self._measuring(self.filters["sort"]),
        }
        self.begin(0, 0, 0.0)

    def begin(self, ticks: int, limit: int, ends: float) -> None:
        self.ticks_left, self.limit, self._ends = ticks, limit, ends
        # By identity, with the list itself, so that no other one can take its place while the template runs.
        self._sizes: dict[int, tuple[Any, int]] = {}

    def prepared(self, source: str) -> Template:
        tree = self.parse(source)
        if any(True for _ in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))):
            raise TemplateRefusedError("a template may not take in another one")
        # jinja2 compiles a tree as well as a source; only its types do not say so.
        counted: Any = _Counting().visit(tree)
        code: Any = self.compile(counted)
        return Template.from_code(self, code, self.make_globals(None))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, allowed in _METHODS.items():
            if isinstance(obj, kind):
                return attr in allowed
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        # A format can ask for any width; without its wrapper it is one of the methods that are not allowed.
        return None

    def call(self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        owner, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "")
        if isinstance(owner, str) and name in ("join", "replace"):
            self._check_growth(name, owner, args)
        return super().call(__context, __obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or (operator == "%" and isinstance(left, str | bytes)):
            raise TemplateRefusedError(f"a template may not use {operator} here")
        if isinstance(left, int) and isinstance(right, int):
            if left.bit_length() + right.bit_length() > _BITS:
                raise TemplateRefusedError("a template may not count that far")
        elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            self._check_size(self._size_of(left) + self._size_of(right))
        elif operator == "*":
            count, value = (left, right) if isinstance(left, int) else (right, left)
            if hasattr(value, "__len__"):
                self._check_size(self._size_of(value) * abs(int(count)))
                self._check_parts(0 if isinstance(value, str | bytes) else len(value) * abs(int(count)))
        return self._measured(super().call_binop(context, operator, left, right))

    def _to_json(
        self,
        value: Any,
        ensure_ascii: bool = False,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """As transformers has it: plain JSON, without the escapes for HTML of jinja2's own."""
        width = len(indent) if isinstance(indent, str) else indent or 0
        if not isinstance(width, int) or not 0 <= width <= _NESTED:
            raise TemplateRefusedError("a template may not indent that far")
        longest = max((len(str(one)) for one in separators or ()), default=2)
        self._check_size(self._size_of(value) * max(longest, 1 + width * _depth(value) if width else 1))
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def _tick(self) -> None:
        self.ticks_left -= 1
        if self.ticks_left < 0:
            raise TemplateRefusedError("the template loops further than its messages give reason to")
        self.check_time()

    def check_time(self) -> None:
        if time.thread_time() > self._ends:
            raise _OutOfTimeError

    def _join(self, *values: Any) -> str:
        texts = [str(value) for value in values]
        self._check_size(sum(map(len, texts)))
        return "".join(texts)

    def _measured(self, value: Any) -> Any:
        self._check_size(self._size_of(value))
        return value

    def _size_of(self, value: Any) -> int:
        """Characters and parts that a value would print, its lists in lists counted as often as they stand there."""
        if isinstance(value, str | bytes):
            return len(value)
        if isinstance(value, Namespace):
            raise TemplateRefusedError("a template may not put a namespace into a list")
        if not isinstance(value, list | tuple | dict):
            return 1
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        self._check_parts(len(value))
        size = 1
        for part in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            size += 1 + self._size_of(part)
            self._check_size(size)
        self._sizes[id(value)] = value, size
        return size

    def _check_parts(self, parts: int) -> None:
        if parts > _PARTS:
            raise TemplateRefusedError(f"a template may not build a list of more than {_PARTS} parts")

    def _measuring(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter that makes a list of what it is given, with the length of that known before."""

        @functools.wraps(function)  # jinja2 marks on a filter what it passes it first
        def checked(first: Any, *rest: Any, **named: Any) -> Any:
            value = rest[0] if rest and not isinstance(first, str | bytes | list | tuple | dict) else first
            self._check_parts(len(value) if hasattr(value, "__len__") else 0)
            return self._measured(function(first, *rest, **named))

        return checked

    def _check_size(self, size: int) -> None:
        if size > self.limit:
            raise TemplateRefusedError(f"a template may not build a value of more than {self.limit} parts")

    def _check_growth(self, name: str, text: str, arguments: Sequence[Any]) -> None:
        if name == "join" and arguments:
            parts = list(arguments[0])
            self._check_size(sum(len(str(part)) for part in parts) + len(text) * len(parts))
        elif name == "replace" and len(arguments) > 1:
            self._check_size(len(text) + text.count(str(arguments[0])) * len(str(arguments[1])))

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter whose result can be longer than its input, with its size known before it is made."""
        is_join = function.__name__.endswith("join")

        @functools.wraps(function)  # jinja2 marks on a filter what it passes it first
        def checked(first: Any, value: Any, *rest: Any, **named: Any) -> Any:
            if is_join:
                value = list(value)
                glue = rest[0] if rest else named.get("d", "")
                self._check_growth("join", str(glue), [value])
            else:
                old, new = (*rest, named.get("old", ""), named.get("new", ""))[:2]
                self._check_growth("replace", str(value), [old, new])
            return function(first, value, *rest, **named)

        return checked


def _raise_exception(message: object = "") -> Any:
    raise TemplateRefusedError(f"the template raised: {message}")


def _formatted(now: datetime.datetime, format: object) -> str:
    if not isinstance(format, str) or len(format) > _FORMAT_CHARACTERS or not _FORMAT.fullmatch(format):
        raise TemplateRefusedError("a template may not format a date like that")
    return now.strftime(format)


def _depth(value: Any) -> int:
    """How many lists and objects lie in each other; of a value whose size was checked."""
    if not isinstance(value, list | tuple | dict):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _indent(value: Any, width: int = 4, first: bool = False, blank: bool = False) -> str:
    if not isinstance(width, int) or not 0 <= width <= _NESTED:
        raise TemplateRefusedError("a template may not indent that far")
    return "".join(_indented(str(value), " " * width, first, blank))


def _indented(text: str, space: str, first: bool, blank: bool) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(keepends=True)):
        yield (space if (number or first) and (blank or line.strip()) else "") + line
