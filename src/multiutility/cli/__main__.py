"""``python -m multiutility.cli``."""

from multiutility.cli import main

main()
