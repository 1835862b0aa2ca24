"""`python -m logitile`: the command line of command.py."""

import sys

from .command.main import main

sys.exit(main())
