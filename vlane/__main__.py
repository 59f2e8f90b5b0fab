"""``python -m vlane``: the command line."""

from vlane.sim_top.cli import main

if __name__ == "__main__":
    main()
