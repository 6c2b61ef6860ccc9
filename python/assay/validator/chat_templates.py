"""Rendering a chat template as the validators do, for templates that nobody vouches for (contract sn120 B.1).

The one module of this package that needs more than the standard library: the templates are jinja2's.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

RENDERED_CHARACTERS = 50_000_000
NESTED_LOOPS = 2

# The sandbox keeps a template away from Python, but not from our time and memory. So only such templates are
# rendered as walk over their messages and print them: no loop over anything else, no value that grows.
_ALLOWED_NODES: tuple[type[nodes.Node], ...] = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.For, nodes.If, nodes.Assign),
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter, nodes.Test, nodes.Call),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Add, nodes.Sub, nodes.Neg),
    *(nodes.Concat, nodes.CondExpr, nodes.List, nodes.Tuple, nodes.NSRef, nodes.Keyword),
)
_GROWING_NODES = (nodes.Add, nodes.Concat, nodes.List, nodes.Tuple)
_ALLOWED_FILTERS = frozenset(("default", "first", "last", "length", "lower", "string", "trim", "upper"))
_ALLOWED_CALLS = frozenset(("raise_exception", "namespace"))
_ALLOWED_METHODS = frozenset(("strip", "lstrip", "rstrip", "startswith", "endswith", "upper", "lower", "get", "split"))


class TemplateRefusedError(ValueError):
    """A template that is broken, raises, or does what we do not let a template do; the text says which."""


def _raise_exception(message: object = "") -> NoReturn:
    raise TemplateRefusedError(f"the template raised: {message}")


def _is_messages(node: nodes.Node, names: Collection[str]) -> bool:
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
        node = node.node
    return isinstance(node, nodes.Name) and node.name in names


def _names_of_messages(tree: nodes.Node) -> Collection[str]:
    """Return `messages` and the names that never stand for anything but a part of them."""
    assigned: dict[str, list[nodes.Node]] = {}
    for node in tree.find_all(nodes.Assign):
        if isinstance(node.target, nodes.Name):
            assigned.setdefault(node.target.name, []).append(node.node)
    walked = {loop.target.name for loop in tree.find_all(nodes.For) if isinstance(loop.target, nodes.Name)}
    names = {name for name, values in assigned.items() if all(_is_messages(value, {"messages"}) for value in values)}
    return ({"messages"} - assigned.keys() - walked) | (names - walked - {"messages"})


def _check(node: nodes.Node, names: Collection[str], loops: int) -> None:
    if not isinstance(node, _ALLOWED_NODES):
        raise TemplateRefusedError(f"a template may not use {type(node).__name__}")
    if isinstance(node, nodes.Filter) and node.name not in _ALLOWED_FILTERS:
        raise TemplateRefusedError(f"a template may not use the filter {node.name}")
    if isinstance(node, nodes.Call):
        called = node.node
        method = isinstance(called, nodes.Getattr) and called.attr in _ALLOWED_METHODS
        if not method and not (isinstance(called, nodes.Name) and called.name in _ALLOWED_CALLS):
            raise TemplateRefusedError("a template may only call plain methods of text and raise_exception")
    if isinstance(node, nodes.Assign | nodes.Keyword):
        value = node.node if isinstance(node, nodes.Assign) else node.value
        if isinstance(value, _GROWING_NODES) or any(True for _ in value.find_all(_GROWING_NODES)):
            raise TemplateRefusedError("a template may not keep a value it has put together")
    if isinstance(node, nodes.For):
        loops += 1
        if node.recursive or loops > NESTED_LOOPS or not _is_messages(node.iter, names):
            raise TemplateRefusedError("a template may only loop over its messages")
    for child in node.iter_child_nodes():
        _check(child, names, loops)


@lru_cache(maxsize=16)
def _compiled(source: str) -> Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, autoescape=False)
    environment.globals = {"raise_exception": _raise_exception, "namespace": Namespace}
    tree = environment.parse(source)
    _check(tree, _names_of_messages(tree), 0)
    return environment.from_string(source)


def render_prompt(source: str, messages: Sequence[Mapping[str, Any]], limit: int = RENDERED_CHARACTERS) -> str:
    """Return the messages rendered by a chat template, with the generation prompt added.

    Raises TemplateRefusedError (a ValueError) for a template that is broken, raises an error, uses what only
    harm needs, or prints more than `limit` characters.
    """
    pieces: list[str] = []
    room = limit
    try:
        for piece in _compiled(source).generate(messages=list(messages), add_generation_prompt=True):
            room -= len(piece)
            if room < 0:
                raise TemplateRefusedError(f"a template printed more than {limit} characters")
            pieces.append(piece)
    except TemplateRefusedError:
        raise
    except Exception as error:  # a template can raise whatever its operations raise
        raise TemplateRefusedError(f"the template cannot be rendered: {error}") from error
    return "".join(pieces)
