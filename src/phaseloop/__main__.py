"""`python -m phaseloop`: the command line."""

from phaseloop.cli.main import main

if __name__ == "__main__":
    main()
