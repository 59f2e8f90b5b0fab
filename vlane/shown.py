"""Escaping of text from outside for terminals, pages and files of lines."""

from __future__ import annotations


def harmless(text: str) -> str:
    r"""Return the text with every character that is not printable written as an escape.

    Control characters, terminal escapes, line ends, characters that turn the direction of writing and bytes that
    were no UTF-8 (surrogates, as ``errors="surrogateescape"`` reads them) are escaped; letters of any language stay.

    Examples
    --------
    >>> harmless("S1\x1b[2J\nS2")
    'S1\\x1b[2J\\nS2'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def encodable(text: str) -> str:
    r"""Return the text with every surrogate written as an escape, so that it can be encoded; the rest stays.

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
