"""Does Fanfold keep its promises?"""
