"""Does the command line do what a person types?"""
