"""Entry point of ``python -m vlane``."""

from vlane.isolation import leave_out_working_directory

leave_out_working_directory()

from vlane.sim_top.cli.main import main  # noqa: E402 - nothing is imported before the path is as it should be

if __name__ == "__main__":
    main()
