"""Results of a fabric check for monitoring systems: a line for Nagios, text exposition for Prometheus."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from vlane.fabric.finding import CODES, ERRORS, NOTES
from vlane.fabric.verdict import checked_pairs, counts, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vlane.fabric.check import FabricReport
    from vlane.fabric.model import Fabric

NAGIOS = {"OK": 0, "WARNING": 1, "CRITICAL": 2, "UNKNOWN": 3}
"""Exit status by word, as the Nagios plug-in guidelines define it."""
_LONGEST = 300


def nagios_line(fabric: Fabric, report: FabricReport) -> tuple[str, int]:
    """Return the line of a Nagios plug-in with performance data, and the exit status.

    Errors are CRITICAL. Warnings, and incomplete coverage of a class of findings, are WARNING.
    """
    word = "OK" if report.spotless else "WARNING" if report.ok else "CRITICAL"
    first = next((each for each in report.warnings if each.severity == ("warning" if report.ok else "error")), None)
    detail = "" if first is None else f"; {first.code} {first.where}: {first.message}"
    text = f"{fabric.name} {verdict(report, ok=report.ok)}; {', '.join(counts(report))}{detail}"
    pairs = checked_pairs(report)
    numbers = {
        "loops": f"{len(report.loops)};;0",
        "unreachable": f"{report.unreachable_pairs};;0",
        "unserved": f"{len(report.unserved)};;0",
        "warnings": f"{sum(each.severity == 'warning' for each in report.warnings)};0",
        "pairs_checked": f"{pairs.checked};;;0;{pairs.present}",
    }
    return f"FABRIC {word} - {_one_line(text)} | {_performance(numbers)}", NAGIOS[word]


def nagios_unknown(reason: str) -> tuple[str, int]:
    """Return the line and the exit status for an unreadable capture."""
    return f"FABRIC UNKNOWN - {_one_line(reason)}", NAGIOS["UNKNOWN"]


def _one_line(text: str) -> str:
    """Return a shortened text in one line, without bars, because a bar begins the performance data."""
    text = text.replace("|", "/").replace("\n", " ")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _performance(numbers: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in numbers.items())


def prometheus_text(fabric: Fabric, report: FabricReport, *, ok: bool) -> str:
    """Return the result in the text exposition format of Prometheus."""
    return "".join(f"{line}\n" for line in _exposition(fabric, report, ok=ok))


def _exposition(fabric: Fabric, report: FabricReport, *, ok: bool) -> Iterator[str]:
    label = f'fabric="{_escaped(fabric.name)}"'

    def gauge(name: str, text: str, *samples: tuple[str, int]) -> Iterator[str]:
        yield f"# HELP vlane_fabric_{name} {text}"
        yield f"# TYPE vlane_fabric_{name} gauge"
        for labels, value in samples:
            yield f"vlane_fabric_{name}{{{label}{labels}}} {value}"

    found = Counter(finding.code for finding in report.warnings)
    yield from gauge("ok", "Whether the check holds as far as was checked.", ("", int(ok)))
    yield from gauge("credit_loops", "Number of credit loops.", ("", len(report.loops)))
    yield from gauge(
        "unreachable_pairs",
        "Number of ordered pairs of adapters whose packets do not arrive.",
        ("", report.unreachable_pairs),
    )
    yield from gauge("unserved_lanes", "Number of lanes in use that no entry serves.", ("", len(report.unserved)))
    yield from gauge(
        "findings",
        "Number of findings by code.",
        *((f',code="{code}",severity="{_severity(code)}"', found[code]) for code in CODES),
    )
    for name, text in (("checked", "checked without an assumption"), ("present", "in the fabric")):
        samples = (
            (f',code="{code}",element="{each.element}"', getattr(each, name)) for code, each in report.coverage.items()
        )
        yield from gauge(f"elements_{name}", f"Number of elements {text}, by code of the finding.", *samples)


def _severity(code: str) -> str:
    return "error" if code in ERRORS else "note" if code in NOTES else "warning"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
