"""Hardware that every family uses: one-hot selection, list search, round robin, stored registers with parity."""
