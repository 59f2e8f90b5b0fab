"""C entry of a kernel: the function that Python calls, and the encoding of arguments and results."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from vlane.golden.compiler.function import Instance
from vlane.golden.compiler.names import identifier
from vlane.golden.compiler.program import Program
from vlane.golden.compiler.types import BOOL, INT, UINT, VOID, Array, Number, RecordArray, Struct, Tuple, Type

ENTRY = "vlane_entry"
"""Name of the C function ``int32_t vlane_entry(const uint64_t *words, int64_t *numbers)``.

``words`` has the addresses, shapes and numbers of all arguments but plain numbers, in order; ``numbers`` has the plain
numbers, and after the call the items of the result. The function returns 0, or the number of a ``Fault``.
"""

_PLAIN = {"i": INT, "u": UINT, "b": BOOL, "v": VOID}
_LETTERS: dict[Type, str] = {kind: letter for letter, kind in _PLAIN.items()}


def entry_text(program: Program, made: Instance) -> str:
    """Return the C++ code of a kernel's entry, and add its structures to the program."""
    words = iter(range(1 << 30))
    numbers = iter(range(1 << 30))
    lines, names = [], []
    for place, kind in enumerate(made.parameters):
        name = f"argument_{place}"
        if isinstance(kind, Number):
            code = f"numbers[{next(numbers)}]"
            code = f"{code} != 0" if kind is BOOL else f"{kind.cpp}({code})"
        else:
            code = _built(program, kind, words)
        lines.append(f"        const {program.cpp(kind)} {name} = {code};\n")
        names.append(name)
    call = f"{made.name}({', '.join(names)})"
    if made.return_type is VOID:
        lines.append(f"        {call};\n")
    else:
        lines.append(f"        const auto result = {call};\n")
        for place, code in enumerate(_items(made.return_type, "result")):
            lines.append(f"        numbers[{place}] = int64_t({code});\n")
    return (
        f'extern "C" [[gnu::visibility("default")]] int32_t {ENTRY}('
        "[[maybe_unused]] const uint64_t *words, [[maybe_unused]] int64_t *numbers) {\n"
        f"    try {{\n{''.join(lines)}    }} catch (const rt::Error &error) {{\n"
        "        numbers[0] = int64_t(reinterpret_cast<intptr_t>(error.place));\n"
        "        return int32_t(error.fault);\n    }\n    return 0;\n}\n"
    )


def _built(program: Program, kind: Type, words: Iterator[int]) -> str:
    """Return the code that constructs an argument from its words."""
    if isinstance(kind, Array | RecordArray):
        item = kind.item_cpp if isinstance(kind, Array) else program.cpp(kind.kind)
        first = f"reinterpret_cast<{item} *>(words[{next(words)}])"
        shape = ", ".join(f"int64_t(words[{next(words)}])" for _ in range(kind.ndim))
        return f"{program.cpp(kind)}{{{first}, {{{shape}}}}}"
    if isinstance(kind, Struct | Tuple):
        return f"{program.cpp(kind)}{{{', '.join(_built(program, each, words) for each in kind.item_types)}}}"
    if kind is BOOL:
        return f"words[{next(words)}] != 0"
    return f"{program.cpp(kind)}(words[{next(words)}])"


def _items(kind: Type, code: str) -> Iterator[str]:
    """Yield the code of each number of a result."""
    if isinstance(kind, Struct):
        for name, item in zip(kind.places, kind.item_types, strict=True):
            yield from _items(item, f"{code}.{identifier(name)}")
    elif isinstance(kind, Tuple):
        for place, item in enumerate(kind.item_types):
            yield from _items(item, f"std::get<{place}>({code})")
    elif isinstance(kind, Number):
        yield code
    else:
        raise TypeError(f"a kernel that Python calls cannot return {kind}")


def described(kind: Type) -> str:
    """Return the description of a result type, which ``result_type`` parses."""
    if isinstance(kind, Struct):
        made = kind.tuple_class
        return f"{{{made.__module__}:{made.__qualname__};{''.join(map(described, kind.item_types))}}}"
    if isinstance(kind, Tuple):
        return f"({''.join(map(described, kind.item_types))})"
    return _LETTERS[kind]


def result_type(word: str) -> Type:
    """Return the result type of a description."""
    kind, rest = _read(word)
    if rest:
        raise ValueError(word)
    return kind


def _read(word: str) -> tuple[Type, str]:
    if word[0] in _PLAIN:
        return _PLAIN[word[0]], word[1:]
    made: Any = None
    close, rest = ")", word[1:]
    if word[0] == "{":
        name, _, rest = rest.partition(";")
        module, _, made_name = name.partition(":")
        made, close = getattr(importlib.import_module(module), made_name), "}"
    items = []
    while rest[0] != close:
        item, rest = _read(rest)
        items.append(item)
    return (Struct(made, tuple(items)) if made else Tuple(tuple(items))), rest[1:]


def decoded(kind: Type, numbers: Iterator[int]) -> Any:
    """Return a result decoded from its numbers."""
    if kind is INT:
        return next(numbers)
    if kind is BOOL:
        return next(numbers) != 0
    if kind is UINT:
        return next(numbers) & 0xFFFF_FFFF_FFFF_FFFF
    if isinstance(kind, Struct):
        return kind.tuple_class(*[decoded(each, numbers) for each in kind.item_types])
    if isinstance(kind, Tuple):
        return tuple([decoded(each, numbers) for each in kind.item_types])
    return None
