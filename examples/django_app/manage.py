"""Fanfold in a Django project. To try it, in this folder:

python manage.py migrate --run-syncdb
python manage.py runserver      # in one terminal
python manage.py work           # in another
curl -d title=Moby -d text="Call me Ishmael." localhost:8000/books/
curl localhost:8000/books/1/
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
    execute_from_command_line(sys.argv)
