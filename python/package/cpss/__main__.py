"""The command ``cpss``: the laboratory, as it comes with the package (``cpss --help``)."""

import signal
import sys

from cpss import _native


def main() -> None:
    """Runs the command with the arguments of this process, and ends it with the command's exit status."""
    # Ctrl-C and a kill are the command's own matter: Python would only note them, and look when the command is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.run_command(["cpss", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
