"""Plug-ins for vlane: each module registers what it holds when it is imported."""
