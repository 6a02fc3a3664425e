"""Web addresses in the browser of the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .context import Context


def show_in_browser(context: Context, url: str) -> None:
    """Where no browser can be started, the address is printed."""
    import webbrowser

    if webbrowser.open(url):
        context.note(f"opened {url}")
        return
    context.note("no browser could be started")
    context.streams.out.write(url + "\n")
