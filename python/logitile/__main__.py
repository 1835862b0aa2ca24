"""`python -m logitile`: the command line of command/main.py."""

import sys

from .command.main import main

sys.exit(main())
