"""Translator: compiled functions equal Python, and unsupported code is refused with its line."""

from __future__ import annotations

import importlib.util
import random
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from vlane.golden.compiler.build import translated
from vlane.golden.compiler.kernel import Kernel
from vlane.golden.compiler.records import Int16, Int32, Int64, Records, new_records
from vlane.golden.compiler.source import UntranslatableError
from vlane.golden.compiler.types import type_of
from vlane.golden.engine.kernel import by_type, inner, kernel

BITS = 64
WORDS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70)


def wrapped(number: int) -> int:
    """Return the lowest 64 bits of an integer as a signed number."""
    return (int(number) + (1 << 63)) % (1 << BITS) - (1 << 63)


@kernel
def _operators(a: int, b: int, out: NDArray[np.int64]) -> None:
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = a & b
    out[4] = a | b
    out[5] = a ^ b
    out[6] = ~a
    out[7] = -a
    out[8] = min(a, b)
    out[9] = max(a, b, 3)
    out[10] = abs(a)
    out[11] = a < b
    out[12] = a <= b < 5 or not a
    out[13] = a == b
    out[14] = (a > b) + (b > 0) + (a != 7)
    out[15] = a if a > b else b
    out[16] = a and b
    out[17] = a or b
    out[18] = int(bool(a)) - (b in (1, 2, 60))


@given(WORDS, WORDS)
@example(-(1 << 63), -1)
@example((1 << 63) - 1, 1)
def test_operators_are_pythons_modulo_64_bits(a: int, b: int) -> None:
    compiled, plain = np.zeros(19, np.int64), np.zeros(19, object)
    _operators(a, b, compiled)
    _operators.python_function(a, b, plain)  # type: ignore[attr-defined]  # of a kernel

    assert compiled.tolist() == [wrapped(each) for each in plain]


@kernel
def _quotients(a: int, b: int) -> tuple[int, int, int, int, int, int]:
    return a // b, a % b, a // 8, a % 8, a // -3, a % -3


@given(WORDS, WORDS.filter(bool))
@example(-(1 << 63), -1)
@example(-7, 2)
def test_quotients_are_rounded_down(a: int, b: int) -> None:
    plain = (a // b, a % b, a // 8, a % 8, a // -3, a % -3)

    assert _quotients(a, b) == tuple(map(wrapped, plain))


def test_a_division_by_zero_is_pythons_error() -> None:
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        _quotients(1, 0)


@kernel
def _shifts(a: int, count: int) -> tuple[int, int, int, int]:
    return a << count, a >> count, a << 3, a >> 3


@given(WORDS, st.integers(0, 200))
@example(1, 63)
@example(-1, 64)
def test_shifts_are_pythons_modulo_64_bits(a: int, count: int) -> None:
    assert _shifts(a, count) == tuple(map(wrapped, (a << count, a >> count, a << 3, a >> 3)))


@given(WORDS, st.integers(-(1 << 63), -1))
def test_a_negative_shift_is_pythons_error(a: int, count: int) -> None:
    with pytest.raises(ValueError, match="negative shift count"):
        _shifts(a, count)


@kernel
def _unsigned(words: NDArray[np.uint64], count: int, out: NDArray[np.uint64]) -> int:
    a, b = words[0], words[1]
    out[0] = a + b
    out[1] = a * b
    out[2] = a - b
    out[3] = a >> np.uint64(count)
    out[4] = a << np.uint64(count)
    out[5] = a // (b | np.uint64(1))
    out[6] = a % (b | np.uint64(1))
    out[7] = ~a ^ b
    out[8] = np.uint64(a > b)
    out[9] = a if a != 0 else np.uint64(9)
    return int(a)


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1), st.integers(0, 63))
def test_unsigned_numbers_have_64_bits(a: int, b: int, count: int) -> None:
    out = np.zeros(10, np.uint64)
    signed = _unsigned(np.array([a, b], np.uint64), count, out)
    right = [a + b, a * b, a - b, a >> count, a << count, a // (b | 1), a % (b | 1), ~a ^ b, a > b, a or 9]

    assert out.tolist() == [each % (1 << BITS) for each in right]
    assert signed == wrapped(a)


@kernel
def _narrow(
    small: NDArray[np.int32], tiny: NDArray[np.uint8], wide: NDArray[np.uint32], out: NDArray[np.int64]
) -> None:
    out[0] = small[0] * small[1]
    out[1] = small[0] + small[1]
    out[2] = -wide[0]
    out[3] = wide[0] * wide[1]
    out[4] = tiny[0] - tiny[1]
    out[5] = tiny[0] << 60
    out[6] = small[0] < wide[0]
    out[7] = ~tiny[0]
    out[8] = small[0] * 70000


@given(*[st.integers(-(1 << 31), (1 << 31) - 1)] * 2, *[st.integers(0, 255)] * 2, *[st.integers(0, (1 << 32) - 1)] * 2)
def test_narrow_items_are_computed_with_64_bits(a: int, b: int, c: int, d: int, e: int, f: int) -> None:
    out = np.zeros(9, np.int64)
    _narrow(np.array([a, b], np.int32), np.array([c, d], np.uint8), np.array([e, f], np.uint32), out)

    assert out.tolist() == [wrapped(each) for each in (a * b, a + b, -e, e * f, c - d, c << 60, a < e, ~c, a * 70000)]


# random expressions

_BINARY = ("+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>")
_COMPARE = ("<", "<=", "==", "!=", ">", ">=")


class Word:
    """Integer with operators that wrap results to 64 bits."""

    def __init__(self, value: int) -> None:
        self.value = wrapped(value)


def _expression(source: random.Random, depth: int) -> str:
    """Return a random expression of a, b and c with valid divisors and shift counts."""
    if depth == 0 or source.random() < 0.15:
        return source.choice(["a", "b", "c", str(source.randint(-9, 9)), str(source.getrandbits(62)), "-1"])
    kind = source.random()
    one, other = (_expression(source, depth - 1) for _ in range(2))
    if kind < 0.6:
        operator = source.choice(_BINARY)
        if operator in ("//", "%"):
            other = f"({other} | 1)"
        if operator in ("<<", ">>"):
            other = f"({other} & 63)"
        return f"({one} {operator} {other})"
    if kind < 0.7:
        return f"{source.choice('-~')}({one})"
    test = f"{one} {source.choice(_COMPARE)} {other}"
    if kind < 0.8:
        return f"(({test}) + ({other}))"
    if kind < 0.9:
        return f"({one} if {test} else {_expression(source, depth - 1)})"
    return f"{source.choice(['min', 'max'])}({one}, {other})"


def _wrapping(text: str) -> Callable[[int, int, int], int]:
    """Return a function that evaluates an expression and wraps every result to 64 bits."""
    import ast  # noqa: PLC0415 - of this function only

    class Wrap(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            return ast.Call(ast.Name("wrapped", ast.Load()), [node], [])

        visit_UnaryOp = visit_BinOp  # type: ignore[assignment]  # noqa: N815 - ast's name

    tree = ast.fix_missing_locations(Wrap().visit(ast.parse(f"lambda a, b, c: {text}", mode="eval")))
    made: Callable[[int, int, int], int] = eval(compile(tree, "expression", "eval"), {"wrapped": wrapped})  # noqa: S307
    return made


def module_of(folder: Path, text: str, name: str = "translated_here") -> ModuleType:
    """Write a text as a module into a folder and import it."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_are_those_of_python(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)  # noqa: S311 - a repeatable choice
    texts = [_expression(source, 4) for _ in range(80)]
    lines = "".join(f"    out[{place}] = {text}\n" for place, text in enumerate(texts))
    code = f"from vlane.golden.engine.kernel import kernel\n@kernel\ndef run(a, b, c, out):\n{lines}"
    run = module_of(tmp_path, code, f"expressions_{seed}").run
    plain = [_wrapping(text) for text in texts]
    numbers = [0, 1, -1, (1 << 63) - 1, -(1 << 63), 5, -77]

    for _ in range(60):
        words = [source.choice([*numbers, source.getrandbits(64) - (1 << 63)]) for _ in range(3)]
        out = np.zeros(len(texts), np.int64)
        run(*words, out)
        assert out.tolist() == [wrapped(each(*words)) for each in plain]


# statements


class Cell:
    """Record with fields of three sizes."""

    first: Int32
    second: Int16
    third: Int64


class Inner(NamedTuple):
    """Structure nested in another structure."""

    row: NDArray[np.int64]
    bound: int


class Outer(NamedTuple):
    """Structure with records, arrays, a tuple and a flag."""

    inner: Inner
    cells: Records[Cell]
    table: NDArray[np.int32]
    pair: tuple[int, int]
    flag: bool


class Other(NamedTuple):
    """Second type for dispatch on the first argument."""

    row: NDArray[np.int64]


def new_outer() -> Outer:
    """Return a structure filled with numbers."""
    cells = new_records(Cell, 3)
    cells["first"], cells["second"], cells["third"] = [1, 2, 3], [-4, 5, -6], [1 << 40, 0, -1]
    table = np.arange(24, dtype=np.int32).reshape(4, 6)
    return Outer(Inner(np.array([9, 8, 7, 6], np.int64), 2), cells, table, (3, 4), flag=True)


WEIGHTS = (3, 1, 2)
NAMED = Inner


@inner
def _bump(row: NDArray[np.int64]) -> int:
    row[0] += 1
    return int(row[0])


@inner
def _sum_of(state: Outer, more: int) -> int:
    return state.inner.row.sum() + more


@inner
def _length_of(state: Other, more: int) -> int:
    return len(state.row) + more


@by_type({Outer: _sum_of, Other: _length_of})
def _chosen(state: Any, more: int) -> int:
    """Dispatch on the type of the first argument."""


@by_type({Other: _length_of}, default=True)
def _chosen_or_more(state: Any, more: int) -> int:  # noqa: ARG001 - dispatched by type
    """Dispatch on the type of the first argument. The function's body serves all other types."""
    return 7 * more


def _closure(step: int) -> Any:
    @inner
    def stepped(number: int) -> int:
        return number + step

    return stepped


_by_five, _by_seven = _closure(5), _closure(7)


@kernel
def _order(state: Outer, out: NDArray[np.int64]) -> None:
    row = state.inner.row
    out[0] = _bump(row) * 1000 + _bump(row)
    out[1] = row[0] - _bump(row)
    row[1] += _bump(row) + row[1]
    out[2], out[3] = _bump(row), _bump(row)
    out[4] = max(_bump(row), 2 * _bump(row) - row[0])
    one, other = row[0], row[1]
    one, other = other, one
    row[0], row[1] = row[1], row[0]
    out[5], out[6] = one - row[0], other
    row[2] += _bump(row)
    row[0] += _bump(row)
    out[7] = row[0]
    out[8] = _by_five(1) * 100 + _by_seven(1)
    out[9] = _chosen(state, 1) + _chosen(Other(row), 1)
    out[10] = 100 * _chosen_or_more(state, 3) + _chosen_or_more(Other(row), 2)


@kernel
def _loops(state: Outer, out: NDArray[np.int64]) -> None:
    total, last = 0, -1
    for place in range(len(state.table)):
        if place == 2:
            continue
        for column in range(5, 0, -2):
            total += state.table[place, column]
            if column == 3 and place == 3:
                last = column
                break
    out[0], out[1] = total, last
    kept = 0
    while True:
        kept += 1
        if kept % 3 == 0:
            found = kept
        if kept > 7:
            break
    out[2] = found
    for number in range(3):
        number = number * 10
        out[3] = number
    for weight in WEIGHTS:
        out[4] = 10 * out[4] + weight
    for each in state.table[1]:
        out[5] += each
    for one, other in ((1, 2), (3, 4)):
        out[6] = out[6] * 100 + one * 10 + other
    for _ in range(4):
        out[7] += 1
    end = 3
    for number in range(end):
        end = 10
        out[8] += number
    for seen in state.pair:
        out[9] += seen


@kernel
def _places(state: Outer, out: NDArray[np.int64]) -> tuple[int, bool, int]:
    inner_state, cells = state.inner, state.cells
    cell = cells[1]
    cell.first = 77
    cell.second += 5
    cells[2].third |= 1 << 50
    cell = cells[2] if state.flag else cells[0]
    out[0] = cell.first + cells[1].first + cells[-1 + 1].third
    state.table[0] = 5
    state.table[1, 2:4] = -1
    state.table[2][:] = state.table[3]
    out[1] = state.table[0].sum() * 1000 + state.table[1].sum() + state.table[-1, -1]
    rows, columns = state.table.shape
    out[2] = rows * 10 + columns + state.table.size + inner_state.row[1:3].sum()
    out[3:6] = 8
    made = NAMED(inner_state.row, inner_state.bound + 1)
    out[6] = made.row[made.bound] + state.pair[0] * state.pair[1]
    out[7] = out[:3].any() and not out[20:].all()
    out[8] = len(WEIGHTS) + WEIGHTS[made.bound - 1]
    first = second = out[6]
    pair = (cells[0].third, first > 3)
    out[9] = cells[0].third if pair[1] else cells[1].third
    return first + second + pair[0], state.flag and pair[1], 7


@pytest.mark.parametrize("function", [_order, _loops, _places], ids=["order", "loops", "places"])
def test_statements_are_those_of_python(function: Any) -> None:
    results = []
    for run in (function, function.python_function):
        state, out = new_outer(), np.zeros(24, np.int64)
        returned = run(state, out)
        cells = [state.cells[name].tolist() for name in ("first", "second", "third")]
        results.append((returned, out.tolist(), state.inner.row.tolist(), state.table.tolist(), cells))

    assert results[0] == results[1]
    assert any(results[0][1])


@kernel
def _pair(number: int, flag: bool) -> Inner | Any:  # noqa: FBT001 - a truth value
    return Pair(number, flag, (number + 1, flag))


class Pair(NamedTuple):
    """Structure returned by a kernel."""

    number: int
    flag: bool
    more: tuple[int, bool]


def test_a_kernel_returns_structures() -> None:
    assert _pair(3, True) == Pair(3, True, (4, True))
    assert isinstance(_pair(3, True).flag, bool)
    assert isinstance(_pair(np.int64(3), np.True_).number, int)


# refused code

PRELUDE = """import numpy as np
from vlane.golden.engine.kernel import kernel
TABLE = {1: 2}
@kernel
def run(a, out):
"""

REFUSED = [
    ("out[0] = [a]", r"`\[a\]` is not in the subset"),
    ("out[0] = sorted(out)[0]", "sorted.* cannot|sorted"),
    ("out[0] = TABLE[a]", "TABLE is no value that kernels may use"),
    ("out[0] = a / 2", "the operator of `a / 2` has no translation"),
    ("out[0] = a ** 2", "has no translation"),
    ("out[0] = missing", "the name missing is not defined"),
    ("out[0] = out.shape_of", "has no shape_of"),
    ("out[0] = 'text'", "'text'"),
    ("out[0] = 1.5", "1.5"),
    ("x = a\n    x = out", "x is an array of int64 in 1 dimension here, and elsewhere an integer"),
    ("out[0] = x\n    x = 1", "x is used before it is assigned"),
    ("out[0, 1] = 2", "has fewer dimensions"),
    ("out[::2] = 1", "a slice with a step is not contiguous"),
    ("try:\n        out[0] = 1\n    except ValueError:\n        pass", "`try:` is not in the subset"),
    ("with out:\n        pass", "is not in the subset"),
    ("out[0] = a is None", "`is` compares objects|None"),
    ("for x in range(0, 9, a):\n        out[0] = x", "the step of a range must be a constant"),
    ("for x in a:\n        out[0] = x", "a loop cannot go through an integer"),
    ("while a:\n        a -= 1\n    else:\n        out[0] = 1", "a loop with else"),
    ("out[0] = (lambda: a)()", "lambda"),
    ("out = 3", "the parameter out is an array of int64 in 1 dimension; it cannot become an integer"),
    ("out[0] = out", "cannot be assigned|must be given a number|array"),
    ("a.field = 1", "a field of an integer cannot be assigned"),
    ("out[0] = np.zeros(3)", "zeros"),
    ("run(a, out)", "run calls itself"),
    ("out[0] = len(a)", "an integer has no length"),
    ("out[0] = f(a)\n\ndef f(x):\n    return {x}", r"`\{x\}` is not in the subset"),
    ("out[0] = f(a)\n\ndef f(x, y):\n    return x", "f has 2 parameters, not 1"),
    ("out[0] = np.uint64(a) < a", "a signed and an unsigned number are compared"),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=[line.partition("\n")[0] for line, _ in REFUSED])
def test_code_outside_the_subset_is_refused_by_its_line(line: str, reason: str, tmp_path: Path) -> None:
    code = PRELUDE + f"    {line}\n"
    name = f"refused_{abs(hash(line))}"
    run = module_of(tmp_path, code, name).run
    with pytest.raises(UntranslatableError, match=reason) as caught:
        run(1, np.zeros(4, np.int64))

    assert caught.value.source == str(tmp_path / f"{name}.py")
    assert 5 < caught.value.line <= code.count("\n")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["text", 1.5, None, np.zeros(3), np.zeros((4, 4), np.int64)[:, 1], [1]])
def test_argument_of_unsupported_type_is_refused(value: Any) -> None:
    """Given a text, float, None or non-contiguous array as argument, a kernel call raises TypeError."""
    with pytest.raises(TypeError, match=r"cannot be passed|must be contiguous"):
        _operators(1, 2, value)


def test_a_kernel_with_too_few_arguments_is_refused() -> None:
    with pytest.raises(TypeError, match="_shifts has 2 parameters, not 1"):
        _shifts(1)  # type: ignore[call-arg]  # too few


# calls


def test_equal_functions_have_one_text() -> None:
    """Translating a function twice gives the same text, which is the key of the compiled kernel."""
    types = tuple(type_of(each) for each in (new_outer(), np.zeros(3, np.int64)))
    functions = [_order, _loops, _places]

    assert [translated(each, types)[0] for each in functions] == [translated(each, types)[0] for each in functions]


def test_kernel_releases_unreferenced_arguments() -> None:
    """A kernel releases its last arguments, possibly gigabytes, once no caller holds them."""
    state, out = new_outer(), np.zeros(24, np.int64)
    _loops(state, out)
    assert isinstance(_loops, Kernel)
    assert _loops._last is not None
    del state, out
    for _ in range(33):
        _bump_kernel(np.zeros(1, np.int64))

    assert _loops._last is None


@kernel
def _bump_kernel(row: NDArray[np.int64]) -> int:
    return _bump(row)


def test_a_kernel_does_not_take_other_arguments_for_the_last_ones() -> None:
    """Given changing arrays and integer types, each kernel call uses its own arguments."""
    rows = [np.zeros(1, np.int64), np.full(1, 10, np.int64), np.full(2, 20, np.int64)]

    assert [_bump_kernel(each) for each in (rows[0], rows[0], rows[1], rows[2], rows[0])] == [1, 2, 11, 21, 3]
    assert _shifts(True, 1)[0] == 2
    assert _shifts(3, np.int64(1))[0] == 6


CHECKED = """
from vlane.golden.engine.kernel import kernel

@kernel
def item(row, place):
    return row[place]

@kernel
def part(a, b):
    c = a + 1
    return c // b
"""


def test_checked_kernels_name_the_line_of_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Given checked mode, an index out of bounds or a division by zero names file and line."""
    monkeypatch.setattr("vlane.golden.compiler.kernel.MODE", "checked")
    module = module_of(tmp_path, textwrap.dedent(CHECKED), "checked_here")
    row = np.arange(4)

    assert module.item(row, 3) == 3
    for place in (4, -1):
        with pytest.raises(IndexError, match=r"checked_here.py:6: index out of bounds"):
            module.item(row, place)
    with pytest.raises(ZeroDivisionError, match=r"checked_here.py:11: integer division by zero"):
        module.part(1, 0)
