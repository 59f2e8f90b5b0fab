"""Oracles: every block of the catalogue as a kernel that runs one clock cycle from input words to output words.

Golden models have interfaces for networks and benches. An oracle wraps a golden model behind the ports of its hardware
component, for Python (``vlane.oracle``) and C (``vlane export oracle``; ``docs/oracle.md``).
"""
