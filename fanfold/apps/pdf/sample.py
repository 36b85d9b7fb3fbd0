"""Copies the bundled sample PDF, which has every kind of page: ``python -m fanfold.apps.pdf.sample book.pdf``."""

import argparse
import shutil
from pathlib import Path

SAMPLE = Path(__file__).with_name("sample.pdf")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Copy the sample PDF that comes with Fanfold.")
    parser.add_argument("path", type=Path)
    shutil.copyfile(SAMPLE, parser.parse_args().path)
