"""Publishes finished pictures to a folder or a bucket, and offers them as files."""
