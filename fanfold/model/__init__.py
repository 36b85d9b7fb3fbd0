"""The model: pure values and rules, without database, clock or network."""
