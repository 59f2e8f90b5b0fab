"""Names that C++ accepts."""

from __future__ import annotations

import re

_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register requires return short signed sizeof static struct switch template this throw true try
    typedef typeid typename union unsigned using virtual void volatile while xor xor_eq std rt linux unix INT64_MIN
    errno stdin stdout
    """.split()  # noqa: SIM905 - as a list it is a page
)


def identifier(name: str) -> str:
    """Return a Python name as a C++ identifier. Reserved words get an underscore."""
    found = re.sub(r"\W", "_", name)
    return f"{found}_" if found in _RESERVED else found
