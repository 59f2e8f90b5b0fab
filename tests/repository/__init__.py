"""Tests of the repository itself: layout, rules, site, caches."""
