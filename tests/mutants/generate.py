"""Small wrong versions of a module: each differs from it in one place, and a good test notices."""

import ast
import builtins
import copy
import difflib
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import CodeType

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
PAIRS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("sum", "mean"),
    ("any", "all"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("lower", "upper"),
]
NAMES = {name: other for pair in PAIRS for name, other in (pair, pair[::-1])}

# What is shown, not computed: tests of texts and plots read them as a whole.
SHOWN = {"__repr__", "_repr_html_", "describe", "plot", "sentences", "title", "remarks"}
# Arguments that change no value: the place a warning points to, an error for a slip of our own, a text, the
# number of processes, a type that arrays of numbers have already, and the order of equals.
WITHOUT_VALUE = {"stacklevel", "strict", "repr", "message", "n_jobs", "dtype", "kind"}
# These work along the last axis unless told otherwise, and arrays have two here.
LAST_AXIS = {"np.sort", "np.argsort", "np.diff", "np.partition", "np.take_along_axis"}
# A number that meets a tolerance exactly may fall on either side of it.
TOLERANCES = {"ROUNDING", "NEGLIGIBLE", "STEP_TOLERANCE", "tolerance"}
BOUNDARIES = ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE})
# Twice a tolerance absorbs rounding as well as the tolerance does.
SMALLEST_NUMBER = 1e-6
# Whole numbers from here are limits of effort (steps, draws, rows): one more is as good.
LARGEST_NUMBER = 50


@dataclass(frozen=True, eq=False)
class Site:
    """A place in a syntax tree and what to put there."""

    parent: ast.AST
    field: str
    index: int | None
    new: ast.AST | list | str

    def swap(self) -> "Site":
        """Put it there; the site that comes back restores what was."""
        holder = getattr(self.parent, self.field)
        if self.index is None:
            setattr(self.parent, self.field, self.new)
            return Site(self.parent, self.field, None, holder)
        old, holder[self.index] = holder[self.index], self.new
        return Site(self.parent, self.field, self.index, old)


@dataclass(frozen=True, eq=False)
class Mutant:
    """One wrong version of one module: a site in one of its statements."""

    file: str
    line: int
    function: str
    kind: str
    tree: ast.Module
    statement: int
    site: Site

    @contextmanager
    def applied(self) -> Iterator[ast.Module]:
        """Be the wrong version for a while."""
        back = self.site.swap()
        try:
            yield self.tree
        finally:
            back.swap()

    def code(self, path: Path) -> CodeType:
        """Compile it, under the name of the right one."""
        with self.applied() as tree:
            return compile(ast.fix_missing_locations(tree), str(path), "exec")

    @cached_property
    def texts(self) -> tuple[str, str]:
        """The statement before and after."""
        before = ast.unparse(self.tree.body[self.statement])
        with self.applied() as tree:
            return before, ast.unparse(tree.body[self.statement])

    @cached_property
    def diff(self) -> list[str]:
        """The lines that differ."""
        before, after = (text.splitlines() for text in self.texts)
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        return [line[:1] + line[1:].strip() for line in lines if line[:3] not in ("---", "+++", "@@ ")]

    @property
    def change(self) -> str:
        """The same on one line."""
        before, after = (" ".join(line[1:] for line in self.diff if line[0] == sign) for sign in "-+")
        return f"{before} => {after}"

    @cached_property
    def key(self) -> str:
        """The same as long as the wrong statement is; lines above may come and go."""
        return hashlib.sha1(f"{self.file}\n{self.texts[1]}".encode()).hexdigest()[:16]


def mutants(source: str, file: str) -> list[Mutant]:
    """All wrong versions of a module, each once."""
    tree = ast.parse(source)
    found = {}
    for number, statement in enumerate(tree.body):
        for function, line, kind, site in _sites(statement, Site(tree, "body", number, statement), "", 0):
            mutant = Mutant(file, line, function, kind, tree, number, site)
            if mutant.diff:
                found.setdefault(mutant.key, mutant)
    return list(found.values())


Found = tuple[str, int, str, Site]


def _sites(node: ast.AST, place: Site, function: str, line: int) -> Iterator[Found]:
    """Everything that can be changed at a node and below, with the name of the function around it."""
    if _left_alone(node) or _is_size_of_chunk(place):
        return
    line = getattr(node, "lineno", line)
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and not isinstance(place.parent, ast.FunctionDef):
        function = f"{function}.{node.name}".lstrip(".")  # what is defined in a function belongs to it
    for kind, new in _replacements(node, place.parent):
        yield function, line, kind, replace(place, new=new)
    for kind, site in _changes(node):
        yield function, line, kind, site
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue  # types and promises to readers
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST):
                yield from _sites(child, Site(node, name, index, child), function, line)


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in SHOWN
    if isinstance(node, ast.keyword):
        return node.arg in WITHOUT_VALUE
    # Lower and upper ends have one shape, and only that is asked for.
    if isinstance(node, ast.Attribute) and node.attr == "shape" and _is_end(node.value):
        return True
    if isinstance(node, ast.Call) and node.args and _is_end(node.args[0]):
        return _called(node) == "len" or _called(node).endswith("_like")
    # Messages: which error is raised is decided by the condition around it.
    return isinstance(node, ast.Raise | ast.JoinedStr) or _called(node) in ("warnings.warn", "field")


def _is_size_of_chunk(place: Site) -> bool:
    """Into how many parts rows are cut, for the sake of memory, changes nothing."""
    return place.field == "args" and place.index == 1 and _called(place.parent).endswith(".chunks")


def _is_end(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("lower", "upper")


def _called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _tolerant(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Name) and each.id in TOLERANCES for each in ast.walk(node))


def _replacements(node: ast.AST, parent: ast.AST) -> Iterable[tuple[str, ast.AST]]:
    """What may stand in place of a node."""
    for other in OPERATORS.get(type(node), ()):
        if not ({type(node), other} in BOUNDARIES and _tolerant(parent)):
            yield "operator", other()
    if isinstance(node, ast.Constant):
        yield from (("number", ast.copy_location(ast.Constant(each), node)) for each in _numbers(node.value))
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield "sign", node.operand
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "statement", ast.copy_location(ast.Pass(), node)


def _numbers(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if not isinstance(value, int | float) or 0 < abs(value) <= SMALLEST_NUMBER:
        return ()
    if value in (0, 1):
        return (type(value)(1 - value),)
    if isinstance(value, int):
        return (value + 1,) if value < LARGEST_NUMBER else ()
    return (2.0 * value,)


def _changes(node: ast.AST) -> Iterable[tuple[str, Site]]:
    """What may change inside a node."""
    # A comparison is turned round by its operator.
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare):
        yield "condition", Site(node, "test", None, ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "name", Site(node, "attr", None, NAMES[node.attr])
    if isinstance(node, ast.Call):
        yield from _calls(node)
    if isinstance(node, ast.FunctionDef):
        yield from _ignored(node)


def _calls(node: ast.Call) -> Iterable[tuple[str, Site]]:
    other = NAMES.get(getattr(node.func, "id", ""), "")
    if hasattr(builtins, other):  # another name would not even be known
        yield "name", Site(node, "func", None, ast.Name(other, ast.Load()))
    for number, keyword in enumerate(node.keywords):
        # To turn a flag round is to drop it.
        flag = isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
        default = keyword.arg == "axis" and _called(node) in LAST_AXIS
        if keyword.arg is not None and keyword.arg not in WITHOUT_VALUE and not flag and not default:
            rest = node.keywords[:number] + node.keywords[number + 1 :]
            yield "argument", Site(node, "keywords", None, rest)
    # Functions of numpy need what they get by position; our own may have a default for it.
    several = len(node.args) > 1 and not _called(node).startswith("np.")
    if several and isinstance(node.args[-1], ast.Name | ast.Attribute):
        yield "argument", Site(node, "args", None, node.args[:-1])


def _ignored(node: ast.FunctionDef) -> Iterable[tuple[str, Site]]:
    """An argument that has a default may be forgotten: the default is then always used."""
    positional = [*node.args.posonlyargs, *node.args.args]
    with_default = list(zip(positional[::-1], node.args.defaults[::-1], strict=False))[::-1]
    with_default += [
        pair for pair in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if pair[1]
    ]
    start = 1 if ast.get_docstring(node, clean=False) is not None else 0
    for argument, default in with_default:
        if argument.arg in WITHOUT_VALUE:
            continue
        reset = ast.Assign([ast.Name(argument.arg, ast.Store())], copy.deepcopy(default), lineno=node.lineno)
        yield "ignored", Site(node, "body", None, [*node.body[:start], reset, *node.body[start:]])
