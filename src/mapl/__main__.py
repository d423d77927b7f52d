"""The console entry point: ``mapl`` or ``python -m mapl``."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line and run it; an interrupt while loading is as quiet as one while running."""
    try:
        from mapl.cli import main as run
    except KeyboardInterrupt:
        print("mapl: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
