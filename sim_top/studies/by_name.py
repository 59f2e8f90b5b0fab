"""Studies by name. Each module is imported when it is used."""

from __future__ import annotations

from importlib import import_module

from vlane.errors import unknown_word
from vlane.sim_top.studies.paper_study import PaperStudy

STUDIES = {
    "congestion": "vlane.sim_top.studies.study_congestion",
    "dtable": "vlane.sim_top.studies.study_dtable",
    "e2cm": "vlane.sim_top.studies.study_e2cm",
    "packet-size": "vlane.sim_top.studies.study_packet_size",
    "voqsw": "vlane.sim_top.studies.study_voqsw",
}
"""Module of each study; it defines ``STUDY``."""


def study_by_name(name: str) -> PaperStudy:
    """Return a study by name.

    Raises
    ------
    InputError
        If no study has this name.

    Examples
    --------
    >>> study_by_name("dtable").parts["main"]
    'the paper'
    """
    if name not in STUDIES:
        raise unknown_word("NAME", list(STUDIES), name)
    study: PaperStudy = import_module(STUDIES[name]).STUDY
    return study
