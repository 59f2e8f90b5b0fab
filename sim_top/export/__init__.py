"""Files for other tools: Verilog, registers, testbenches, cores."""
