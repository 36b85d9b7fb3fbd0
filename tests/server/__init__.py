"""Does the server answer as it should?"""
