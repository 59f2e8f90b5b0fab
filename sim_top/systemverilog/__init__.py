"""Readable SystemVerilog of a component, written from Amaranth's statements (``docs/export.md``)."""
