"""Callsheet: command-line programs interpreted from definitions, and the same programs in Python.

    import callsheet

    with callsheet.open("suite", site="work") as suite:
        for issue in suite.issues.list(project="DEMO"):
            print(issue["key"])

The names below stay as they are. Everything else in this package is the engine, and may change.
"""

TYPE_CHECKING = False  # as `typing` has it, which takes time to import
if TYPE_CHECKING:
    from .errors import (
        CallsheetError,
        ConfirmationNeeded,
        Conflict,
        NetworkError,
        NotAllowed,
        NotFound,
        RateLimited,
        UsageError,
    )
    from .library.program import Program
    from .library.program import open_program as open  # noqa: A004 - one opens a program, as one opens a file
    from .library.session import PlannedRequest, Record, Rows
    from .library.things import Thing

__version__ = "0.1.0"

__all__ = [
    "CallsheetError",
    "ConfirmationNeeded",
    "Conflict",
    "NetworkError",
    "NotAllowed",
    "NotFound",
    "PlannedRequest",
    "Program",
    "RateLimited",
    "Record",
    "Rows",
    "Thing",
    "UsageError",
    "__version__",
    "open",
]
_PLACES = {  # of those that are not in `errors`
    "PlannedRequest": "library.session",
    "Program": "library.program",
    "Record": "library.session",
    "Rows": "library.session",
    "Thing": "library.things",
    "open": "library.program",
}


def __getattr__(name: str) -> object:
    """Loaded when it is first used: a start of a program needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f".{_PLACES.get(name, 'errors')}", __name__)
    found: object = getattr(module, "open_program" if name == "open" else name)
    globals()[name] = found
    return found
