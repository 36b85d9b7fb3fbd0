"""What did a program or a browser ask? The HTTP API, the live streams and the pages; it holds no state of its own."""
