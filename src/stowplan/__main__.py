"""`python -m stowplan`."""

from stowplan.cli.main import main

if __name__ == "__main__":
    main()
