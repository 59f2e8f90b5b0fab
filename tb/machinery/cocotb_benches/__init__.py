"""Common part of the cocotb benches."""
