"""The terminal recording of README is made from real output."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.repository.test_site import extension

recording = extension("recording")
SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def lines_of(picture: str) -> list[str]:
    """Return the text of every line of a picture."""
    return [each.text or "" for each in ET.fromstring(picture).iter(SVG_TEXT)]  # noqa: S314


def test_a_picture_shows_each_command_and_its_output() -> None:
    """Given two scenes, the picture is XML with their lines in order, and the second scene starts hidden."""
    scenes = [recording.Scene("vlane one", ("a < b", "")), recording.Scene("vlane two", ("c & d",))]

    picture = recording.draw(scenes)

    assert lines_of(picture) == ["$ vlane one", "a < b", "", "$ vlane two", "c & d"]
    assert ".scene1 text{opacity:0}" in picture
    assert picture == recording.draw(scenes)


def test_speeds_and_seconds_are_left_out_of_a_recording() -> None:
    """Given a row of CPU seconds, its numbers become dots of the same width, so that tables stay aligned."""
    assert recording._without_seconds("│ CPU seconds │  0.16 │ 11.30 │") == "│ CPU seconds │   ... │   ... │"
    assert recording._without_seconds("│ deliveries  │ 227,866 │") == "│ deliveries  │ 227,866 │"


def test_the_recording_of_the_readme_holds_the_output_of_fabric_check() -> None:
    """Given the first command of the recording, its output is in the committed picture."""
    scene = recording.record(recording.COMMANDS[0])

    shown = lines_of(recording.PICTURE.read_text(encoding="utf-8"))

    assert shown[: len(scene.lines) + 1] == [f"$ {scene.command}", *scene.lines]


@pytest.mark.long
def test_the_recording_of_the_readme_is_the_output_of_its_commands() -> None:
    """Given all commands of the recording, the picture made from their output equals the committed one."""
    command = [sys.executable, str(recording.__file__), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
