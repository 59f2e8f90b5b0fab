"""Translator from golden's subset of Python to C++20 (``docs/compiler.md``)."""
