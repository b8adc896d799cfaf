"""Scripts of the suites for Node.js find the official clients in `node_modules` beside them."""

import os
from pathlib import Path


def with_clients(script: Path) -> str:
    """The script, with the clients beside it that tests/clients/setup has installed."""
    link = script.parent / "node_modules"
    installed = Path(os.environ["SKEP_CACHE"]) / "js/node_modules"
    if not link.exists():
        if not installed.is_dir():
            setup = Path(__file__).resolve().parents[1] / "setup"
            raise AssertionError(f"the clients of Node.js are not installed: {installed} is missing. Run `{setup} js`")
        # It may lead to a cache that is gone.
        link.unlink(missing_ok=True)
        link.symlink_to(installed)
    return str(script)
