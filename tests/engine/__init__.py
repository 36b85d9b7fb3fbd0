"""Does the engine keep its promises?"""
