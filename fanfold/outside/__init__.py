"""Requests to addresses that somebody else has chosen. Any room, and any application, may use this."""
