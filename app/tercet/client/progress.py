"""A progress bar of long work, in terminals and notebooks; nothing where output goes to a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Called with the share that is done, from 0 to 1, and words for it.
Report = Callable[[float, str], None]


@contextmanager
def progress_bar(words: str, *, shown: bool) -> Iterator[Report]:
    """Show a bar for as long as the block lasts, and give what moves it."""
    if not shown:
        yield lambda share, words: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words, total=1.0)
        yield lambda share, words: bar.update(task, completed=share, description=words)
