"""Applications that come with Fanfold. They use no part of engine, store, server or command line behind the public surface."""
