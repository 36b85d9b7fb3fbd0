"""Does any order of events break a promise? The real engine and store, with time, threads and crashes in one seeded hand."""
