"""The server: HTTP API, live streams and web pages. It keeps no state of its own."""
