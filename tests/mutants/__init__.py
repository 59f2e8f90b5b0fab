"""Mutants of Python modules, and the tests of ``make test`` that notice them."""
