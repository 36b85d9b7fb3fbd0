"""Are the values and rules right?"""
