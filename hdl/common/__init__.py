"""Parts of hardware that every family uses: selection, parameter checks, list search, round robin."""
