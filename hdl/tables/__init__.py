"""Hardware of the look-up tables: forwarding, SL to VL, SC to VL."""
