"""Tests of the page in the browser: the translated functions without a browser, and the build."""
