"""From an operation's definition, arguments and a body to one request; nothing here sends anything."""
