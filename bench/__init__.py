"""__init__.py - the benches as one package: `bench/run.sh NAME`, or `python3 -m bench.system.NAME` at the repository's root."""
import pathlib
import sys

# `test` is a package of Python's own library, so the modules in test/support are imported by their last names.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "test" / "support"))
