"""Other inputs than PDFs: pictures become PDFs; office documents, e-books and web pages become parts with Markdown."""
