"""How does a PDF become Markdown? Its pages are listed, each is converted by itself, and they are bound together again."""

from fanfold.apps.pdf.pipeline import pdf as pdf

__all__ = ["pdf"]
