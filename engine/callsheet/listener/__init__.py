"""Receiving webhooks: proving them genuine, keeping them, and handing their events on."""
