"""Layouts of structures in vectors, for comments."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Format, Signal


def layout_note(signal: Signal) -> str:
    """Return the layout of a signal with fields, such as ``8 x {weight[7:0], vl[3:0]}``, or an empty text."""
    found = _note(signal._format)
    return found if "{" in found else ""


def _note(shown: Any) -> str:
    if isinstance(shown, Format.Array) and shown._fields:
        return f"{len(shown._fields)} x {_note(shown._fields[0])}"
    if isinstance(shown, Format.Struct) and shown._fields:
        fields = [(name, each, _width(each)) for name, each in shown._fields.items()]
        if sum(width for _, _, width in fields) != _width(shown):
            return ""  # fields overlap or have gaps
        texts = []
        for name, each, width in reversed(fields):
            inner = _note(each)
            texts.append(f"{name}: {inner}" if "{" in inner else f"{name}[{width - 1}:0]" if width > 1 else name)
        return f"{{{', '.join(texts)}}}"
    width = _width(shown)
    return f"[{width - 1}:0]"


def _width(shown: Any) -> int:
    if hasattr(shown, "_value"):
        return len(shown._value)
    return sum(len(chunk[0]) for chunk in shown._chunks if not isinstance(chunk, str))
