"""The defects that are planted: small changes of Python expressions and statements, and of named SQL statements.

Each is one that a person could make. Left out: texts that only people read (docstrings, messages of errors, help),
annotations, `if TYPE_CHECKING`, and migrations, which `tests/ledger/schemas.py` compares with the whole schema.
"""

from __future__ import annotations

import ast
import copy
import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    file: str  # below the root
    line: int
    reached_by: tuple[int, ...]  # the lines whose tests judge it
    kind: str
    begin: int  # what is replaced, in bytes
    end: int
    new: str
    names: tuple[str, ...] = ()  # what a line outside functions assigns to

    def apply(self, text: str) -> str:
        raw = text.encode()
        return (raw[: self.begin] + self.new.encode() + raw[self.end :]).decode()

    def diff(self, text: str) -> str:
        changed = difflib.unified_diff(text.splitlines(), self.apply(text).splitlines(), lineterm="", n=0)
        return "\n".join(line.rstrip() for line in list(changed)[2:] if not line.startswith("@@"))


_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_READ_BY_PEOPLE = {"help", "short_help", "metavar", "description", "reason", "__all__", "__slots__", "doc", "title"}


class _Python(ast.NodeVisitor):
    """All changes of one module, as (kind, changed node, node that replaces it or None for `pass`)."""

    def __init__(self) -> None:
        self.found: list[tuple[str, ast.expr | ast.stmt, ast.AST]] = []

    def _note(self, kind: str, node: ast.expr | ast.stmt, change: Callable[[ast.AST], ast.AST | None]) -> None:
        twin = copy.deepcopy(node)
        self.found.append((kind, node, change(twin) or twin))

    def _set(self, kind: str, node: ast.expr | ast.stmt, **fields: object) -> None:
        self._note(kind, node, lambda twin: [setattr(twin, name, value) for name, value in fields.items()] and None)

    # -- what is passed over

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass  # positions inside are not those of the file

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and ast.unparse(node.annotation) != "TypeAlias":
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring, or the three dots of a protocol
            self.visit(statement)

    def visit_Module(self, node: ast.Module) -> None:
        self._body([part for part in node.body if not isinstance(part, ast.Import | ast.ImportFrom)])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not any(ast.unparse(base).startswith("Protocol") for base in node.bases):
            self._body(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for value in [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]:
            self.visit(value)
        if not any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list):
            self._body(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _READ_BY_PEOPLE:
            self.visit(node.value)

    # -- expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        self._set("comparison", node, ops=[_COMPARED[type(node.ops[0])](), *node.ops[1:]])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._set("boolean", node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            self._note("dropped condition", node, lambda twin, rest=rest: _joined(twin, rest))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._note("not", node, lambda twin: twin.operand)  # type: ignore[attr-defined]
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.BitOr) and _is_type(node):
            return
        sides = (node.left, node.right)
        if isinstance(node.op, ast.Add | ast.Mod) and any(isinstance(s, ast.JoinedStr | ast.List | ast.Tuple) or
                                                          _is_text(s) for s in sides):  # fmt: skip
            self._note("arithmetic", node, lambda twin: twin.left)  # type: ignore[attr-defined]
        elif type(node.op) in _COMPUTED:
            self._set("arithmetic", node, op=_COMPUTED[type(node.op)]())
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._set("constant", node, value=not value)
        elif isinstance(value, int | float):
            self._set("constant", node, value=value + 1)
        elif isinstance(value, str | bytes):
            other = value + (b"XX" if isinstance(value, bytes) else "XX") if value else value.__class__(b"X".decode() if isinstance(value, str) else b"X")  # noqa: E501  # fmt: skip
            self._set("text", node, value=other)

    def visit_Call(self, node: ast.Call) -> None:
        name = ast.unparse(node.func)
        if name in ("TypeVar", "cast", "click.option", "click.argument", "warnings.warn", "logger.warning"):
            return
        if len(node.args) >= 2 and not any(isinstance(part, ast.Starred) for part in node.args[:2]):
            if name not in ("isinstance", "getattr", "setattr", "hasattr") and ast.dump(node.args[0]) != ast.dump(
                node.args[1]
            ):
                self._set("swapped arguments", node, args=[node.args[1], node.args[0], *node.args[2:]])
        for i, given in enumerate(node.keywords):
            if given.arg is not None and given.arg not in _READ_BY_PEOPLE:
                self._set("dropped argument", node, keywords=node.keywords[:i] + node.keywords[i + 1 :])
        self.generic_visit(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        for i, generator in enumerate(node.generators):
            if generator.ifs:
                self._note("dropped condition", node, lambda twin, i=i: twin.generators[i].ifs.clear())  # type: ignore[attr-defined]
        self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    # -- statements

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            self._note("not", test, lambda twin: ast.UnaryOp(ast.Not(), twin))  # type: ignore[arg-type]

    def visit_If(self, node: ast.If | ast.While) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self._negate(node.test)
        self.visit(node.test)
        self._body(node.body)
        self._body(node.orelse)

    visit_While = visit_If

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._set("return value", node, value=ast.Constant(None))
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call | ast.Await):
            self._note("deleted statement", node, lambda twin: ast.Pass())
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if names & _READ_BY_PEOPLE:
            return
        if not names and all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._note("deleted statement", node, lambda twin: ast.Pass())
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._note("deleted statement", node, lambda twin: ast.Pass())
        if type(node.op) in _COMPUTED:
            self._set("arithmetic", node, op=_COMPUTED[type(node.op)]())
        self.visit(node.value)

    def visit_Continue(self, node: ast.Continue | ast.Break) -> None:
        self._note("deleted statement", node, lambda twin: ast.Pass())

    visit_Break = visit_Continue

    def visit_Raise(self, node: ast.Raise) -> None:
        self._note("deleted statement", node, lambda twin: ast.Pass())
        if isinstance(node.exc, ast.Call) and not (
            isinstance(node.exc.func, ast.Name) and node.exc.func.id == "RuntimeError"
        ):
            wrong = ast.Call(ast.Name("RuntimeError"), node.exc.args, [])
            self._set("exception class", node, exc=wrong)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            rest = ast.Tuple(node.type.elts[1:]) if isinstance(node.type, ast.Tuple) else ast.Name("ZeroDivisionError")
            self._note("exception class", node.type, lambda twin: rest)
        self._body(node.body)

    def visit_With(self, node: ast.With) -> None:
        if len(node.items) == 1 and node.items[0].optional_vars is None:
            self._note("deleted guard", node.items[0].context_expr, lambda twin: ast.parse("__import__('contextlib').nullcontext()").body[0].value)  # type: ignore[attr-defined]  # noqa: E501  # fmt: skip
        self.generic_visit(node)


def _joined(twin: ast.AST, rest: list[ast.expr]) -> ast.AST:
    assert isinstance(twin, ast.BoolOp)
    return rest[0] if len(rest) == 1 else ast.BoolOp(twin.op, rest)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _is_type(node: ast.expr) -> bool:
    """Whether `a | b` names types (`str | None`): with a capital, in quotes, None or a built-in class."""
    if isinstance(node, ast.BinOp):
        return _is_type(node.left) and _is_type(node.right)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return isinstance(node, ast.Subscript | ast.Constant) or name[:1].isupper() or name in _BUILT_IN


_BUILT_IN = ("str", "bytes", "int", "float", "bool", "list", "dict", "tuple", "set")


def of_python(file: str, text: str) -> Iterator[Mutant]:
    tree = ast.parse(text)
    visitor = _Python()
    visitor.visit(tree)
    raw = text.encode()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mentions = _mentions(tree)
    for kind, node, other in visitor.found:
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        new = ast.unparse(ast.fix_missing_locations(other))
        if isinstance(node, ast.expr) and not isinstance(other, ast.Constant | ast.Name | ast.Call):
            new = f"({new})"
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if raw[begin:end].decode() != new:
            names, used = mentions.get(node.lineno, ((), tuple(lines)))
            yield Mutant(file, node.lineno, used, kind, begin, end, new, names)


def _mentions(tree: ast.Module) -> dict[int, tuple[tuple[str, ...], tuple[int, ...]]]:
    """For lines outside functions, which run on import only: the names they assign to, and where these are used."""
    used: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            used.setdefault(node.id if isinstance(node, ast.Name) else node.attr, set()).add(node.lineno)
    blocks: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    assigned: list[tuple[range, set[str]]] = []
    for statement in [statement for block in blocks for statement in block.body]:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if names:
            assigned.append((range(statement.lineno, (statement.end_lineno or 0) + 1), names))
    found = {}
    for place, own in assigned:
        names, lines = set(own), set[int]()
        while more := set[int]().union(*(used[name] for name in names)) - lines:
            lines |= more
            names |= {name for other, theirs in assigned if more.intersection(other) for name in theirs}
        found.update(dict.fromkeys(place, (tuple(sorted(names)), tuple(sorted(lines)))))
    return found


_TERM = r"[\w.]+(?:\([^()]*\))? (?:=|<>|!=|<=|>=|<|>|is not|is) (?:any\([^()]*\)|:?[\w.]+(?:\([^()]*\))?|'[^']*')"
_SQL: list[tuple[str, str, str]] = [
    ("sql condition", rf"\band {_TERM}(?= and\b| or\b|\)|\s*$| order| limit| for| union| on|;)", ""),
    ("sql condition", rf"(?<=where ){_TERM} and ", ""),
    ("sql condition", r"\bis not null\b", "is null"),
    ("sql condition", r"\bis null\b", "is not null"),
    ("sql condition", r"\bnot exists\b", "exists"),
    ("sql condition", r"(?<!not )\bexists \(", "not exists ("),
    ("sql comparison", r"(?<= )<(?= )", "<="),
    ("sql comparison", r"(?<= )<=(?= )", "<"),
    ("sql comparison", r"(?<= )>(?= )", ">="),
    ("sql comparison", r"(?<= )>=(?= )", ">"),
    ("sql comparison", r"(?<= )<>(?= )", "="),
    ("sql order", r"order by [\w., ]+?(?= limit|\)|$)", ""),
    ("sql order", r" desc\b", ""),
    ("sql order", r"(?<![:+] )(?<!:)\blimit :?\w+", ""),
    ("sql conflict", r"on conflict do nothing", ""),
    ("sql conflict", r"do update set .*", "do nothing"),
    ("sql conflict", r"\bfor update\b", ""),
    ("sql value", r"\bdistinct ", ""),
    ("sql value", r"\bmax\(", "min("),
    ("sql value", r"\bmin\(", "max("),
    ("sql value", r"\bunion all\b", "union"),
    ("sql value", r"\bleft join\b", "join"),
    ("sql value", r"(?<= )\+ 1\b", "+ 2"),
    ("sql value", r"(?<= )- 1\b", "- 2"),
    ("sql value", r"'(\w+)'", r"'\1x'"),
    ("sql value", r", \w+ = (?:null|:\w+|\w+ [+-] [:\w]+)(?=,|\s*$| where)", ""),
]  # fmt: skip


# Numbers that are unique in the whole database: beside one of them the tenant decides nothing.
_UNIQUE = re.compile(r"\b(?:thread|source|workspace|snap|change) = :?\w")


def of_sql(file: str, text: str) -> Iterator[Mutant]:
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        for kind, pattern, new in _SQL if not line.startswith("--") else ():
            for match in re.finditer(pattern, line):
                if "tenant = :tenant" in match[0] and _UNIQUE.search(line):
                    continue
                start = begin + len(line[: match.start()].encode())
                yield Mutant(file, number, (number,), kind, start, start + len(match[0].encode()), match.expand(new))
        begin += len(line.encode()) + 1


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    text = (root / file).read_text("utf-8")
    yield from (of_sql if file.endswith(".sql") else of_python)(file, text)
