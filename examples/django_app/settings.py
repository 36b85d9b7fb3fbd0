"""The settings of the project. Fanfold has its own: FANFOLD_DATABASE and FANFOLD_DATA say where tasks are kept."""

import os
from pathlib import Path

from django.core.management.utils import get_random_secret_key

SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY") or get_random_secret_key()
DEBUG = os.environ.get("DJANGO_DEBUG") == "1"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
ROOT_URLCONF = "urls"
INSTALLED_APPS = ["books"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DJANGO_DATABASE") or Path(__file__).parent / "db.sqlite3",
    }
}
