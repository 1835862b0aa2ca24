"""`python -m logitile`: the command line of command.py."""

import sys

from .command import main

sys.exit(main())
