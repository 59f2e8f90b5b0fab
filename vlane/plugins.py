"""Plug-ins: user-defined topologies, routings, traffic patterns, sources and schedulers (``docs/plugins.md``).

A plug-in is a Python function that a decorator registers under a name. Study files use the name like a built-in one.
Plug-ins come from a file named by the command line or a program, from an installed package with an entry point in the
group ``vlane.plugins``, or from an imported module. A study file never names a module or a code file.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import cloudpickle

from vlane.documents.textfile import whole_text
from vlane.errors import InputError, shown

GROUP = "vlane.plugins"
"""Entry points in this group name modules with plug-ins."""

KINDS = ("topology", "routing", "pattern", "source", "scheduler")
"""Kinds of plug-ins."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of plug-ins, from which another process can load them, too.

    Parameters
    ----------
    how : str
        ``file``, ``installed`` or ``module``.
    name : str
        Name of the file, entry point or module.
    text : str
        Contents of the file, which another machine may lack; empty otherwise.
    """

    how: str
    name: str
    text: str = field(default="", repr=False)

    @property
    def shown(self) -> str:
        """Name of the origin for messages."""
        return self.name if self.how == "file" else f"{self.how} {self.name}"


_MAIN = Origin("module", "__main__")
"""Origin of plug-ins that a notebook's cell or the main program defines."""


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """Function registered under a name.

    Parameters
    ----------
    kind, name : str
        Kind (one of ``KINDS``) and name in study files.
    made : callable
        Function, or class of a scheduler or a source.
    origin : Origin
        Origin of the plug-in.
    options : mapping
        Other arguments of the decorator.
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
    """Return a plug-in, or ``None`` if the name is not registered."""
    return _registered.get((kind, name))


def origins() -> tuple[Origin, ...]:
    """Return the origins of all plug-ins, each once."""
    return tuple(dict.fromkeys(each.origin for each in _registered.values()))


def register(kind: str, name: str, made: Callable[..., Any], reserved: Iterable[str], **options: Any) -> None:
    """Register a plug-in.

    Parameters
    ----------
    kind, name : str
        See ``Plugin``.
    made : callable
        See ``Plugin``.
    reserved : iterable of str
        Built-in names of this kind.
    **options
        See ``Plugin``.

    Raises
    ------
    InputError
        If the name is not an identifier or already taken.
    """
    what = f"{kind} {name!r}" if isinstance(name, str) else kind
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise InputError(f"name of a {kind}", "letters, digits and _, starting with a letter or _", name)
    module = getattr(made, "__module__", "")
    is_main = module in {"", "__main__", "__mp_main__"}  # the latter in processes that the main program starts
    origin = _loading[-1] if _loading else _MAIN if is_main else Origin("module", module)
    if name in set(reserved):
        problem = ": vlane itself uses this name; choose another name"
        raise InputError(what, "another name", name, problem=problem, source=origin.shown)
    before = _registered.get((kind, name))
    if before and before.origin != origin:
        problem = f"is already registered by {before.origin.shown}; choose another name"
        raise InputError(what, "another name", name, problem=problem, source=origin.shown)
    if before and _loading:
        raise InputError(what, "registered once", "twice", problem="is registered twice", source=origin.shown)
    _registered[kind, name] = Plugin(kind, name, made, origin, options)  # a notebook's cell may run again


def load_file(path: Path, text: str | None = None) -> None:
    """Execute a plug-in file and register its plug-ins. A file that is already loaded is skipped.

    Parameters
    ----------
    path : Path
        Python file.
    text : str, optional
        Contents of the file, if known.

    Raises
    ------
    InputError
        If the file cannot be read or executed, registers nothing, or registers a name that is taken.
    """
    source = whole_text(path, "plug-in file") if text is None else text
    origin = Origin("file", str(path.absolute()), source)
    if origin in _loaded:
        return
    others = [each.name for each in _loaded if each.name == origin.name]
    if others:
        problem = ": the file changed after it was loaded; start again"
        raise InputError("--plugin", "unchanged", "changed", problem=problem, source=str(path))
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
        If an entry point cannot be loaded; the error names it and its package.
    """
    for each in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        _load_entry(each)


def portable_plugins() -> tuple[tuple[Origin, ...], bytes]:
    """Return the plug-ins for another process: origins to load, and the pickled plug-ins of the main program.

    Raises
    ------
    InputError
        If a plug-in of the main program uses something that cannot be pickled.
    """
    others = tuple(each for each in origins() if each != _MAIN)
    main = [each for each in _registered.values() if each.origin == _MAIN]
    files = {function.__code__.co_filename for each in main for function in _functions(each.made)}
    texts = {file: "".join(linecache.getlines(file)) for file in sorted(files)}
    words = ", ".join(f"{each.kind} {each.name}" for each in main)
    try:
        return others, cloudpickle.dumps((texts, [(each.kind, each.name, each.made, each.options) for each in main]))
    except Exception as error:  # noqa: BLE001 - objects of somebody else
        said = f"{type(error).__name__}: {error}"
        problem = f": cannot be sent to another process ({said}); use one job, or move the plug-in to a file"
        raise InputError(words, "functions that can be pickled", said, problem=problem) from None


def load_portable(loaded: tuple[Origin, ...], main: bytes) -> None:
    """Register the plug-ins of another process, as ``portable_plugins`` returned them.

    Raises
    ------
    InputError
        If the plug-ins are missing or different.
    """
    for origin in loaded:
        load_again(origin)
    texts, plugins = cloudpickle.loads(main)
    for file, text in texts.items():
        linecache.cache.setdefault(file, (len(text), None, text.splitlines(keepends=True), file))
    for kind, name, made, options in plugins:
        _registered.setdefault((kind, name), Plugin(kind, name, made, _MAIN, options))


def load_again(origin: Origin) -> None:
    """Load plug-ins of a file, a package or a module in another process as in the first one.

    Raises
    ------
    InputError
        If the plug-ins are missing or different.
    """
    if origin.how == "file":
        load_file(Path(origin.name), origin.text)
    elif origin.how == "installed":
        for each in entry_points(group=GROUP, name=origin.name):
            _load_entry(each)
    else:
        importlib.import_module(origin.name)


def digest_of(plugins: Iterable[Plugin]) -> str:
    """Return a digest of the sources of plug-ins, empty without plug-ins.

    The sources of a plug-in are its file or, for a package, all files of the package.
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
    if files and origin != _MAIN:
        return "\0".join(f"{file.name}\0{file.read_text(encoding='utf-8', errors='replace')}" for file in files)
    made = [each.made for each in _registered.values() if each.origin == origin]
    return "\0".join(sorted({text for each in made for text in _texts(each)}))


def _texts(made: Callable[..., Any]) -> Iterator[str]:
    """Yield the notebook cells of a plug-in and of what it calls, and the numbers and texts that it uses."""
    for function in _functions(made):
        yield "".join(linecache.getlines(function.__code__.co_filename))
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, int | float | str | tuple):
                yield f"{name} = {value!r}"


def _functions(made: Callable[..., Any]) -> set[FunctionType]:
    """Return the functions of a plug-in, and those of its module that they call."""
    members = list(vars(made).values()) if isinstance(made, type) else [made]
    waiting, found = [getattr(each, "__func__", each) for each in members], set[FunctionType]()
    while waiting:
        function = waiting.pop()
        if isinstance(function, FunctionType) and function not in found:
            found.add(function)
            called = (function.__globals__.get(name) for name in function.__code__.co_names)
            waiting += [each for each in called if getattr(each, "__module__", None) == function.__module__]
    return found


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
    """Set the origin of plug-ins registered meanwhile. On failure, unregister them and raise a one-line error."""
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
        problem = f"failed with {shown(said)}"
        raise InputError(
            "plug-in", "code without errors", said, problem=problem, source=file or what, line=line
        ) from None
    finally:
        _loading.pop()


def _refuse_nothing(registered: int, what: str) -> None:
    if not registered:
        problem = ": no plug-in is registered; apply one of vlane's decorators to a function"
        raise InputError("plug-in", "registered", "none", problem=problem, source=what)


def _place(error: BaseException, origin: Origin) -> tuple[str, int]:
    """Return file and line of an error, at the innermost frame of the plug-in's own code."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    frames = [each for each in frames if each[0] != __file__ and not each[0].startswith("<frozen")]
    own = [each for each in frames if origin.how != "file" or Path(each[0]).absolute() == Path(origin.name)]
    return (own or [("", 0)])[-1]
