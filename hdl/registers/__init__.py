"""Hardware of the register port and of its AXI4-Lite interface."""
