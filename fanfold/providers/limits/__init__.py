"""Rate limits shared by all workers: what services tell of them, and the blocks that a process leases from the database."""
