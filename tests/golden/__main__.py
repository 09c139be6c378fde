"""Write the record: ``python -m tests.golden OUT.json [--only TOPIC] [--texts]``."""

from argparse import ArgumentParser

from tests.golden.record import OF_TEXTS, TOPICS, libraries, record, write


def main():
    """Read the command line, run, write."""
    parser = ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("out", help="the file to write")
    parser.add_argument("--only", choices=[*TOPICS, *OF_TEXTS], help="one topic")
    parser.add_argument("--texts", action="store_true", help="with everything that is said")
    given = parser.parse_args()
    write(record(given.texts, given.only) | {"libraries": libraries()}, given.out)


if __name__ == "__main__":
    main()
