"""The sample that evaluation and comparison share: data checked once, nuisances fitted once, scores kept."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.assumptions import Assumption, Nucem, known, named
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import warn_if_not_allowed
from selective_labels.evaluation.subject import with_classes_of
from selective_labels.features.coding import coded_features
from selective_labels.identification.bounds import Array
from selective_labels.inference.ends import Ends, Evidence, Functional
from selective_labels.inference.estimates import covariance, median_of_repeats
from selective_labels.inference.intervals import few_clusters_factor
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import cross_fit_scores, selector_groups
from selective_labels.support.progress import followed
from selective_labels.support.seeding import as_seed

ALL = "all"
CLUSTERS = ("groups", "decision_maker")


@dataclass(frozen=True)
class Spread:
    """Two estimated ends, with their standard errors and correlation."""

    lower: float
    upper: float
    errors: tuple[float, float]
    correlation: float
    n_clusters: int


@dataclass(frozen=True, eq=False)
class ScoredSample:
    """Rows with scores under every assumption asked for.

    Attributes
    ----------
    data : SelectiveLabels
        With numeric features.
    repeats : list of dict of Evidence
        By assumption, one dict for each repetition of cross-fitting.
    clipped : dict of float
        By assumption, the share of rows whose scores had a denominator held at its floor.
    cluster : "groups", "decision_maker" or None
    """

    data: SelectiveLabels
    repeats: list[dict[str, Evidence]]
    clipped: dict[str, float]
    cluster: str | None

    @property
    def assumptions(self) -> list[str]:
        """The assumptions scored."""
        return list(self.repeats[0])

    @property
    def weights(self) -> Array:
        """Sample weights, ones if none were given."""
        return np.ones(len(self.data)) if self.data.sample_weight is None else self.data.sample_weight

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate the ends of a functional among some rows, once for each repeat."""
        weights = self.weights * rows
        return [functional.ends(repeat[assumption], weights) for repeat in self.repeats]

    def spread(self, ends: list[Ends], rows: np.ndarray, confidence_level: float = 0.95) -> Spread:
        """Add standard errors to ends, and take the median over repeats.

        Parameters
        ----------
        ends : list of pairs of estimates
            One pair for each repeat.
        rows : (n_samples,) bool array
            The rows that they concern: how many clusters these fall into widens standard errors.
        confidence_level : float
        """
        clusters = self._clusters
        n_clusters = int(rows.sum()) if clusters is None else len(np.unique(clusters[rows]))
        if n_clusters < 2:
            raise ValueError("a standard error needs two cases (or clusters) or more.")
        factor = few_clusters_factor(n_clusters, confidence_level)
        matrices = [covariance([low.influence, high.influence], clusters) for low, high in ends]
        errors = np.sqrt([np.diag(matrix) for matrix in matrices])
        lower, upper = (
            median_of_repeats([pair[end].value for pair in ends], errors[:, end]) for end in (0, 1)
        )
        correlation = float(np.median([_correlation(matrix) for matrix in matrices]))
        return Spread(lower[0], upper[0], (factor * lower[1], factor * upper[1]), correlation, n_clusters)

    @property
    def _clusters(self) -> np.ndarray | None:
        if self.cluster == "groups":
            return self.data.groups
        return self.data.decision_maker_codes if self.cluster else None


def score_sample(
    X: Any,
    y: Any,
    *,
    classifiers: list[Any],
    assumption: str | Assumption | Sequence[str | Assumption],
    decision_maker: Any = None,
    decision: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    nuisance: Any = None,
    propensity: str = "shares",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> ScoredSample:
    """Check the input, fit the nuisances (once a repeat) and score every row under every assumption.

    If every label is seen, the labels are the scores: nothing is fitted, and every assumption gives the
    value in the sample.

    Parameters
    ----------
    classifiers : list
        What will be evaluated: classes that a fitted one knows count as classes.
    assumption : name or Assumption, or a list of these
    others : see :func:`selective_labels.evaluation.evaluate.evaluate`
    """
    features, categorical = coded_features(X)
    data = SelectiveLabels.from_arrays(
        features,
        y,
        decision_maker=np.zeros(len(features), dtype=int) if decision_maker is None else decision_maker,
        decision=decision,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        assignment=assignment(X) if callable(assignment) else assignment,
        categorical=categorical,
    )
    data = with_classes_of(data, classifiers, minus_one_is_class=decision is not None)
    chosen = _chosen(assumption, decision_maker is not None and data.n_decision_makers > 1)
    names = [each.name for each in chosen]
    _check_choices(cluster, data, n_repeats)
    if len(data.classes) < 2:
        raise ValueError(f"y shows only one class ({data.classes.tolist()[0]!r}); two or more are needed.")
    if data.decision.all():
        evidence = Evidence.from_labels(data.y, len(data.classes))
        return ScoredSample(data, [dict.fromkeys(names, evidence)], dict.fromkeys(names, 0.0), cluster)
    _check_instrument(chosen, data, strata, decision_maker is not None)
    repeats: list[dict[str, Evidence]] = []
    clipped = []
    seeds = np.random.SeedSequence(as_seed(random_state)).generate_state(n_repeats)
    fits = (
        cross_fit(
            data,
            nuisance,
            cv=cv,
            in_halves=any(each.needs_halves for each in chosen),
            n_groups=selector_groups(data),
            n_jobs=n_jobs,
            random_state=int(seed),
        )
        for seed in seeds
    )
    for seed, fit in zip(seeds, followed(fits, "repeating cross-fitting", n_repeats), strict=True):
        if Nucem() in chosen and fit.in_halves and not repeats:  # once, whatever the number of repeats
            warn_if_not_allowed(data, fit, random_state=int(seed), stacklevel=3)
        scores = cross_fit_scores(fit, data, chosen, propensity=propensity)
        repeats.append(
            {each.name: Evidence.from_scores(scores[each.name], each.identifies_value) for each in chosen}
        )
        clipped.append([scores[name].clipped.mean() for name in names])
    shares = dict(zip(names, np.mean(clipped, axis=0).tolist(), strict=True))
    return ScoredSample(data, repeats, shares, cluster)


def _chosen(
    assumption: str | Assumption | Sequence[str | Assumption], has_instrument: bool
) -> list[Assumption]:
    """List the assumptions asked for; "all" means all that the input allows."""
    if isinstance(assumption, str) and assumption == ALL:
        return [each for each in known() if has_instrument or not each.needs_decision_makers]
    wanted: list[object] = [assumption] if isinstance(assumption, str | Assumption) else [*assumption]
    # An empty list is refused as a whole.
    return [named(each, besides=(ALL,)) for each in wanted or [wanted]]


def _check_choices(cluster: str | None, data: SelectiveLabels, n_repeats: int) -> None:
    if cluster is not None and cluster not in CLUSTERS:
        raise ValueError(f"cluster={cluster!r} is not one of {', '.join(map(repr, CLUSTERS))} or None.")
    if cluster == "groups" and data.groups is None:
        raise ValueError("cluster='groups' needs groups=.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats} must be one or more.")


def _check_instrument(chosen: list[Assumption], data: SelectiveLabels, strata: Any, given: bool) -> None:
    """Refuse or warn where decision-makers cannot serve as an instrument."""
    needing = [each for each in chosen if each.needs_decision_makers]
    if not needing:
        return
    if not given:
        others = [repr(each.name) for each in known() if not each.needs_decision_makers]
        raise ValueError(
            f"decision_maker is missing: y has holes and assumption {needing[0].name!r} uses who decided; "
            f"{' and '.join(others)} do without."
        )
    if data.n_decision_makers == 1:
        points = [each.name for each in needing if each.identifies_value]
        if points:
            raise ValueError(
                f"decision_maker has one value only; assumption {points[0]!r} needs two or more."
            )
        warnings.warn(
            "decision_maker has one value only: there is no instrument, and the bounds are those of 'none'.",
            UserWarning,
            stacklevel=4,
        )
    elif data.strata is not None:
        pairs = np.unique(np.stack([data.strata, data.decision_maker_codes]), axis=1)
        alone = np.bincount(pairs[0]) == 1
        if alone.any():
            rows = np.flatnonzero(alone[data.strata])
            raise ValueError(
                f"strata: {alone.sum()} of {len(alone)} strata have one decision-maker only (one is "
                f"{np.asarray(strata).tolist()[rows[0]]!r}), {len(rows)} rows in all, with nobody to compare "
                "with; merge strata or leave these rows out."
            )


def _correlation(matrix: Array) -> float:
    scale = np.sqrt(matrix[0, 0] * matrix[1, 1])
    return float(matrix[0, 1] / scale) if scale > 0.0 else 1.0
