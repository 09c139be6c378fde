"""``python -m benchmarks`` measures everything and writes the page; ``python -m benchmarks check`` compares.

``check`` measures the ratios again and fails if one has become 1.5 times what is stored. ``--most-rows``
leaves larger tables out.
"""

import argparse
import sys

from benchmarks import evaluate, fit, growth, pass_rate, peers, predict
from benchmarks.page import write_page
from benchmarks.ratios import Ratio, regressions, store, stored


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=("all", "check"), default="all")
    parser.add_argument("--most-rows", type=int, default=1_000_000, help="of the tables for growth")
    options = parser.parse_args()
    if options.what == "check":
        worse = regressions(ratios(fit, evaluate, predict), stored())
        print("\n".join(worse) or "no ratio has become 1.5 times worse")
        return 1 if worse else 0
    found = ratios(fit, evaluate, predict, peers)
    costs = growth.measure(options.most_rows)
    rate = pass_rate.measure()
    print(rate, flush=True)
    store(found)
    write_page(found, costs, rate)
    return 0


def ratios(*modules: object) -> list[Ratio]:
    found = []
    for module in modules:
        for each in module.measure():  # type: ignore[attr-defined]
            print(each, flush=True)
            found.append(each)
    return found


if __name__ == "__main__":
    sys.exit(main())
