"""Escaping of external text for terminals, pages and line-based files."""

from __future__ import annotations


def harmless(text: str) -> str:
    r"""Return a text with all unprintable characters escaped.

    Escaped are control characters, terminal escapes, line ends, bidirectional controls and bytes that are not UTF-8
    (surrogates, as read with ``errors="surrogateescape"``). Letters of any language stay.

    Examples
    --------
    >>> harmless("S1\x1b[2J\nS2")
    'S1\\x1b[2J\\nS2'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def encodable(text: str) -> str:
    r"""Return a text with all surrogates escaped, so that it can be encoded.

    Examples
    --------
    >>> encodable("S\udcff \u03a9\n") == "S\\xff \u03a9\n"
    True
    """
    if text.isascii():
        return text
    return "".join(_escape(c) if "\ud800" <= c <= "\udfff" else c for c in text)


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")
