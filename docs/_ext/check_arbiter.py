"""Open ``arbiter.html`` in Chromium, compare it with the command, and store the result (``make page-tests``)."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser import SIZES, BrowserMissingError, Chromium, find_chromium

from vlane.fabric.dumps.opensm_conf import PLACE, opensm_options, read_opensm_conf
from vlane.fabric.model import Kind
from vlane.sim_top.fabric.vlarb_explained import explain_options

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "build" / "page" / "arbiter.html"
PICTURES = ROOT / "build" / "pages"
STORED = ROOT / "docs" / "evidence" / "arbiter_page.json"
NAMES = {Kind.SWITCH: "switches", Kind.CA: "adapters", Kind.ROUTER: "routers"}
TABLES = 1000
MOST_MS = 200
"""Longest time from a pasted capture to its result, the best of five pastes: the machine may be busy."""
_RUNS = 5
_PICTURE_HEIGHT = 860

_PASTE = """(async () => {
  for (const [id, value] of Object.entries(FIELDS)) document.getElementById(id).value = value;
  const before = document.documentElement.dataset.done, began = performance.now();
  document.getElementById("text").dispatchEvent(new Event("input", { bubbles: true }));
  while (document.documentElement.dataset.done === before) await new Promise(done => setTimeout(done, 2));
  return { ms: performance.now() - began, ...globalThis.arbiterResult };
})()"""


class Failures(list[str]):
    """Differences between the page and what is expected."""

    def check(self, what: str, *, holds: bool) -> None:
        """Note a claim that does not hold."""
        if not holds:
            self.append(what)


def _axe() -> str:
    """Return the text of axe-core, which npm downloads into ``build/axe`` once."""
    folder = ROOT / "build" / "axe"
    if not (folder / "axe.min.js").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("vlane: npm is missing. Install it with: apt-get install npm  (it downloads axe-core)")
        subprocess.run([npm, "pack", "--silent", "axe-core@4"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(next(folder.glob("axe-core-*.tgz"))) as archive:
            (folder / "axe.min.js").write_bytes(archive.extractfile("package/axe.min.js").read())  # type: ignore[union-attr]
    return (folder / "axe.min.js").read_text()


def _levels(text: str, kind: Kind, sls: list[int], mtu: int, vls: int) -> list[list[float]] | None:
    """Return the levels of ``vlane vlarb explain`` for a kind of port, ``None`` if it prints no such ports."""
    conf = opensm_options("opensm.conf", text)
    for group in explain_options(conf, sls, mtu=mtu, data_vls=vls or conf.max_op_vls or 8):
        if NAMES[kind] in group.names:
            return [
                [level.sl, *level.vls, level.share, level.least, level.most, min(level.wait_blocks, 1e9)]
                for level in group.levels
            ]
    return None


def _shown(result: dict[str, Any]) -> list[list[float]]:
    return [
        [each["sl"], each["vl"], each["share"], each["least"], each["most"], 1e9 if each["wait"] < 0 else each["wait"]]
        for each in result.get("levels", [])
    ]


def _paste(browser: Chromium, **fields: object) -> dict[str, Any]:
    return dict(browser.run(_PASTE.replace("FIELDS", json.dumps(fields))))


def _ready(browser: Chromium, size: str, fragment: str = "") -> str:
    address = browser.open(PAGE, size, fragment=fragment)
    browser.run(
        "(async () => { while (!document.documentElement.dataset.ready) await new Promise(d => setTimeout(d, 5)); })()"
    )
    return address


def _captures(browser: Chromium, failed: Failures) -> dict[str, Any]:
    """Compare every shipped capture with the command, and return counts and the longest time."""
    slowest, compared = 0.0, 0
    for conf in sorted(ROOT.glob("tests/data/*/opensm.conf")):
        read_opensm_conf(conf)
        text = conf.read_text()
        for kind in NAMES:
            wanted = _levels(text, kind, [0, 1, 2, 3], 4096, 0)
            question = {"text": text, "kind": PLACE[kind], "sls": "0,1,2,3", "mtu": 4096, "vls": 0}
            runs = [_paste(browser, **question) for _ in range(_RUNS)]
            found, slowest = runs[0], max(slowest, min(each["ms"] for each in runs))
            if wanted is not None:
                compared += 1
                failed.check(f"{conf.parent.name} {kind.name}: {found} {wanted}", holds=_shown(found) == wanted)
    failed.check(f"the slowest capture takes {slowest:.0f} ms", holds=slowest <= MOST_MS)
    return {"kinds of ports": compared, "longest paste to result (ms)": round(slowest)}


def _texts() -> Iterator[str]:
    source = random.Random(61)  # noqa: S311 - repeatable
    for _ in range(TABLES):
        lists = (
            ",".join(
                f"{source.randrange(8)}:{source.choice((0, 1, 9, 64, 200, 255))}" for _ in range(source.randrange(7))
            )
            for _ in range(2)
        )
        yield "high {}\nlow {}\nlimit {}\n".format(*lists, source.choice((0, 1, 2, 10, 255)))


def _tables(browser: Chromium, failed: Failures) -> int:
    """Compare random tables with the command, and return their number."""
    texts = list(_texts())
    script = "(async () => { const all = []; for (const text of TEXTS) all.push((await ask('analyse', "
    script += "{ text, kind: 2, vls: 8, mtu: 2048, sls: [0, 1, 2, 3, 4] })).levels); return all; })()"
    answers = browser.run(script.replace("TEXTS", json.dumps(texts)))
    for text, levels in zip(texts, answers, strict=True):
        wanted = _levels(text, Kind.SWITCH, [0, 1, 2, 3, 4], 2048, 8)
        failed.check(f"{text!r}: {levels} {wanted}", holds=_shown({"levels": levels}) == wanted)
    return len(texts)


def _keyboard(browser: Chromium, failed: Failures) -> None:
    """Type a table, step and open the swap with keys only."""
    _ready(browser, "desktop")
    browser.press("Tab")
    browser.press("a", control=True)
    browser.write("low 0:64,1:64\nlimit 0\n")
    browser.run("new Promise(done => setTimeout(done, 400))")
    failed.check("keys: the table was not read", holds=browser.run("arbiterResult.low.length") == 2)
    for _ in range(40):
        browser.press("Tab")
        if browser.run("document.activeElement.id") == "packet":
            break
    for _ in range(3):
        browser.press("Enter")
    browser.run("new Promise(done => setTimeout(done, 300))")
    failed.check("keys: three packets", holds=browser.run("arbiterResult.packets") == 3)
    focus = []
    for _ in range(30):
        browser.press("Tab")
        focus.append(browser.run("document.activeElement.id || document.activeElement.tagName"))
    for name in ("ten", "cycle", "restart", "stalled", "SUMMARY", "weights", "small"):
        failed.check(f"keys: {name} cannot be reached", holds=name in focus)


def _hostile(browser: Chromium, failed: Failures) -> None:
    """Paste HTML, huge numbers, cut lines and 200,000 characters."""
    address = _ready(browser, "desktop")
    texts = {
        "html": "qos TRUE\nqos_vlarb_low '0:<img src=x onerror=alert(1)>'\n<b>bold</b> 1\n",
        "numbers": f"qos TRUE\nqos_high_limit {'9' * 500}\nqos_vlarb_low {'9' * 99}:{'9' * 99},1:-{1 << 65}\n",
        "cut": "qos TRUE\nqos_vlarb_low 0:6",
        "comments": "#" * 200_000,
        "entries": "qos TRUE\nqos_vlarb_low " + "1:2," * 50_000,
        "options": "qos_x 1\n" * 25_000,
    }
    for name, text in texts.items():
        found = _paste(browser, text=text, kind=2, sls="0,1", mtu=4096, vls=0)
        failed.check(
            f"{name}: no verdict", holds=bool(browser.run("document.getElementById('verdict').textContent.length"))
        )
    _paste(browser, text=texts["html"], kind=2, sls="0,1", mtu=4096, vls=0)
    failed.check(
        "html: elements from a text",
        holds=browser.run("document.querySelectorAll('#verdict img, #verdict b').length") == 0,
    )
    found = _paste(browser, text="x" * 400_000, kind=2, sls="0,1", mtu=4096, vls=0)
    failed.check("too long: one line", holds=found.get("problem", "").startswith("The text has 400000 bytes"))
    found = _paste(browser, text="# nothing", kind=2, sls="0,1", mtu=4096, vls=0)
    failed.check("empty: one line", holds=bool(found.get("problem")))
    failed += browser.complaints(address)


def _verdicts(browser: Chromium, failed: Failures) -> None:
    """Read the verdict about dropped levels, the names of levels in one lane, and the place of a finding."""
    address = _ready(browser, "desktop")
    table = "high 0:64\nlow 1:64,2:64\nlimit 1\n"
    told = (
        "[document.querySelector('#verdict .headline').textContent, document.querySelector('#verdict .bad') !== null]"
    )
    for lanes, sentence in (
        ("0,1,2,15", "Level 3 is dropped: SL2VL maps it to VL 15."),
        ("15,15,15,15", "Levels 0, 1, 2 and 3 are dropped: SL2VL maps them to VL 15."),
        ("0,1,5,15", "Level 3 is dropped: SL2VL maps it to VL 15. Level 2 gets no turn under load."),
    ):
        _paste(browser, text=f"{table}sl2vl {lanes}\n", kind=1, sls="0,1,2,3", mtu=4096, vls=0)
        failed.check(f"verdict: {lanes}: {browser.run(told)}", holds=browser.run(told) == [sentence, True])
    browser.run("document.getElementById('copied').textContent = 'Copied.'")
    _paste(browser, text=f"{table}sl2vl 0,1,0,0,0,0,0,0,0\n", kind=1, sls="0,1,8", mtu=4096, vls=0)
    failed.check("link: Copied stays", holds=browser.run("document.getElementById('copied').textContent") == "")
    lanes = browser.run("[...document.querySelectorAll('#rows tr')].map(row => row.children[1].textContent)")
    failed.check(f"lanes: {lanes}", holds=lanes == ["0, with SL 8", "1", "0, with SL 0"])
    _paste(browser, text="qos TRUE\nqos_vlarb_high 0:64\nqos_vlarb_low 1:1,2:99\n", kind=1, sls="0", mtu=4096, vls=0)
    said = browser.run("document.querySelector('#verdict li').textContent")
    failed.check(f"place: {said}", holds=said.startswith("WEIGHT_BELOW_MTU (line 3 qos_vlarb_low): "))
    failed += browser.complaints(address)


def _link(browser: Chromium, failed: Failures) -> None:
    """Open the link of a case: same fields, same numbers."""
    _ready(browser, "desktop")
    before = _paste(browser, text="qos TRUE\nqos_vlarb_low 0:9,1:99 # ü <&>\n", kind=1, sls="0,1", mtu=1024, vls=4)
    browser.run("new Promise(done => setTimeout(done, 300))")
    fragment = browser.run("location.hash")
    address = _ready(browser, "desktop", fragment)
    fields = browser.run("['text', 'kind', 'sls', 'mtu', 'vls'].map(id => document.getElementById(id).value)")
    failed.check(
        "link: fields", holds=fields == ["qos TRUE\nqos_vlarb_low 0:9,1:99 # ü <&>\n", "1", "0,1", "1024", "4"]
    )
    failed.check(
        "link: numbers",
        holds=browser.run("JSON.stringify(arbiterResult.levels)")
        == json.dumps(before["levels"], separators=(",", ":")),
    )
    failed += browser.complaints(address)
    _ready(browser, "desktop", "#damaged")
    failed.check("link: a damaged one gives no example", holds=browser.run("arbiterResult.levels.length") == 4)


def _screens(browser: Chromium, axe: str, failed: Failures) -> str:
    """Check every size and scheme with axe-core, and return the version of axe-core."""
    for size in SIZES:
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            for complaint in browser.look(PAGE, PICTURES / f"arbiter-{size}-{scheme}.png", size, whole=True):
                failed.append(f"{size} {scheme}: {complaint}")
            browser.run("document.querySelector('details').open = true; document.getElementById('packet').click()")
            browser.run("new Promise(done => setTimeout(done, 200))")
            browser.run(axe + "; 0")
            found = browser.run(
                "axe.run().then(done => JSON.stringify(done.violations.map(v => [v.id, v.nodes[0].html])))"
            )
            failed.check(f"{size} {scheme}: axe: {found}", holds=found == "[]")
    version: str = browser.run("axe.version")
    browser.prefer("light")
    return version


def _picture(browser: Chromium) -> None:
    """Write the picture of README and of the page's documentation."""
    browser.prefer("light")
    _ready(browser, "desktop")
    browser.run("scrollTo(0, 0)")
    browser.save(ROOT / "docs" / "img" / "arbiter.png", _PICTURE_HEIGHT)


def _main() -> int:
    axe, failed = _axe(), Failures()
    try:
        with Chromium(find_chromium()) as browser:
            version = _screens(browser, axe, failed)
            _ready(browser, "desktop")
            captures, tables = _captures(browser, failed), _tables(browser, failed)
            _keyboard(browser, failed)
            _hostile(browser, failed)
            _verdicts(browser, failed)
            _link(browser, failed)
            product = browser.version()
            if "--picture" in sys.argv:
                _picture(browser)
    except BrowserMissingError as error:
        sys.stderr.write(f"vlane: {error}\n")
        return 2
    for each in failed:
        sys.stderr.write(f"{each[:600]}\n")
    sizes = f"{', '.join(SIZES)}; light and dark"
    stored = {"browser": product, "axe-core": version, "screens": sizes, **captures, "random tables": tables}
    STORED.write_text(json.dumps({**stored, "differences": len(failed)}, indent=2) + "\n")
    sys.stdout.write(f"{STORED.read_text()}pictures are in {PICTURES.relative_to(ROOT)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(_main())
