"""`python -m fanfold.cli` is `fanfold`, also where the script is not on the path."""

from fanfold.cli import main

if __name__ == "__main__":
    main()
