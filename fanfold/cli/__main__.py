"""Makes `python -m fanfold.cli` the same as `fanfold`, for when the script is not on the PATH."""

from fanfold.cli import main

if __name__ == "__main__":
    main()
