"""Plug-ins: topologies, routings, traffic patterns and schedulers that somebody else wrote (``docs/plugins.md``).

A plug-in is a Python function that a decorator registers under a name, which a study file may then use as it uses ours.
It comes from a file that the command line or a program names, from an installed package that has an entry point in the
group ``vlane.plugins``, or from a module that a program imports. A study file never names a module or a file of code.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from vlane.documents.textfile import whole_text
from vlane.errors import InputError

GROUP = "vlane.plugins"
"""Entry points of this group name modules of plug-ins."""

KINDS = ("topology", "routing", "pattern", "scheduler")
"""Kinds of plug-ins."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Origin:
    """Where plug-ins came from, so that another process can load them too.

    Parameters
    ----------
    how : str
        ``file``, ``installed`` or ``module``.
    name : str
        The file, the entry point or the module.
    text : str
        Contents of the file, which a process on another machine may lack; empty for the others.
    """

    how: str
    name: str
    text: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """The origin, as a person names it."""
        return self.name if self.how == "file" else f"{self.how} {self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """A function that is registered under a name.

    Parameters
    ----------
    kind, name : str
        One of ``KINDS``; the word in study files.
    made : callable
        The function, or the class of a scheduler.
    origin : Origin
        Where it came from.
    options : mapping
        What the decorator was told beside the name.
    """

    kind: str
    name: str
    made: Callable[..., Any]
    origin: Origin
    options: Mapping[str, Any]


_registered: dict[tuple[str, str], Plugin] = {}
_loading: list[Origin] = []
_loaded: dict[Origin, str] = {}


def plugins_of(kind: str) -> dict[str, Plugin]:
    """Return the plug-ins of a kind by name, in order of registration."""
    return {name: each for (of, name), each in _registered.items() if of == kind}


def found(kind: str, name: str) -> Plugin | None:
    """Return a plug-in, ``None`` if none is registered under the name."""
    return _registered.get((kind, name))


def origins() -> tuple[Origin, ...]:
    """Return where all plug-ins came from, each once."""
    return tuple(dict.fromkeys(each.origin for each in _registered.values()))


def register(kind: str, name: str, made: Callable[..., Any], reserved: Iterable[str], **options: Any) -> None:
    """Register a plug-in.

    Parameters
    ----------
    kind, name : str
        As of ``Plugin``.
    made : callable
        As of ``Plugin``.
    reserved : iterable of str
        Names of this kind that are vlane's own.
    **options
        As of ``Plugin``.

    Raises
    ------
    InputError
        If the name is no word, or is taken.
    """
    what = f"{kind} {name!r}" if isinstance(name, str) else kind
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise InputError(f"name of a {kind}", "a word of letters, digits and _, not beginning with a digit", name)
    origin = _loading[-1] if _loading else Origin("module", getattr(made, "__module__", "") or "__main__")
    if name in set(reserved):
        raise InputError(what, "a name that vlane itself does not use", f"one more {kind} {name}", source=origin.shown)
    before = _registered.get((kind, name))
    if before and before.origin != origin:
        must = f"of one plug-in; {before.origin.shown} has registered it"
        raise InputError(what, must, "registered again", source=origin.shown)
    if before and _loading:
        raise InputError(what, "registered once", "registered twice", source=origin.shown)
    _registered[kind, name] = Plugin(kind, name, made, origin, options)  # a notebook's cell may run again


def load_file(path: Path, text: str | None = None) -> None:
    """Run a file of plug-ins and register what it holds; a file that is loaded already is left alone.

    Parameters
    ----------
    path : Path
        A Python file.
    text : str, optional
        Its contents, if they are known.

    Raises
    ------
    InputError
        If it cannot be read, cannot be run, registers nothing, or registers a name that is taken.
    """
    source = whole_text(path, "plug-in file") if text is None else text
    origin = Origin("file", str(path.absolute()), source)
    if origin in _loaded:
        return
    others = [each.name for each in _loaded if each.name == origin.name]
    if others:
        raise InputError("--plugin", "a file as it was when it was loaded first", "changed", source=str(path))
    name = f"vlane_plugin_{hashlib.sha256(repr(origin).encode() + source.encode()).hexdigest()[:12]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # pickle looks a function's module up by its name
    lines = source.splitlines(keepends=True)
    linecache.cache[str(path)] = (len(source), None, lines, str(path))  # the translator reads this text, not the file
    with _told(origin, str(path)):
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102 - the user names the code that is to run


def load_installed() -> None:
    """Load the plug-ins of all installed packages, once.

    Raises
    ------
    InputError
        Naming the package and entry point that cannot be loaded.
    """
    for each in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        _load_entry(each)


def load_again(origin: Origin) -> None:
    """Load plug-ins in another process, as they were loaded in the first one.

    Raises
    ------
    InputError
        If they are not there, or are others.
    """
    if origin.how == "file":
        load_file(Path(origin.name), origin.text)
    elif origin.how == "installed":
        for each in entry_points(group=GROUP, name=origin.name):
            _load_entry(each)
    elif origin.name == "__main__":
        raise InputError("plug-in", "of a file or a module, to run in other processes", "one of the main program")
    else:
        importlib.import_module(origin.name)


def digest_of(plugins: Iterable[Plugin]) -> str:
    """Return a digest of the sources of plug-ins; empty if there are none.

    What belongs to it is the file or, of a package, all files of it: a plug-in may be spread over several.
    """
    texts = {origin: _sources(origin) for origin in {each.origin for each in plugins}}
    if not texts:
        return ""
    whole = "\0".join(f"{origin.how} {origin.name}\0{texts[origin]}" for origin in sorted(texts, key=repr))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def _sources(origin: Origin) -> str:
    """Return the text of all sources of an origin."""
    if origin.how == "file":
        return origin.text
    name = _loaded.get(origin, origin.name)
    package = sys.modules.get(name.partition(".")[0])
    paths = list(getattr(package, "__path__", []))
    files = sorted(file for path in paths for file in Path(path).rglob("*.py"))
    if not files and getattr(package, "__file__", None):
        files = [Path(str(package.__file__))]  # type: ignore[union-attr]
    if files:
        return "\0".join(f"{file.name}\0{file.read_text(encoding='utf-8', errors='replace')}" for file in files)
    made = [each.made for each in _registered.values() if each.origin == origin]
    return "\0".join(inspect.getsource(each) for each in made)  # a notebook's cells, as it keeps them


def _load_entry(entry: EntryPoint) -> None:
    origin = Origin("installed", entry.name)
    if origin in _loaded:
        return
    package = entry.dist.name if entry.dist else entry.module
    with _told(origin, f"plug-in {entry.name} of package {package}"):
        _loaded[origin] = entry.module
        entry.load()


@contextmanager
def _told(origin: Origin, what: str) -> Iterator[None]:
    """Give what is registered meanwhile its origin; if something goes wrong, tell it in one line and forget it all."""
    before = dict(_registered)
    _loading.append(origin)
    try:
        with redirect_stdout(sys.stderr):  # stdout is for results
            yield
        _loaded.setdefault(origin, "")
        _refuse_nothing(len(_registered) - len(before), what)
    except BaseException as error:
        _registered.clear()
        _registered.update(before)
        _loaded.pop(origin, None)
        if isinstance(error, InputError):
            raise error if error.source else error.at(what) from None
        if not isinstance(error, Exception | SystemExit):
            raise
        file, line = _place(error, origin)
        said = f"{type(error).__name__}: {error}"
        raise InputError("plug-in", "code that runs", said, source=file or what, line=line) from None
    finally:
        _loading.pop()


def _refuse_nothing(registered: int, what: str) -> None:
    if not registered:
        raise InputError("content", "a plug-in at least: a function with a decorator of vlane", "none", source=what)


def _place(error: BaseException, origin: Origin) -> tuple[str, int]:
    """Return file and line of an error, where the plug-in's own code was last."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    frames = [each for each in frames if each[0] != __file__ and not each[0].startswith("<frozen")]
    own = [each for each in frames if origin.how != "file" or Path(each[0]).absolute() == Path(origin.name)]
    return (own or [("", 0)])[-1]
