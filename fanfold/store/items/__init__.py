"""The statements about items: create, find, claim, settle, reset, recover and query."""
