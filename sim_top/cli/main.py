"""Entry point of the command line: ``vlane VERB ...``."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

import typer

import vlane
from vlane.documents.document import placed
from vlane.documents.files import inputs_kept
from vlane.errors import InputError
from vlane.isolation import guarded_variables
from vlane.sim_top.cli.verbs import App, CheckFailedError, LoadedVerbs, Verb, refused_call, tell_why
from vlane.sim_top.output.console import complain
from vlane.sim_top.output.interrupts import Interrupted, interruptible
from vlane.sim_top.output.progress import show_progress
from vlane.sim_top.output.streams import output_guarded

VERBS = {
    module.rpartition(".")[2]: Verb(f"vlane.sim_top.cli.{module}", first_sentence)
    for module, first_sentence in {
        "fabric": "Inspect and check a fabric captured from its subnet manager.",
        "dtable": "Plan Deficit Tables.",
        "vlarb": "Explain and plan InfiniBand VL arbitration tables.",
        "voqsw": "Plan virtual output queuing in software: SL2VL tables and path SLs.",
        "block_verbs.cosim": "Run hardware against golden and compare every output in every cycle.",
        "block_verbs.prove": "Prove the block's properties, by k-induction or to a bounded depth,"
        " at small and full size.",
        "block_verbs.plants": "Plant one-line bugs, one at a time, and report which ones the proofs"
        " and the lockstep detect.",
        "block_verbs.mutate": "Run mutants of the block through the lockstep and list survivors.",
        "block_verbs.coverage": "Report the lines, branches and toggles of the block's Verilog that"
        " its lockstep reaches.",
        "block_verbs.upsets": "Flip bits of the block's state, one per run, and classify the effect on its outputs.",
        "egress": "Run packets through one output port.",
        "simulate": "Run every load and seed of a study.",
        "rerun": "Run the study of a results folder again, from the folder alone, and compare all deliveries.",
        "study": "Run a paper's study and compare its figures with the published ones.",
        "plot": "Draw one column of results against another: means over seeds, 95 % intervals.",
        "compare": "Compare the runs that are in both results.",
        "block_verbs.soak": "Compare random instances of a block with golden, each with traffic of its own.",
        "block_verbs.evidence": "Sum the cycles compared in recorded soaks, by block, and report how"
        " many match the current RTL.",
        "block_verbs.export": "Write the block's SystemVerilog, port table, FuseSoC core and, on request, a testbench"
        " that needs no Python.",
        "block_verbs.area": "Synthesise blocks, or your own design, and estimate the clock frequency.",
        "schema": "Print the JSON schema of a kind of file, for editors, or its keys as tables.",
        "configs": "List the shipped examples, or copy examples with all files named in them.",
    }.items()
}
"""Verbs of the command line, by name."""


class _Verbs(LoadedVerbs):
    verbs = VERBS


app = App(
    name="vlane",
    cls=_Verbs,
    help="Cycle-accurate InfiniBand and Omni-Path QoS hardware: check a fabric, run its tables, export Verilog.",
)


def _version(asked: bool) -> None:  # noqa: FBT001 - what typer calls
    if asked:
        sys.stdout.write(f"vlane {vlane.__version__}\n")
        raise typer.Exit


@app.callback()
def _every_verb(
    version: Annotated[  # noqa: FBT002 - its callback acts
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Cycle-accurate InfiniBand and Omni-Path QoS hardware: check a fabric, run its tables, export Verilog."""


def main() -> NoReturn:
    """Run the command line and exit.

    Bad input gives one line on stderr and exit status 2, a failed check exit status 1. A signal gives one line and exit
    status 128 plus its number.
    """
    os.environ.update(guarded_variables())
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # no matrix is multiplied, and its threads cost 0.1 s to start
    show_progress()
    with output_guarded(), inputs_kept(), interruptible():
        _run()


def _run() -> NoReturn:
    try:
        status = app(standalone_mode=False, prog_name="vlane")
    except InputError as error:
        _refuse(error)
    except CheckFailedError as error:
        tell_why(str(error))
        sys.exit(1)
    except MemoryError:
        tell_why("out of memory: the requested instance or network is too large for this machine")
        sys.exit(2)
    except RecursionError:
        tell_why("the input is nested too deep")
        sys.exit(2)
    except Interrupted as stop:
        tell_why("interrupted")
        sys.exit(stop.status)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            complain(str(error))
            sys.exit(2)
        refused = refused_call(error)
        if refused is None:
            raise
        _refuse(refused)
    sys.exit(status if isinstance(status, int) else 0)


def _refuse(error: InputError) -> NoReturn:
    error = placed(error)
    tell_why(str(error), error)
    sys.exit(2)
