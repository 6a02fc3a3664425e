"""What a shell is offered when a person presses Tab: words of the program, of its files, and of the site."""
