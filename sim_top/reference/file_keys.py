"""Keys of a kind of file as rows, from its JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vlane.sim_top.reference.schemas import schema_of

_WHOLE = "top of the file"
_TYPES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


@dataclass(frozen=True, slots=True)
class FileKey:
    """Key of a file.

    Parameters
    ----------
    name : str
        Name in its section.
    may_be : str
        Type and range, or accepted words.
    default : str
        Default as in a file; empty without a default, ``required`` if the key must be given.
    about : str
        Meaning.
    """

    name: str
    may_be: str
    default: str
    about: str


@dataclass(frozen=True, slots=True)
class FileSection:
    """Section of a file.

    Parameters
    ----------
    heading : str
        Heading as in the file: ``[link]``, or ``[[traffic]]`` if it may be repeated.
    about : str
        Description of the content.
    keys : tuple of FileKey
        Keys in the order of the model.
    """

    heading: str
    about: str
    keys: tuple[FileKey, ...]


def sections_of(kind: str) -> tuple[FileSection, ...]:
    """Return the sections of a kind of file with their keys.

    Raises
    ------
    InputError
        If the kind is unknown.

    Examples
    --------
    >>> [section.heading for section in sections_of("tables")][:2]
    ['[vlarb]', '[dtable]']
    """
    schema = schema_of(kind)
    models = schema.get("$defs", {})
    plain = tuple(_keys(schema, models))
    whole = (
        [FileSection(_WHOLE, "Keys outside of sections, and sections with names of your own.", plain)] if plain else []
    )
    return (*whole, *_sections(schema, models, ""))


def _sections(model: Mapping[str, Any], models: Mapping[str, Any], place: str) -> Iterator[FileSection]:
    for name, field in model["properties"].items():
        is_list, own = field.get("type") == "array", field.get("additionalProperties")
        inner = field["items"] if is_list else own if isinstance(own, dict) else field
        at = f"{place}{name}.NAME" if inner is own else f"{place}{name}"
        for each in inner.get("oneOf", inner.get("anyOf", [inner])):
            if "$ref" in each:
                yield from _section(models[_name(each)], models, at, is_list=is_list)


def _section(
    model: Mapping[str, Any], models: Mapping[str, Any], place: str, *, is_list: bool
) -> Iterator[FileSection]:
    required = set(model.get("required", ()))
    words = [
        f'{name} = "{field["const"]}"'
        for name, field in model["properties"].items()
        if "const" in field and name in required
    ]
    heading = f"[[{place}]]" if is_list else f"[{place}]"
    yield FileSection(" ".join([heading, *words]), model.get("description", ""), tuple(_keys(model, models)))
    yield from _sections(model, models, f"{place}.")


def _keys(model: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[FileKey]:
    """Yield the keys that are not sections."""
    required = set(model.get("required", ()))
    for name, field in model["properties"].items():
        if not ("$ref" in field or "oneOf" in field or "$ref" in field.get("items", ())):
            default = "" if field.get("default") == {} else _default(name, field, required)
            yield FileKey(name, may_be(field, models), default, field.get("description", ""))


def _name(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"].rpartition("/")[2])


def _default(name: str, field: Mapping[str, Any], required: set[str]) -> str:
    if name in required:
        return "required"
    return _value(field["default"]) if "default" in field else ""


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(_value, value))}]" if isinstance(value, list) else str(value)


def may_be(field: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Return the accepted values as text."""
    if "$ref" in field:
        return "a section" if models[_name(field)].get("type") == "object" else may_be(models[_name(field)], models)
    if "anyOf" in field:
        return ", or ".join(dict.fromkeys(may_be(each, models) for each in field["anyOf"]))
    if "const" in field or "enum" in field:
        return ", ".join(_value(each) for each in field.get("enum", [field.get("const")]))
    if field["type"] == "array":
        return f"list{_length(field)} of: {may_be(field['items'], models)}"
    if field["type"] == "object":
        inner = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), None)
        return f"names, each with: {may_be(inner, models)}" if inner else "names with values"
    return f"{_TYPES[field['type']]}{_range(field)}"


def _length(field: Mapping[str, Any]) -> str:
    least, most = field.get("minItems"), field.get("maxItems")
    if least == most:
        return "" if least is None else f" of {least}"
    if most is None:
        return f", at least {least}"
    return f", {least} to {most}," if least else f", at most {most},"


def _range(field: Mapping[str, Any]) -> str:
    limits = [
        f"{word} {_value(field[key])}"
        for key, word in (("exclusiveMinimum", "above"), ("exclusiveMaximum", "below"))
        if key in field
    ]
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        limits.insert(0, f"{_value(least)} to {_value(most)}")
    elif least is not None:
        limits.insert(0, f"at least {_value(least)}")
    elif most is not None:
        limits.append(f"at most {_value(most)}")
    return f", {', '.join(limits)}" if limits else ""
