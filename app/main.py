"""Assembles the service: middleware, routers, error handlers, lifespan; nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.middleware.sessions import SessionMiddleware
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from app import api_docs, health, migrate
from app.accounts import pages as accounts_pages
from app.accounts.usage import TokenUses
from app.answers import api as answers_api
from app.answers import pages as answers_pages
from app.clustering import api as clustering_api
from app.clustering.supervisor import Supervisor
from app.comparing import api as comparing_api
from app.comparing import pages as comparing_pages
from app.dashboard import api as dashboard_api
from app.dashboard import pages as dashboard_pages
from app.database import Database
from app.errors import install_error_handlers
from app.exchange import api as exchange_api
from app.feed import Feed
from app.items import api as items_api
from app.labeling import api as labeling_api
from app.labeling import pages as labeling_pages
from app.labeling.together import Together
from app.logs import RequestLog
from app.projects import api as projects_api
from app.projects import pages as projects_pages
from app.responses import problems
from app.security import BodyLimit, OriginCheck, PlainAddress, SecurityHeaders
from app.settings import Settings, asset
from app.storage import Storage
from app.views import api as views_api
from app.views import pages as views_pages

YEAR_SECONDS = 365 * 24 * 3600
# Routes are tried one after the other, and no others are asked for nearly as often as those of labeling.
ROUTERS = (
    labeling_api.router,
    health.router,
    api_docs.router,
    accounts_pages.router,
    projects_api.router,
    projects_pages.router,
    items_api.router,
    exchange_api.router,
    labeling_pages.router,
    clustering_api.catalogue,
    clustering_api.router,
    views_api.router,
    views_pages.router,
    comparing_api.router,
    comparing_pages.router,
    answers_api.router,
    answers_pages.router,
    dashboard_api.router,
    dashboard_pages.router,
)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open what requests need and close it at the end."""
    settings: Settings = app.state.settings
    # Never more threads than connections: a thread that waits for one would stop all the others.
    anyio.to_thread.current_default_thread_limiter().total_tokens = settings.threads
    await anyio.to_thread.run_sync(migrate.upgrade, app.state.database)
    app.state.feed = Feed(app.state.database)
    supervisor = Supervisor(app.state.database, settings)
    if settings.workers or settings.dask_scheduler:
        supervisor.start()
    yield
    await app.state.feed.close()
    await anyio.to_thread.run_sync(supervisor.stop)
    app.state.database.close()


class Service(FastAPI):
    """The application; what must also see the page of a crash stands around everything else."""

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap the stack, which begins with the handler of crashes."""
        return RequestLog(SecurityHeaders(super().build_middleware_stack()))


def add_middleware(app: FastAPI, settings: Settings) -> None:
    """Add what requests pass on their way in, innermost first."""
    app.add_middleware(BodyLimit, megabytes=settings.max_upload_mb)
    app.add_middleware(
        SessionMiddleware,
        secret_key=settings.resolved_secret_key(),
        session_cookie="tercet",
        max_age=YEAR_SECONDS,
        same_site="lax",
        https_only=settings.public_url.startswith("https:"),
    )
    app.add_middleware(OriginCheck, public_url=settings.public_url)
    app.add_middleware(PlainAddress)


def make_routes() -> list[BaseRoute]:
    """Gather the routes of all folders."""
    router = APIRouter(responses=problems(422))
    for one in ROUTERS:
        router.include_router(one)
    return router.routes


# FastAPI works out what routes take when they are first asked for, 0.15 s for all: once for every app of a process.
ROUTES = make_routes()


def create_app(settings: Settings) -> FastAPI:
    """Build the application from its settings; nothing is opened until it starts."""
    app = Service(title="Tercet", version="1", lifespan=lifespan, routes=ROUTES, docs_url=None, redoc_url=None)
    app.state.settings = settings
    app.state.database = Database(settings.resolved_database_url(), settings.threads)
    app.state.together = Together(app.state.database)
    app.state.leasing = asyncio.Semaphore(labeling_api.LEASING_AT_ONCE)
    app.state.storage = Storage(settings.resolved_storage_url())
    app.state.token_uses = TokenUses(app.state.database)
    app.state.measures = health.Measures()
    add_middleware(app, settings)
    install_error_handlers(app)
    app.mount("/static", StaticFiles(directory=asset("static")), name="static")
    return app
