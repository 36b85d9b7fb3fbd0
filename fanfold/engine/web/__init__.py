"""Requests to addresses that other people choose: checked, limited, and never to this network unless allowed."""
