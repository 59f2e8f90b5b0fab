"""Translation of pydantic's errors into ``InputError`` with file, line and key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from vlane.documents.document import Document, key_of
from vlane.documents.key_lines import Path
from vlane.errors import InputError, closest, missing_value

_Model = TypeVar("_Model", bound=BaseModel)


def _plain(limit: float) -> float:
    """Return a limit as an integer if it has no fraction."""
    return int(limit) if limit == int(limit) else limit


WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "int_type": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "int_parsing": lambda _: "a whole number",
    "int_parsing_size": lambda _: "a whole number of at most 4300 digits",
    "float_type": lambda _: "a number",
    "float_parsing": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "text",
    "string_pattern_mismatch": lambda _: "a non-empty name",
    "list_type": lambda _: "a list",
    "dict_type": lambda _: "a section",
    "model_type": lambda _: "a section",
    "model_attributes_type": lambda _: "a section",
    "is_instance_of": lambda _: "a number",
    "greater_than": lambda context: f"above {_plain(context['gt'])}",
    "greater_than_equal": lambda context: f"at least {context['ge']}",
    "less_than": lambda context: f"below {_plain(context['lt'])}",
    "less_than_equal": lambda context: f"at most {context['le']}",
    "too_short": lambda context: f"a list of at least {_elements(context['min_length'])}",
    "too_long": lambda context: f"a list of at most {_elements(context['max_length'])}",
}
"""Words after "must be", by pydantic's type of error; ``_refusal`` handles errors that need more."""


def _elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"


def checked(model: type[_Model], document: Document, *, every: bool = False) -> _Model:
    """Validate a document as a model.

    Raises
    ------
    InputError
        If the document is rejected; names the first unknown key, otherwise the first missing or wrong value. With
        ``every``, its details name the other keys.
    """
    try:
        return model.model_validate(document.content)
    except ValidationError as error:
        found = [(_written(each, document), each) for each in error.errors()]
    refusals = [document.placed(_refusal(model, document, found))]
    while every and (found := [each for each in found if not _is_said(each[0], refusals)]):
        refusals.append(document.placed(_refusal(model, document, found)))
    raise joined(refusals) from None


def _is_said(path: Path, refusals: list[InputError]) -> bool:
    """Return whether an error about this path, or about a key inside it, is among the refusals."""
    return any(f"{each.field}.".startswith(f"{key_of(path)}.") or each.field == "content" for each in refusals)


def joined(errors: list[InputError]) -> InputError:
    """Return the first of several errors, with the others as its details."""
    first = errors[0]
    details = (*first.details, *(str(each) for each in errors[1:]))
    return InputError(
        first.field,
        first.must,
        first.got,
        problem=first.problem,
        source=first.source,
        line=first.line,
        details=details,
        meant=first.meant,
    )


def is_key(model: type[BaseModel], document: Document, path: Path) -> bool:
    """Return whether a model has a key at a path, written or not."""
    return bool(_types_at([model], path, document.content))


def _written(error: Any, document: Document) -> Path:
    """Return the path of an error without the branches of unions, which documents do not contain."""
    path: Path = ()
    for part in error["loc"]:
        if document.has((*path, part)):
            path = (*path, part)
    if error["type"] == "missing":
        return (*path, error["loc"][-1])
    if error["type"].startswith("union_tag"):
        return (*path, error["ctx"]["discriminator"].strip("'"))
    return path


def _refusal(model: type[BaseModel], document: Document, found: list[tuple[Path, Any]]) -> InputError:
    first = next((path for path, error in found if error["type"] == "extra_forbidden"), found[0][0])
    path = max((path for path, _ in found if path[: len(first)] == first), key=len)  # in a union, the closest branch
    errors = [error for each, error in found if each == path]
    kind, got, types = errors[0]["type"], errors[0]["input"], _types_at([model], path, document.content)
    name = key_of(path) or "content"
    if kind == "extra_forbidden":
        return _unknown(model, document, path)
    if kind in {"missing", "union_tag_not_found"}:
        choices = [str(choice) for choice in _choices(types)]
        return missing_value(name, f"give one of {', '.join(choices)}" if choices else "")
    if kind == "value_error":
        return _judged(errors[0]["ctx"]["error"], path, got)
    if kind in {"too_short", "too_long"}:
        got = _elements(len(got))
    choices = [str(choice) for choice in _choices(types)]
    if kind == "union_tag_invalid":
        got = got.get(path[-1])
    musts = [must for error in errors if (must := _must(error))]
    musts += [f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]] if choices else []
    meant = closest(got, choices) if isinstance(got, str) else ""
    return InputError(name, " or ".join(dict.fromkeys(musts)), got, meant=meant)


def _must(error: Any) -> str:
    words = WORDS.get(error["type"])
    return words(error.get("ctx", {})) if words else ""


def _judged(error: ValueError, path: Path, got: object) -> InputError:
    """Return the error of one of vlane's validators with the path of its section."""
    if not isinstance(error, InputError):
        return InputError(key_of(path) or "content", str(error), got)
    name = ".".join(filter(None, (key_of(path), error.field)))
    return error.of(name)


def _unknown(model: type[BaseModel], document: Document, path: Path) -> InputError:
    """Return the error about a key that its section does not have."""
    known = _keys(_types_at([model], path[:-1], document.content), document.at(path[:-1]))
    word = str(path[-1])
    meant = closest(word, known) or _section_with(model, word, document.content)
    must, problem = f"a known key ({', '.join(known)})", f": unknown key (known: {', '.join(known)})"
    return InputError(key_of(path), must, "unknown", problem=problem, meant=meant)


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the member types of a union, or the type itself, without annotations."""
    if get_origin(annotation) is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif get_origin(annotation) in {Union, UnionType}:
        for each in get_args(annotation):
            yield from _alternatives(each)
    else:
        yield annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _meant(types: list[Any], content: Any) -> list[type[BaseModel]]:
    """Return the models among types. For a union those whose tag matches the content, or all without a match."""
    models = [kind for kind in types if _is_model(kind)]
    given = content if isinstance(content, dict) else {}
    return [model for model in models if given.items() & _tags(model).items()] or models


def _tags(model: type[BaseModel]) -> dict[str, str]:
    """Return the required keys with a single accepted value, which discriminate the models of a union."""
    choices = {name: get_args(info.annotation) for name, info in model.model_fields.items() if info.is_required()}
    return {name: values[0] for name, values in choices.items() if len(values) == 1 and isinstance(values[0], str)}


def _types_at(annotations: list[Any], path: Path, content: Any) -> list[Any]:
    """Return the possible types at a path. The content selects among a union's models."""
    types = [kind for annotation in annotations for kind in _alternatives(annotation)]
    if not path:
        return types
    key = path[0]
    below = [model.model_fields[str(key)].annotation for model in _meant(types, content) if key in model.model_fields]
    for kind in types:
        if get_origin(kind) is list and isinstance(key, int):
            below.append(get_args(kind)[0])
        elif get_origin(kind) is dict:
            below.append(get_args(kind)[1])
    try:
        inner = content[key]
    except (KeyError, IndexError, TypeError):
        inner = None
    return _types_at(below, path[1:], inner)


def _choices(types: list[Any]) -> list[Any]:
    return list(dict.fromkeys(choice for kind in types if get_origin(kind) is Literal for choice in get_args(kind)))


def _keys(types: list[Any], content: Any) -> list[str]:
    return list(dict.fromkeys(name for model in _meant(types, content) for name in model.model_fields))


def _section_with(model: type[BaseModel], word: str, content: Mapping[str, Any]) -> str:
    """Return where else in the document a key of this name is valid, preferring sections to lists of sections."""
    found = []
    for name, info in model.model_fields.items():
        types = list(_alternatives(info.annotation))
        listed = [inner for kind in types if get_origin(kind) is list for inner in _alternatives(get_args(kind)[0])]
        if word in _keys([*types, *listed], content.get(name)):
            found.append((bool(listed), f"{name}.{word}"))
    return min(found, key=lambda each: each[0], default=(False, ""))[1]
