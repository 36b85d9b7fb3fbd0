"""Is it remembered, on both databases?"""
