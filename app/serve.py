"""Runs the web server as one process until it is told to stop."""

import uvicorn

from app import logs
from app.main import create_app
from app.settings import Settings

# Open event streams never end by themselves: without a limit they would hold up every shutdown.
SHUTDOWN_SECONDS = 3


def run_server(settings: Settings, host: str, port: int) -> None:
    """Serve on the address until SIGTERM or Ctrl-C."""
    print(f"Tercet serves on http://{host}:{port} (Ctrl-C stops it)", flush=True)  # noqa: T201 - for the terminal
    logs.configure(settings.log_level, settings.log_json)
    uvicorn.run(
        create_app(settings),
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
