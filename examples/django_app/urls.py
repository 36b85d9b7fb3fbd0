"""The pages of the project."""

from books import views
from django.urls import path

urlpatterns = [path("books/", views.create), path("books/<int:number>/", views.show)]
