"""Hardware of the register port and of the AXI4-Lite interface."""
