"""Reads input pictures from files, URLs, data URIs and object storage, and checks them."""
