"""The hardware: every block in Amaranth."""
