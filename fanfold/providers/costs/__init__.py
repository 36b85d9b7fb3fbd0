"""What a call costs: prices, measured costs, budgets and estimates."""
