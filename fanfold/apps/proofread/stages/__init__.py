"""The stages of proofreading and translation: validate, process and merge, and the glossary before them."""
