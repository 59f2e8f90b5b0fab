"""Golden models of both credit schemes, sender and receiver."""
