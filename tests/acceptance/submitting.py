"""`python -m tests.acceptance.submitting FLAG COUNT` submits with COUNT keys as soon as the file FLAG is there."""

import sys
from pathlib import Path

import fanfold as ff
from tests.acceptance.work import quick
from tests.waiting import eventually

if __name__ == "__main__":
    flag, count = Path(sys.argv[1]), int(sys.argv[2])
    with ff.Client() as client:
        eventually(flag.exists, 100)
        for number in range(count):
            print(client.submit(quick, items=range(3), key=f"key {number}").id)
