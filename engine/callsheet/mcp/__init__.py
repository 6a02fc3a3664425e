"""The command tree as tools for agents, over the Model Context Protocol."""
