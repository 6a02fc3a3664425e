"""A directory of Markdown files read as the pages of a wiki: titles, parents, order, links, files."""
