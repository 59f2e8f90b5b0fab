"""Oracles: golden blocks stepped cycle by cycle, and the programs of their tables (``docs/oracle.md``)."""
