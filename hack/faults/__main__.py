"""`python -m faults KUBECONFIG FOLDER`: see `proxy.py`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from faults.proxy import serve


async def _until_signalled(kubeconfig: Path, folder: Path) -> None:
    serving = asyncio.create_task(serve(kubeconfig, folder))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


if __name__ == "__main__":
    asyncio.run(_until_signalled(Path(sys.argv[1]), Path(sys.argv[2])))
