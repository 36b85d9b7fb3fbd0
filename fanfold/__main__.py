"""`python -m fanfold` is the `fanfold` command."""

from fanfold.cli import main

if __name__ == "__main__":
    main()
