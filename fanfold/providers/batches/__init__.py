"""The batch lane: questions are collected, sent to a service in batches, and answered within a day at a lower price."""
