"""How far one PostgreSQL goes: measured costs, a model fed with them, and a real fleet to compare it with."""
