"""Questions to a person at a terminal: a text, a choice, an editor. In a script nothing is asked."""
