"""Policy files: limits of properties that hold for any arbiter (``docs/elastic.md``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vlane.documents.document import read_document
from vlane.documents.refusal import checked
from vlane.errors import InputError, misplaced

_Count = Annotated[int, Field(ge=0, le=1_000_000_000)]


class Policy(BaseModel):
    """Policy file.

    Parameters
    ----------
    wait : int or None
        Largest number of services of other lanes while a lane requests; not checked if omitted.
    idle : int or None
        Largest number of idle cycles while a request stands; not checked if omitted.
    starve : int or None
        Largest number of cycles in which a requesting lane could be served but is not; not checked if omitted.
    shares : list of int or None
        Relative weights of the lanes.
    window, settle : int
        Number of services per window, and number of services skipped before the first window.
    tolerance : float
        Tolerated deviation from the share of a window in services.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    wait: Annotated[_Count | None, Field(description="Services of other lanes while a lane requests.")] = None
    idle: Annotated[_Count | None, Field(description="Idle cycles while a request stands (work conservation).")] = None
    starve: Annotated[
        _Count | None, Field(description="Cycles in which a lane that requests could be served but is not.")
    ] = None
    shares: Annotated[
        Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(min_length=1)] | None,
        Field(description="Weight of each lane in a window in which all lanes request."),
    ] = None
    window: Annotated[int, Field(ge=1, le=100_000, description="Services per window of shares.")] = 64
    settle: Annotated[_Count, Field(description="Services skipped before the first window.")] = 0
    tolerance: Annotated[float, Field(ge=0, description="Tolerated deviation from a share in services.")] = 1.0

    _source: str = ""

    @model_validator(mode="after")
    def _fit(self) -> Policy:
        if self.shares is None:
            for key in ("window", "settle", "tolerance"):
                if key in self.model_fields_set:
                    raise misplaced(key, "without shares")
        elif not sum(self.shares):
            raise InputError("shares", "weights with a sum above 0", self.shares)
        return self

    def fit(self, lanes: int) -> None:
        """Reject shares for another number of lanes."""
        if self.shares is not None and len(self.shares) != lanes:
            raise InputError("shares", f"a list of {lanes} weights", f"{len(self.shares)} weights", source=self._source)


def read_policy(file: Path) -> Policy:
    """Return the policy of a TOML or JSON file.

    Raises
    ------
    InputError
        If the file cannot be used; the error names line and key.
    """
    policy = checked(Policy, read_document(file, "policy file"), every=True).model_copy()
    policy._source = str(file)
    return policy
