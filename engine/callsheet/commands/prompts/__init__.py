"""Questions to a person at a terminal: a text, one of several, an editor. Never where nobody is there."""
