"""All experiments, by name and protocol."""

from selective_labels import InputError
from study.confirmation.experiment import EXPERIMENTS as CONFIRMATION
from study.engine import Experiment
from study.honest.experiments import EXPERIMENTS as HONEST
from study.published.experiments import EXPERIMENTS as PUBLISHED

CATALOGUE = {(each.name, each.protocol): each for each in (*HONEST, *CONFIRMATION, *PUBLISHED)}
NAMES = tuple(dict.fromkeys(name for name, _ in CATALOGUE))
PROTOCOLS = tuple(dict.fromkeys(protocol for _, protocol in CATALOGUE))


def find_experiment(name: str, protocol: str) -> Experiment:
    """Find an experiment, or say what there is.

    Examples
    --------
    >>> find_experiment("rate", "honest").parts
    {'all': 20}
    >>> find_experiment("rate", "published")
    Traceback (most recent call last):
    selective_labels._errors.InputError: There is no published protocol of rate; there is honest.
    """
    if name not in NAMES:
        raise InputError(f"{name} is not an experiment; there are {', '.join(NAMES)}.")
    if (name, protocol) not in CATALOGUE:
        there = ", ".join(each for known, each in CATALOGUE if known == name)
        raise InputError(f"There is no {protocol} protocol of {name}; there is {there}.")
    return CATALOGUE[name, protocol]
