"""Area and speed on FPGA and in gates."""
