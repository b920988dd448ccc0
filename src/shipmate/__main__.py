"""`python -m shipmate` is `shipmate`."""

from shipmate.cli import main

main()
