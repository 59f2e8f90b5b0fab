"""OpenSM's rules for its options, in the compiler's subset of Python: lines, selection, lists, findings."""
