"""Rate limits shared by all workers: what services report about them, and the blocks that a process leases."""
