"""Cocotb benches that tests of the scoreboard run in a simulator."""
