"""Does it hold with real processes, real servers and real crashes?"""
