"""Applications bundled with Fanfold. They use only the public interface of engine, store, server and command line."""
