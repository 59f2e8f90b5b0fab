"""Area and speed on FPGAs and in gates."""
