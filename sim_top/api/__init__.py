"""The Python interface: what ``vlane.NAME`` gives, a module for each kind of thing (``docs/python.md``)."""
