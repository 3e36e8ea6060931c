"""Generated inputs through the public interface: what must hold whatever they are.

Each file generates one kind of input. A few seconds of each run with all other tests;
the long runs are marked ``slow`` and cut into blocks, so that
``pytest tests/fuzz -m slow -n auto`` shares them among processes.
"""
