"""One seed in, one independent random stream for each thing that is drawn."""

from typing import NamedTuple, TypeAlias

import numpy as np

RandomState: TypeAlias = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


class Streams(NamedTuple):
    """Independent generators, one for each ingredient of a design; none is used for anything else.

    Separate streams make designs comparable: turning the selection round leaves features, hidden
    variables, assignment and outcomes as they were, draw by draw.
    """

    design: np.random.Generator
    features: np.random.Generator
    hidden: np.random.Generator
    assignment: np.random.Generator
    decision: np.random.Generator
    outcome: np.random.Generator


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """Turn any usual `random_state` into a seed sequence.

    * `None`: fresh entropy;
    * an integer: that entropy, so the same data every time;
    * a `SeedSequence`: itself; whoever spawns from it twice gets different children;
    * a `Generator` or a `RandomState`: 128 bits drawn from it, so that two calls differ.
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint64).tolist())
    return np.random.SeedSequence(random_state)


def spawn_streams(random_state: RandomState) -> Streams:
    """Spawn one generator for each ingredient.

    Examples
    --------
    >>> from selective_labels.datasets.random_streams import spawn_streams
    >>> first, again = spawn_streams(0), spawn_streams(0)
    >>> bool(first.features.random() == again.features.random())
    True
    >>> bool(first.hidden.random() == again.outcome.random())
    False
    """
    children = seed_sequence(random_state).spawn(len(Streams._fields))
    return Streams(*(np.random.default_rng(child) for child in children))


def draw_classes(probabilities: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one class code 0..K-1 for each row of `probabilities` (n_samples, n_classes)."""
    uniform = generator.random(len(probabilities))
    # The last cumulative sum is one up to rounding; leaving it out keeps every code below K.
    return (uniform[:, None] > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)


def draw_decisions(probability: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw D = 1 with the given probability for each row (n_samples,)."""
    return (generator.random(len(probability)) < probability).astype(int)
