"""Sockets, the HTTP protocol and the application."""
