"""Endpoints for monitoring: liveness, readiness and metrics."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import Scope

from tercet.web.errors import problem_json
from tercet.web.readiness import Readiness

router = APIRouter(include_in_schema=False)

# Answers should take single milliseconds, exports may take minutes: the buckets cover both.
SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)
# Open pages are to hear of changes within a second or two.
LAG_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 30.0)


class Measures:
    """The counters of one app; each has a registry of its own, so that tests may build many apps."""

    def __init__(self) -> None:
        """Make the counters."""
        self.registry = CollectorRegistry()
        labels = ["method", "route"]
        self.requests = Counter("tercet_requests", "Requests", [*labels, "status"], registry=self.registry)
        self.seconds = Histogram(
            "tercet_response_start_seconds",
            "Seconds until the response starts",
            labels,
            buckets=SECONDS,
            registry=self.registry,
        )

        self.event_lag = Histogram(
            "tercet_event_lag_seconds",
            "Seconds from an event to its delivery to the listeners of this process",
            buckets=LAG_SECONDS,
            registry=self.registry,
        )

    def started(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a response under its route's pattern: paths are unbounded and may hold secrets."""
        labels = (scope["method"], getattr(scope.get("route"), "path", "none"))
        self.requests.labels(*labels, status).inc()
        self.seconds.labels(*labels).observe(seconds)


@router.get("/healthz")
async def health() -> dict[str, str]:
    """Report that the process is alive, even while all threads are busy."""
    return {"status": "ok"}


@router.get("/readyz")
def ready(request: Request) -> Response:
    """Report whether what is sent can be stored, too."""
    readiness: Readiness = request.app.state.readiness
    outage = readiness.outage()
    if outage is not None:
        body = problem_json(503, outage.detail) | {"since": outage.since.isoformat(), "then": outage.then}
        return JSONResponse(body, 503, media_type="application/problem+json")
    return JSONResponse({"status": "ready"})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Return the counters in Prometheus' text form; they hold no keys, names or contents."""
    measures: Measures = request.app.state.measures
    return Response(generate_latest(measures.registry), media_type=CONTENT_TYPE_LATEST)
