"""Planners: tables computed from what is asked of a fabric."""
