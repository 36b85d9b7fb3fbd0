"""Do services answer as they should, and does nothing get paid twice?"""
