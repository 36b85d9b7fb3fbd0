"""Everything that differs between databases. `dialect` and `access` are the interface, `sqlite` and `postgresql` implement it."""
