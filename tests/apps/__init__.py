"""Do the applications that come in the box keep their promises?"""
