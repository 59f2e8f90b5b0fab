"""Golden models of Ethernet congestion management: ECM, E2CM and PAUSE."""
