"""Help pages: guides, which system when, the references of estimators and client, architecture, design language."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from tercet import ESTIMATORS, MODEL_SELECTION
from tercet.errors import NotFound
from tercet.help.guides import NAMES, read_guide, read_guides
from tercet.help.numbers import NUMBERS
from tercet.help.source import read_class, read_operations, read_packages
from tercet.help.tokens import read_tokens
from tercet.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/help")
def index_page(request: Request) -> HTMLResponse:
    """List all help pages."""
    return render(request, "help/index.html", guides=read_guides())


@router.get("/help/guides/{name}")
def guide_page(request: Request, name: str) -> HTMLResponse:
    """Show a guide."""
    if name not in NAMES:
        raise NotFound("There is no guide of this name: /help lists all.")
    return render(request, "help/guide.html", guide=read_guide(name), guides=read_guides())


@router.get("/help/numbers")
def numbers_page(request: Request) -> HTMLResponse:
    """Explain every number that pages and the REST interface show."""
    return render(request, "help/numbers.html", numbers=NUMBERS)


@router.get("/help/systems")
def systems_page(request: Request) -> HTMLResponse:
    """Explain which system to choose."""
    return render(request, "help/systems.html")


@router.get("/help/estimators")
def estimators_page(request: Request) -> HTMLResponse:
    """List the estimators that Python programs import, and what brings them into scikit-learn's model selection."""
    lists = [[read_class(name) for name in names] for names in (ESTIMATORS, MODEL_SELECTION)]
    return render(request, "help/estimators.html", estimators=lists[0], model_selection=lists[1])


@router.get("/help/estimators/{name}")
def estimator_page(request: Request, name: str) -> HTMLResponse:
    """Show the reference of one estimator."""
    if name not in (*ESTIMATORS, *MODEL_SELECTION):
        raise NotFound("There is no estimator of this name.")
    return render(request, "help/estimator.html", estimator=read_class(name))


@router.get("/help/client")
def client_page(request: Request) -> HTMLResponse:
    """Show how a Python program works with a server, and everything that the client does."""
    return render(request, "help/client.html", operations=read_operations())


@router.get("/help/architecture")
def architecture_page(request: Request) -> HTMLResponse:
    """Show the packages with their glossaries and imports."""
    return render(request, "help/architecture.html", packages=read_packages())


@router.get("/help/design")
def design_page(request: Request) -> HTMLResponse:
    """Show every component that pages are made of, in both themes, and the tokens behind them."""
    return render(request, "help/design.html", tokens=read_tokens())
