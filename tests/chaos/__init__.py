"""What does real trouble do? Real processes, real servers, real faults; each scenario says what is promised and what was seen."""
