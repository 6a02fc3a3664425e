"""Every error a person can meet, with its exit code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


class CallsheetError(Exception):
    """A failure that is worded for the person at the shell; the entry point prints it without a traceback.

    `message` says what is wrong and where, `hint` what to do, `details` are further lines.
    `status` and `trace_id` come from an HTTP answer, `request` is its method and URL. `code` is the machine-readable
    name in the JSON form.
    """

    exit_code = 1
    code = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        details: Sequence[str] = (),
        status: int | None = None,
        trace_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = tuple(details)
        self.status = status
        self.trace_id = trace_id
        self.request: str | None = None


class UsageError(CallsheetError):
    """What was asked cannot be done as it was worded; nothing was sent."""

    exit_code = 2
    code = "usage"


class ConfirmationNeeded(UsageError):
    """A person would be asked this before something is destroyed, and nobody is there to answer."""


class DefinitionError(UsageError):
    """A definition file is broken; `details` holds one `file:line: key: problem` each."""

    code = "definition"


class NoMatch(UsageError):
    """A person's word fits none of the things that the service named."""


class NotAllowed(CallsheetError):
    """No credential, or one that the other side refused (401, 403).

    `denied` is why a service denies this login altogether, in its words; with `lacks_scope` it says that the
    credential is a good one whose scopes do not cover the call.
    """

    exit_code = 3
    code = "not_allowed"
    denied: str | None = None
    lacks_scope = False


class NotFound(CallsheetError):
    exit_code = 4
    code = "not_found"


class Conflict(CallsheetError):
    """The thing changed meanwhile, or is in a state that forbids the change (409, 412)."""

    exit_code = 5
    code = "conflict"


class RateLimited(CallsheetError):
    exit_code = 6
    code = "rate_limited"


class NetworkError(CallsheetError):
    """No whole answer came: refused, timed out, cut off, TLS."""

    exit_code = 7
    code = "network"


class TLSFailed(NetworkError):
    """The host was reached, but no trusted encrypted connection came about."""


_LEAST_START = 3
_LEAST_SLIP = 4  # letters; of shorter words every other one is near
_LONG = 8
_FEW = 12  # names that a line can list


def name_program(hint: str, program: str) -> str:
    """A hint as the person can type it: `{program}` stands for the program that is running."""
    return hint.replace("{program}", program)


def closest_names(word: str, known: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names most like `word`, best first; empty when nothing is as near as `cutoff` (1.0: the same).

    Only letters and digits count: two options are not alike because both have dashes. A word of three letters or more
    that some names start with is near those too.
    """
    from difflib import get_close_matches

    by_folded: dict[str, str] = {}
    for name in known:
        by_folded.setdefault(_letters_of(name), name)
    letters = _letters_of(word)
    found = get_close_matches(letters, by_folded, count, cutoff)
    if not found and len(letters) >= _LEAST_START:
        found = sorted((name for name in by_folded if name.startswith(letters)), key=len)[:count]
    return [by_folded[match] for match in found]


def _letters_of(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold())) or name.casefold()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?`, or nothing when no known name is near."""
    match = closest_names(word, known)
    return f", did you mean {match[0]!r}?" if match else ""


def near_or_all(word: str, known: Collection[str]) -> str:
    """As `did_you_mean`; when no known name is near and they are few, all of them: `, only x and y`."""
    if (near := did_you_mean(word, known)) or not 0 < len(known) <= _FEW:
        return near
    *others, last = sorted(known)
    return f", only {', '.join(others)}{' and ' * bool(others)}{last}"


def slip_of(word: str, known: Iterable[str]) -> str | None:
    """The known name that a word is but for a slip: a letter or two that are wrong, missing, too many or swapped."""
    typed = word.casefold()
    for name in known:
        meant = name.casefold()
        most = 2 if len(meant) >= _LONG else 1
        if len(meant) >= _LEAST_SLIP and abs(len(typed) - len(meant)) <= most and _slips_between(typed, meant) <= most:
            return name
    return None


def _slips_between(typed: str, meant: str) -> int:
    """How many letters are to be changed, added, taken away or swapped with their neighbor."""
    before, row = [0] * (len(meant) + 1), list(range(len(meant) + 1))
    for place, letter in enumerate(typed):
        after = [place + 1]
        for column, wanted in enumerate(meant):
            least = min(row[column] + (letter != wanted), row[column + 1] + 1, after[column] + 1)
            if place and column and letter == meant[column - 1] and typed[place - 1] == wanted:
                least = min(least, before[column - 1] + 1)
            after.append(least)
        before, row = row, after
    return row[-1]


def count_of(number: int, noun: str) -> str:
    """`1 file`, `2 keys`, `0 queries`."""
    if number == 1:
        return f"1 {noun}"
    after_consonant = noun.endswith("y") and noun[-2] not in "aeiou"
    return f"{number} {noun[:-1]}ies" if after_consonant else f"{number} {noun}s"


def ending_text(code: int) -> str:
    """How a process ended, by its exit code, which is below zero where a signal ended it."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
