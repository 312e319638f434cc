"""`python -m hansard.demo`, which is what `make demo` runs."""

from __future__ import annotations

import sys

from hansard.demo import main

sys.exit(main(sys.argv[1:]))
