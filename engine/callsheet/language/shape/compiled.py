"""What compiling adds to definitions: keys that the engine reads and nobody writes."""

from __future__ import annotations

from .commands import CommandDefinition
from .hosts import HostDefinition
from .rest import OperationDefinition


class CompiledCommand(CommandDefinition, total=False):
    """With `step`s also where it has a single call."""

    pages: bool  # it prints a list, and has the options for that
    counts: bool  # one of them is that of the program to print only how many there are
    journal: str  # its words, where it changes each item of a list and has the options of a journal


class CompiledHost(HostDefinition, total=False):
    """A program that runs coding agents."""

    own: bool  # a person's file made or changed it


class CompiledOperation(OperationDefinition, total=False):
    """With a title, the parameters of its path, and the help of parameters that mean the same everywhere."""

    documentation: str  # the vendor's page about it
    own: bool  # a person's file made or changed it
    unavailable: str  # as it is on a deployment: why it does not exist there
