"""Who is compared? One file per engine: how it is filled, worked off, and asked what it has done."""
