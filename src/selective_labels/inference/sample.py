"""The sample that evaluation and comparison share: data checked once, nuisances fitted once, scores kept."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import warn_if_not_allowed
from selective_labels.evaluation.subject import with_classes_of
from selective_labels.features.coding import coded_features
from selective_labels.identification.bounds import Array
from selective_labels.inference.ends import Ends, Evidence, Functional
from selective_labels.inference.estimates import covariance, median_of_repeats
from selective_labels.inference.intervals import few_clusters_factor
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.scores import ASSUMPTIONS, cross_fit_scores, selector_groups
from selective_labels.support.progress import followed
from selective_labels.support.seeding import as_seed

POINT_ASSUMPTIONS = ("nucem", "unconfounded")
WITH_INSTRUMENT = ("instrument", "nucem")
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
    assumption: str | Sequence[str],
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
    assumption : str or list of str
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
    names = _names(assumption, decision_maker is not None and data.n_decision_makers > 1)
    _check_choices(names, cluster, data, n_repeats)
    if len(data.classes) < 2:
        raise ValueError(f"y shows only one class ({data.classes.tolist()[0]!r}); two or more are needed.")
    if data.decision.all():
        evidence = Evidence.from_labels(data.y, len(data.classes))
        return ScoredSample(data, [dict.fromkeys(names, evidence)], dict.fromkeys(names, 0.0), cluster)
    _check_instrument(names, data, strata, decision_maker is not None)
    repeats: list[dict[str, Evidence]] = []
    clipped = []
    seeds = np.random.SeedSequence(as_seed(random_state)).generate_state(n_repeats)
    fits = (
        cross_fit(
            data,
            nuisance,
            cv=cv,
            in_halves="nucem" in names,
            n_groups=selector_groups(data),
            n_jobs=n_jobs,
            random_state=int(seed),
        )
        for seed in seeds
    )
    for seed, fit in zip(seeds, followed(fits, "repeating cross-fitting", n_repeats), strict=True):
        if "nucem" in names and fit.in_halves and not repeats:  # once, whatever the number of repeats
            warn_if_not_allowed(data, fit, random_state=int(seed), stacklevel=3)
        scores = cross_fit_scores(fit, data, names, propensity=propensity)
        repeats.append(
            {name: Evidence.from_scores(scores[name], name in POINT_ASSUMPTIONS) for name in names}
        )
        clipped.append([scores[name].clipped.mean() for name in names])
    shares = dict(zip(names, np.mean(clipped, axis=0).tolist(), strict=True))
    return ScoredSample(data, repeats, shares, cluster)


def _names(assumption: str | Sequence[str], has_instrument: bool) -> list[str]:
    """List the assumptions asked for; "all" means all that the input allows."""
    if isinstance(assumption, str):
        if assumption != "all":
            return [assumption]
        return [name for name in ASSUMPTIONS if has_instrument or name not in WITH_INSTRUMENT]
    return list(assumption)


def _check_choices(names: list[str], cluster: str | None, data: SelectiveLabels, n_repeats: int) -> None:
    unknown = [name for name in names if name not in ASSUMPTIONS]
    if unknown or not names:
        raise ValueError(
            f"assumption {unknown[0] if unknown else names!r} is not one of "
            f"{', '.join(map(repr, (*ASSUMPTIONS, 'all')))}."
        )
    if cluster is not None and cluster not in CLUSTERS:
        raise ValueError(f"cluster={cluster!r} is not one of {', '.join(map(repr, CLUSTERS))} or None.")
    if cluster == "groups" and data.groups is None:
        raise ValueError("cluster='groups' needs groups=.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats} must be one or more.")


def _check_instrument(names: list[str], data: SelectiveLabels, strata: Any, given: bool) -> None:
    """Refuse or warn where decision-makers cannot serve as an instrument."""
    needing = [name for name in names if name in WITH_INSTRUMENT]
    if not needing:
        return
    if not given:
        raise ValueError(
            f"decision_maker is missing: y has holes and assumption {needing[0]!r} uses who decided; "
            "'none' and 'unconfounded' do without."
        )
    if data.n_decision_makers == 1:
        if "nucem" in needing:
            raise ValueError("decision_maker has one value only; assumption 'nucem' needs two or more.")
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
