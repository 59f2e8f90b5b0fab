"""Python interface: the names reached as ``vlane.NAME``, one module per kind of object (``docs/python.md``)."""
