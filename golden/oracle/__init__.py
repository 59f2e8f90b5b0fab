"""Every block of the catalogue as an oracle: a kernel that runs one clock cycle, words of inputs to words of outputs.

Golden's blocks have the interface that suits networks and benches. Here each is brought behind its component's ports,
which Python (``vlane.oracle``) and C (``vlane export oracle``) call alike (``docs/oracle.md``).
"""
