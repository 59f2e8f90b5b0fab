"""Planted bugs of the reaction point."""

from __future__ import annotations

from vlane.tb.machinery.plants.plant import Plant

_FILE, _PRODUCT = "hdl/ethernet/ecm_rp.py", "hdl/ethernet/serial_multiplier.py"
PLANTS = (
    Plant(
        "above-the-link",
        "A limiter whose rate exceeds the link's is not removed.",
        _FILE,
        "removes.eq(rises & (self.raised >= self.link)),",
        "removes.eq(rises & (self.raised == self.link)),",
    ),
    Plant(
        "below-the-least",
        "A rate falls below the minimum rate.",
        _FILE,
        "m.d.sync += self.change.eq(Mux(lowered < self.least, self.least, lowered))",
        "m.d.sync += self.change.eq(lowered)",
    ),
    Plant(
        "positive-installs",
        "Any feedback installs a limiter.",
        _FILE,
        "installs.eq((stops | falls) & ~self.was),",
        "installs.eq((stops | tells) & ~self.was),",
    ),
    Plant(
        "anybody-raises",
        "Any congestion point raises a rate.",
        _FILE,
        "rises.eq((tells & self.is_rise & self.was & (mine | any_probe)) | drifts),",
        "rises.eq((tells & self.is_rise & self.was) | drifts),",
    ),
    Plant(
        "bucket-without-bottom",
        "Tokens are not clamped to a full bucket.",
        _FILE,
        "m.d.sync += self.record.tokens.eq(Mux(self.product > self.bucket, self.bucket, self.product))",
        "m.d.sync += self.record.tokens.eq(self.product)",
    ),
    Plant(
        "tokens-are-kept",
        "A frame that starts takes no tokens.",
        _FILE,
        "with m.If(enough & ~self.visits):",
        "with m.If(enough & self.visits):",
    ),
    Plant(
        "stop-is-not-kept",
        "A stopped flow resumes at once.",
        _FILE,
        "m.d.sync += [record.rate.eq(self.least), record.tokens.eq(self.bucket), record.last.eq(self.at + 1 + wait)]",
        "m.d.sync += [record.rate.eq(self.least), record.tokens.eq(self.bucket), record.last.eq(self.at)]",
    ),
    Plant(
        "who-is-forgotten",
        "The CPID that lowers a rate is stored only the first time.",
        _FILE,
        "with m.If(stops | falls):",
        "with m.If(stops | (falls & ~self.was)):",
    ),
    Plant(
        "three-bits-of-four",
        "The highest bit of each digit is ignored in a product.",
        _PRODUCT,
        "self.part.eq(sum((self.held & digit[bit].replicate(FACTOR_BITS)) << bit for bit in range(_DIGIT))),",
        "self.part.eq(sum((self.held & digit[bit].replicate(FACTOR_BITS)) << bit for bit in range(_DIGIT - 1))),",
    ),
    Plant(
        "strict-takes-any-probe",
        "With strict set, the probe of any congestion point raises a rate.",
        _FILE,
        "any_probe = (notice == Notice.PROBE) & (not self.parameters.strict)",
        "any_probe = notice == Notice.PROBE",
        instance="strict",
        parameters={"strict": True},
    ),
    Plant(
        "flows-past-127-share-records",
        "Flow 128 and those above it use the records of the flows below.",
        _FILE,
        "self.place = Signal(range(p.flows))",
        "self.place = Signal(range(min(p.flows, 128)))",
        instance="small",
        parameters={"flows": 256},
    ),
)
"""Planted bugs, each a change of one line."""
