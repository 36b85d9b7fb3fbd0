"""`python -m tests.acceptance.running LOG` runs a pipeline as its author would, and resumes it when called again."""

import sys

import fanfold as ff
from tests.acceptance.work import crowd

if __name__ == "__main__":
    print(ff.run(crowd, options={"count": 100, "log": sys.argv[1], "seconds": 0.1}, progress=False))
