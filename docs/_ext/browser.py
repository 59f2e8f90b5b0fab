"""Open pages in Chromium without a window, through its DevTools pipe: what goes wrong on them, and pictures of them."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["SIZES", "BrowserMissingError", "Chromium", "find_chromium"]

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
"""Width and height of the screens, in CSS pixels."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE_S = 60
_KEY_NUMBERS = {"Tab": 9, "Enter": 13, "Space": 32}
_MOST_TALL = 6000
"""Pixels of a page that its picture shows."""


class BrowserMissingError(Exception):
    """There is no browser, or it does not answer."""


def find_chromium() -> str:
    """Return the program: that of ``$CHROMIUM``, or the first one on the path.

    Raises
    ------
    BrowserMissingError
        If there is none, with the command that installs it.
    """
    names = (given,) if (given := os.environ.get("CHROMIUM")) else _NAMES
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        missing = f"$CHROMIUM, {given}," if given else "chromium"
        raise BrowserMissingError(
            f"{missing} is missing. Install it with: apt-get install chromium  (Fedora: dnf install chromium),"
            " or name one in CHROMIUM=..."
        )
    return found


class Chromium:
    """Context manager of a running browser with one tab.

    Parameters
    ----------
    program : str
        Of Chromium or Chrome.
    """

    def __init__(self, program: str) -> None:
        self._program = program
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self._held = b""
        self._session = ""

    def __enter__(self) -> Chromium:
        self._home = tempfile.TemporaryDirectory(prefix="vlane-browser-", ignore_cleanup_errors=True)
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        command = [
            self._program,
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-extensions",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={self._home.name}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
        ]
        # Chromium reads its commands from descriptor 3 and answers on 4; the pipe's ends are moved above them first.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", f'exec 3<&{ends[0]} 4>&{ends[1]}; exec "$@"', "bash", *command],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        try:
            tab = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self._call(f"{domain}.enable")
        except BrowserMissingError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, BrowserMissingError):
            self._session = ""
            self._call("Browser.close")
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def look(self, page: Path, picture: Path, size: str, *, whole: bool = False) -> list[str]:
        """Open a page, write a picture of it, and return what is wrong with it.

        Wrong are errors on the console, exceptions, files that are missing, anything that is asked of a network, and a
        page that is wider than the screen.

        Parameters
        ----------
        page : Path
            An HTML file.
        picture : Path
            A PNG file to be written.
        size : str
            A screen of ``SIZES``.
        whole : bool
            Whether the page must be one file that loads nothing else.
        """
        width, _ = SIZES[size]
        address = self.open(page, size)
        self.run("new Promise(done => setTimeout(done, 300))")
        wide = self.run("document.documentElement.scrollWidth")
        self.save(picture, _MOST_TALL)
        wrong = list(_complaints(self._events, address, whole=whole))
        if wide > width:
            wrong.append(f"{wide} pixels wide on a screen of {width}")
        return wrong

    def open(self, page: Path, size: str, *, fragment: str = "") -> str:
        """Open a page at a size of ``SIZES``, and return its address without the fragment."""
        width, height = SIZES[size]
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
        self._call("Emulation.setDeviceMetricsOverride", **screen)
        address = page.resolve().as_uri()
        # A blank page between two pages makes a change of the fragment load the page again.
        for url in ("about:blank", f"{address}{fragment}"):
            self._events.clear()
            self._call("Page.navigate", url=url)
            self._wait_for("Page.loadEventFired")
        return address

    def prefer(self, scheme: str) -> None:
        """Make pages see a preferred colour scheme, ``light`` or ``dark``."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page that is open. A promise is awaited."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    def press(self, key: str, *, control: bool = False) -> None:
        """Press and release a key: a letter, or a name such as ``Tab``, ``Enter`` or ``Space``."""
        letter = " " if key == "Space" else key
        code, number = (f"Key{key.upper()}", ord(key.upper())) if len(key) == 1 else (key, _KEY_NUMBERS[key])
        text = {"Enter": "\r", "Space": " "}.get(key, "")
        event = {"key": letter, "code": code, "windowsVirtualKeyCode": number, "modifiers": 2 if control else 0}
        commands = {"commands": ["selectAll"]} if control and key == "a" else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}), **commands)
        self._call("Input.dispatchKeyEvent", type="keyUp", **event)

    def write(self, text: str) -> None:
        """Type a text into the focused field."""
        self._call("Input.insertText", text=text)

    def version(self) -> str:
        """Return name and version of the browser."""
        return str(self._call("Browser.getVersion")["product"])

    def complaints(self, address: str) -> list[str]:
        """Return the errors of the page opened last, which must be one file."""
        return list(_complaints(self._events, address, whole=True))

    def save(self, picture: Path, most_tall: int) -> None:
        """Write a picture of the page that is open, at most ``most_tall`` pixels high."""
        wide, tall = self.run("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": wide, "height": min(tall, most_tall), "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        call = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        try:
            os.write(self._to, json.dumps(call).encode() + b"\0")
        except OSError as error:
            raise BrowserMissingError(f"{self._program} ended: {error.strerror}") from None
        number = self._number
        answer = self._read(lambda told: told.get("id") == number)
        if "error" in answer:
            raise BrowserMissingError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _wait_for(self, event: str) -> None:
        if not any(told.get("method") == event for told in self._events):
            self._read(lambda told: told.get("method") == event)

    def _read(self, is_it: Any) -> dict[str, Any]:
        """Return the first message that answers the request, and keep events."""
        last = time.monotonic() + _PATIENCE_S
        while True:
            while b"\0" not in self._held:
                if not select.select([self._from], [], [], max(0, last - time.monotonic()))[0]:
                    raise BrowserMissingError(f"{self._program} does not answer")
                got = os.read(self._from, 1 << 16)
                if not got:
                    raise BrowserMissingError(f"{self._program} ended")
                self._held += got
            one, _, self._held = self._held.partition(b"\0")
            told: dict[str, Any] = json.loads(one)
            if "method" in told:
                self._events.append(told)
            if is_it(told):
                return told


def _complaints(events: list[dict[str, Any]], address: str, *, whole: bool) -> Iterator[str]:
    for told in events:
        about = told.get("params", {})
        if told["method"] == "Runtime.exceptionThrown":
            thrown = about["exceptionDetails"]
            yield f"exception: {thrown.get('exception', {}).get('description') or thrown['text']}"
        elif told["method"] == "Runtime.consoleAPICalled" and about["type"] in {"error", "assert"}:
            yield f"console: {' '.join(str(each.get('value', each.get('description'))) for each in about['args'])}"
        elif told["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
            yield f"console: {about['entry']['text']} {about['entry'].get('url', '')}".rstrip()
        elif told["method"] == "Network.requestWillBeSent":
            asked = about["request"]["url"]
            if asked.startswith(("http:", "https:", "ws:", "wss:")):
                yield f"asks the network for {asked}"
            elif whole and asked.startswith("file:") and asked.partition("#")[0] != address:
                yield f"loads {asked}"
