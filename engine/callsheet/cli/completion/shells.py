"""The shells: the script that each reads, what was typed so far, and words as each reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...patterns import lazy_pattern

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


# What was typed so far, as bash reads it, and words as bash has to find them on the line.
#
# bash replaces only what follows the last break character (a quote, or a sign of COMP_WORDBREAKS such as `:` and
# `=`), and it puts words on the line as they are. So a word is cut where bash cuts, and quoted for what stands
# before it.


_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
# A table, because a regular expression with all the letters there are takes 5 ms to compile.
_PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=@%+,^-"
_SPECIAL = {number: f"\\{chr(number)}" for number in range(0xA1) if chr(number) not in _PLAIN}
_SPECIAL_QUOTED = lazy_pattern(r'[$`"\\]')


class BashLine(NamedTuple):
    """The words behind the program, the one that is being typed as `last`, and the quote that is open in it.

    `kept` is the part of `last` that bash leaves on the line.
    """

    words: list[str]
    last: str
    kept: str
    quote: str

    def quote_word(self, word: str) -> str | None:
        """What replaces the end of the line so that the last word is `word`; None where that cannot be written."""
        if not word.startswith(self.kept):
            return None
        rest = word[len(self.kept) :]
        if self.quote and rest.endswith(self.quote):  # bash would take it for the end of the quotation
            return None
        if self.quote == "'":
            return rest.replace("'", "'\\''")
        if self.quote == '"':
            return None if "!" in rest else _SPECIAL_QUOTED.sub(r"\\\g<0>", rest)
        return rest.translate(_SPECIAL)


def read_line(line: str, breaks: str) -> BashLine:
    """`line` ends where the cursor is. Nothing in it is expanded: `$HOME` is these five characters."""
    found = _Words(breaks)
    for sign in line:
        found.take_sign(sign)
    words = found.words
    while words and _ASSIGNMENT.match(words[0]):  # `NAME=value program ...`
        del words[0]
    return BashLine(words[1:], found.word, found.word[: found.kept], found.quote)


class _Words:
    def __init__(self, breaks: str) -> None:
        self.breaks = breaks
        self.words: list[str] = []
        self.word = ""
        self.begun = False
        self.kept = 0
        self.quote = ""
        self.escaped = False

    def take_sign(self, sign: str) -> None:
        if self.escaped:
            self.escaped = False
            self._add_sign(sign if not self.quote or sign in '$`"\\' else "\\" + sign)
        elif sign == "\\" and self.quote != "'":
            self.escaped = True
        elif self.quote and sign != self.quote:
            self._add_sign(sign)
        elif self.quote or sign in "'\"":
            self.quote = "" if self.quote else sign
            self.begun, self.kept = True, len(self.word)
        elif sign in " \t\n":
            self._end_word()
        else:
            self._add_sign(sign)
            if sign in self.breaks:
                self.kept = len(self.word)

    def _add_sign(self, sign: str) -> None:
        self.word += sign
        self.begun = True

    def _end_word(self) -> None:
        if self.begun:
            self.words.append(self.word)
        self.word, self.begun, self.kept = "", False, 0


# The shells: the script that each reads, how it hands over what was typed, and how it is answered.
#
# The scripts pass words on as arguments, or the line as it is, and take back lines of a kind, a word and an
# explanation with tabs between them. None of them lets the shell read a word as code: bash gets it quoted, the
# others quote it.


_WORDS = "_COMPLETE_WORDS"  # how the variable with what was typed in PowerShell ends
_BASH = """\
%(function)s() {
    local kind word _
    COMPREPLY=()
    while IFS=$'\\t' read -r kind word _; do
        case $kind in
            word) COMPREPLY+=("$word") ;;
            part) COMPREPLY+=("$word"); compopt -o nospace 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            dir) compopt -o dirnames 2>/dev/null ;;
        esac
    done < <(
        %(variable)s=bash COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null
    )
}
complete -o nosort -F %(function)s %(program)s 2>/dev/null || complete -F %(function)s %(program)s
"""
_ZSH = """\
#compdef %(program)s
%(function)s() {
    local kind word help
    local -a words_found shown parts
    while IFS=$'\\t' read -r kind word help; do
        case $kind in
            word) words_found+=("$word"); shown+=("$word${help:+  -- $help}") ;;
            part) parts+=("$word") ;;
            file) _files ;;
            dir) _files -/ ;;
        esac
    done < <(%(variable)s=zsh "${words[1]}" "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    (( $#words_found )) && compadd -U -l -V words -d shown -a words_found
    (( $#parts )) && compadd -U -S '' -V parts -a parts
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(function)s "$@"
else
    compdef %(function)s %(program)s
fi
"""
_FISH = """\
function %(function)s
    set -l typed (commandline -opc)
    set -l current (commandline -ct | string unescape)
    %(variable)s=fish %(program)s $typed[2..-1] "$current" 2>/dev/null | while read -d \\t -l kind word help
        switch $kind
            case word part
                printf '%%s\\t%%s\\n' $word $help
            case file
                __fish_complete_path "$current"
            case dir
                __fish_complete_directories "$current"
        end
    end
end
complete --no-files --command %(program)s --arguments '(%(function)s)'
"""
# Words go through a variable, because versions 5 to 7.2 of PowerShell drop empty arguments and quotes inside of others.
# Without a result PowerShell completes names of files itself.
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName '%(program)s', '%(program)s.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object {
        $_.Extent.EndOffset -lt $cursorPosition
    } | ForEach-Object {
        if ($_ -is [Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
    })
    $typed += ($wordToComplete -replace '^[''"]|[''"]$', '')
    $encoding = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [Text.UTF8Encoding]::new()
        $env:%(variable)s = 'powershell'
        $env:%(variable)s_WORDS = ConvertTo-Json -Compress -InputObject $typed
        $env:PYTHONIOENCODING, $before = 'utf-8', $env:PYTHONIOENCODING
        & $commandAst.GetCommandName() 2>$null | ForEach-Object {
            $kind, $word, $help = $_ -split "`t", 3
            if ($kind -in 'word', 'part') {
                if (-not $help) { $help = $word }
                [Management.Automation.CompletionResult]::new($word, $word, 'ParameterValue', $help)
            }
        }
    } finally {
        $env:PYTHONIOENCODING = $before
        Remove-Item -ErrorAction Ignore -Path 'Env:%(variable)s', 'Env:%(variable)s_WORDS'
        [Console]::OutputEncoding = $encoding
    }
}
"""
_BARE_WORD = lazy_pattern(r"[\w./:=+%-]+")
_POWERSHELL_QUOTES = lazy_pattern("['\u2018\u2019\u201a\u201b]")  # it takes all of them for an apostrophe


class TypedLine(NamedTuple):
    """The words before the last one, the last one, and how a word is written for the shell (None: not at all)."""

    words: list[str]
    last: str
    quoted: Callable[[str], str | None]


class Shell(NamedTuple):
    script: str
    typed: Callable[[Mapping[str, str], Sequence[str]], TypedLine]
    use: str


def _typed_line(environ: Mapping[str, str], _arguments: Sequence[str]) -> TypedLine:
    line = read_line(environ.get("COMP_LINE", ""), environ.get("COMP_WORDBREAKS", ""))
    return TypedLine(line.words, line.last, line.quote_word)


def _typed_arguments(_environ: Mapping[str, str], arguments: Sequence[str]) -> TypedLine:
    return TypedLine([*arguments[:-1]], arguments[-1] if arguments else "", str)


def _json_words(environ: Mapping[str, str], _arguments: Sequence[str]) -> TypedLine:
    found = next((text for name, text in environ.items() if name.endswith(_WORDS)), "[]")
    try:
        words = json.loads(found)
    except ValueError:
        words = []
    texts = [word for word in words if isinstance(word, str)] if isinstance(words, list) else []
    return TypedLine(texts[:-1], texts[-1] if texts else "", powershell_quoted)


def powershell_quoted(word: str) -> str | None:
    """None for a word with a double quote, which older versions do not pass on to a program."""
    if '"' in word:
        return None
    return word if _BARE_WORD.fullmatch(word) else f"'{_POWERSHELL_QUOTES.sub(lambda each: each[0] * 2, word)}'"


SHELLS: dict[str, Shell] = {
    "bash": Shell(_BASH, _typed_line, 'put  eval "$({program} completion bash)"  into ~/.bashrc'),
    "zsh": Shell(_ZSH, _typed_arguments, 'put  eval "$({program} completion zsh)"  into ~/.zshrc, after compinit'),
    "fish": Shell(_FISH, _typed_arguments, "{program} completion fish > ~/.config/fish/completions/{program}.fish"),
    "powershell": Shell(
        _POWERSHELL, _json_words, "put  {program} completion powershell | Out-String | Invoke-Expression  into $PROFILE"
    ),
}


def completion_variable(program: str) -> str:
    """The environment variable that makes a program answer a shell instead of running a command."""
    return f"_{program.replace('-', '_').upper()}_COMPLETE"


def completion_script(shell: str, program: str) -> str:
    function = f"_{program.replace('-', '_')}_completion"
    return SHELLS[shell].script % {"function": function, "program": program, "variable": completion_variable(program)}


def answer_line(item: CompletionItem, word: str) -> str:
    """A word that ends with `=` goes on: no blank follows it."""
    kind = item.type if item.type != "plain" else "part" if item.value.endswith(("=", "/")) else "word"
    return f"{kind}\t{word}\t{item.help or ''}"
