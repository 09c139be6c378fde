"""Run every benchmark and print its ratios: ``python -m benchmarks [name ...]``."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> None:
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    for name in sys.argv[1:] or [name for name in names if not name.startswith("_")]:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
