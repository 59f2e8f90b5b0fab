"""Golden models of both credit schemes, for sender and receiver."""
