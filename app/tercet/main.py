"""Assembles the service: middleware, routers, error handlers and lifespan."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute, Mount
from starlette.types import ASGIApp

from tercet import migrate
from tercet.accounts import audit_api, openid_pages, users_api, users_pages
from tercet.accounts import pages as accounts_pages
from tercet.accounts.admission import BodyAdmission
from tercet.accounts.openid import Provider
from tercet.accounts.usage import Uses
from tercet.alternatives import api as alternatives_api
from tercet.alternatives import pages as alternatives_pages
from tercet.answers import api as answers_api
from tercet.answers import pages as answers_pages
from tercet.archives import api as archives_api
from tercet.archives import pages as archives_pages
from tercet.backups import api as backups_api
from tercet.backups.schedule import BackupSchedule
from tercet.catalogue import api as catalogue_api
from tercet.comparisons import api as comparisons_api
from tercet.comparisons import pages as comparisons_pages
from tercet.dashboard import api as dashboard_api
from tercet.dashboard import items_api as dashboard_items_api
from tercet.dashboard import pages as dashboard_pages
from tercet.database import Database
from tercet.edits import api as edits_api
from tercet.exchange import api as exchange_api
from tercet.exchange import pages as exchange_pages
from tercet.exchange import predictions_api
from tercet.help import pages as help_pages
from tercet.history import api as history_api
from tercet.history import pages as history_pages
from tercet.intake import api as intake_api
from tercet.intake import imports_api
from tercet.intake import pages as intake_pages
from tercet.items import api as items_api
from tercet.labeling import api as labeling_api
from tercet.labeling import pages as labeling_pages
from tercet.labeling.answer_writer import AnswerWriter
from tercet.labeling.leasing import Leasing
from tercet.labeling.queue_heads import QueueHeads
from tercet.labeling.top_ups import TopUps
from tercet.live import api as live_api
from tercet.live.feed import Feed
from tercet.live.outages import Outages
from tercet.people import api as people_api
from tercet.people import pages as people_pages
from tercet.projects import api as projects_api
from tercet.projects import invitations_api, share_links_api, tokens_api
from tercet.projects import pages as projects_pages
from tercet.runs import api as runs_api
from tercet.settings import Settings, asset
from tercet.storage import Storage
from tercet.system import api as system_api
from tercet.system import pages as system_pages
from tercet.system.state import StateCollector
from tercet.tags import api as tags_api
from tercet.web import api_docs, health
from tercet.web.compression import Compression
from tercet.web.errors import install_error_handlers
from tercet.web.logs import RequestLog
from tercet.web.methods import HeadRequests
from tercet.web.openapi import DescribedApp, operation_id
from tercet.web.problems import problems
from tercet.web.queries import refuse_unknown_parameters
from tercet.web.rates import RateLimit, Rates
from tercet.web.readiness import Readiness
from tercet.web.security import AllowedHosts, OriginCheck, PlainAddress, SecurityHeaders
from tercet.web.shedding import LoadShedding
from tercet.web.static_files import VersionedFiles
from tercet.web.sub_path import SubPath, sub_path_of
from tercet.webhooks import api as webhooks_api
from tercet.webhooks.courier import Courier
from tercet.worker.supervisor import Supervisor

# Routes are tried in order: those of labeling and of pictures are requested most.
ROUTERS = (
    labeling_api.answers_router,
    labeling_api.router,
    items_api.router,
    health.router,
    api_docs.router,
    openid_pages.router,
    accounts_pages.router,
    audit_api.router,
    users_api.router,
    users_pages.router,
    backups_api.router,
    projects_api.router,
    invitations_api.router,
    share_links_api.router,
    tokens_api.router,
    people_api.router,
    people_pages.router,
    system_api.router,
    system_pages.router,
    webhooks_api.router,
    projects_pages.router,
    dashboard_items_api.router,
    intake_api.router,
    imports_api.router,
    intake_pages.router,
    exchange_api.router,
    predictions_api.router,
    exchange_pages.router,
    archives_api.router,
    archives_pages.router,
    labeling_pages.router,
    catalogue_api.router,
    runs_api.router,
    live_api.router,
    alternatives_api.router,
    alternatives_pages.router,
    comparisons_api.router,
    comparisons_pages.router,
    help_pages.router,
    answers_api.router,
    answers_pages.router,
    edits_api.router,
    tags_api.router,
    history_api.router,
    history_pages.router,
    dashboard_api.router,
    dashboard_pages.router,
)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the resources of requests, and close them at the end."""
    settings: Settings = app.state.settings
    # Never more threads than connections: a thread that waits for one would stop all the others.
    anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
    await anyio.to_thread.run_sync(migrate.upgrade, app.state.database)
    outages = Outages(app.state.database, app.state.readiness)
    app.state.feed = Feed(app.state.database, app.state.measures.event_lag, outages)
    supervisor = Supervisor(app.state.database, settings)
    courier = Courier(app.state.database, private_too=settings.webhooks_to_private)
    if settings.workers or settings.dask_scheduler:
        supervisor.start()
        courier.start()
    schedule = BackupSchedule(settings)
    schedule.start()
    yield
    await courier.close()
    await app.state.feed.close()
    await anyio.to_thread.run_sync(schedule.stop)
    await anyio.to_thread.run_sync(supervisor.stop)
    await anyio.to_thread.run_sync(app.state.top_ups.close)
    app.state.database.close()


class Service(DescribedApp):
    """The application; some middleware also wraps the handler of crashes."""

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap the stack, which begins with the handler of crashes."""
        settings: Settings = self.state.settings
        stack = SecurityHeaders(super().build_middleware_stack(), settings.frame_origins)
        return SubPath(RequestLog(stack), settings.public_url)


def add_middleware(app: FastAPI, settings: Settings) -> None:
    """Add the middleware, innermost first."""
    app.add_middleware(BodyAdmission, database=app.state.database, max_upload_mb=settings.max_upload_mb)
    app.add_middleware(OriginCheck, public_url=settings.public_url)
    app.add_middleware(PlainAddress)
    app.add_middleware(LoadShedding, threads=settings.threads)
    app.add_middleware(RateLimit, rates=app.state.rates)
    app.add_middleware(Compression)
    app.add_middleware(HeadRequests)
    if settings.cors_origins:
        # Without credentials: other sites' pages may use a token of their own, never the cookie of who looks at them.
        origins = [origin.strip() for origin in settings.cors_origins.split(",")]
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["ETag", "Location", "Retry-After", "X-Request-ID", "Content-Disposition"],
        )
    app.add_middleware(AllowedHosts, public_url=settings.public_url, more=settings.allowed_hosts)


def make_routes() -> list[BaseRoute]:
    """Return the routes of all packages."""
    router = APIRouter(
        responses=problems(400, 422, 429, 503),
        dependencies=[Depends(refuse_unknown_parameters)],
        generate_unique_id_function=operation_id,
    )
    for package_router in ROUTERS:
        router.include_router(package_router)
    return router.routes


# FastAPI analyses routes at their first use, 0.15 s for all: once for all apps of a process.
ROUTES = make_routes()
# Before the others, which would all be tried in vain for each of the scripts and styles of a page.
STATIC = Mount("/static", VersionedFiles(directory=asset("static")), name="static")


def create_app(settings: Settings) -> FastAPI:
    """Build the application from its settings; nothing is opened until it starts."""
    path = sub_path_of(settings.public_url)
    servers = [{"url": path}] if path else None
    app = Service(
        title="Tercet",
        version="1",
        lifespan=lifespan,
        routes=[STATIC, *ROUTES],
        docs_url=None,
        redoc_url=None,
        servers=servers,
        # Nobody collects it here; FastAPI would ask for each request whether somebody does.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.settings = settings
    app.state.database = Database(settings.resolved_database_url(), settings.threads)
    app.state.answer_writer = AnswerWriter(app.state.database)
    app.state.queue_heads = QueueHeads()
    app.state.top_ups = TopUps(app.state.database, app.state.queue_heads)
    app.state.leasing = Leasing()
    app.state.storage = Storage(settings.resolved_storage_url())
    app.state.readiness = Readiness(app.state.database, app.state.storage)
    app.state.uses = Uses(app.state.database)
    app.state.provider = Provider(settings) if settings.oidc_issuer else None
    app.state.rates = Rates()
    app.state.measures = health.Measures()
    app.state.measures.registry.register(StateCollector(app.state.database))
    add_middleware(app, settings)
    install_error_handlers(app)
    return app
