"""Unified cost-sensitive learning: Algorithm 1 of Chen, Li and Mao (2025) as a scikit-learn classifier."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from selective_labels._errors import InputError
from selective_labels._validation import (
    SKILL_RANGE,
    draw_seeds,
    require_choice,
    require_share,
    require_skill_range,
)
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.parse import named
from selective_labels.assumptions.refused import Informed, Prevalence
from selective_labels.data.pending import WORST_CASE
from selective_labels.data.reading import (
    INSTRUMENTS,
    NUMERIC,
    at_values,
    read_strata,
    refuse_pending,
    with_instrument,
)
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.cautions import caution_warning
from selective_labels.estimators.base import (
    SelectiveClassifier,
    check_cost,
    full_label_accuracy,
    read_features,
    takes_partitions,
)
from selective_labels.estimators.identified import NO_RANGE, Identified, PlugIn, TrainingRows, identify_once
from selective_labels.estimators.learners import (
    ClassifierScore,
    check_surrogate,
    learn_scores,
    usual_surrogate,
)
from selective_labels.estimators.rare_classes import (
    BALANCED,
    NEARLY_ALL,
    balanced_weights,
    seen_shares,
    warn_if_constant,
    warn_if_given_up,
)
from selective_labels.estimators.selected_sample import (
    LabeledRule,
    SelectedSampleClassifier,
    learns_probabilities,
)
from selective_labels.estimators.tilt_mode import (
    CONTROL,
    EVERY_LABEL,
    LABELED_ONLY,
    STATED_ODDS,
    TILT,
    TiltChoice,
)
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import CostSensitiveProblem, possible_classes
from selective_labels.identification.prevalence import minimax_multiplier
from selective_labels.inference.row_intervals import contradicted
from selective_labels.nuisance.calibrated_bounds import has_range
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.scores import cross_fit_scores

# Modes that fit tilts, and results that do not use the instrument.
TILTS = ("tilt", "auto")
WITHOUT_INSTRUMENT = (LABELED_ONLY, STATED_ODDS)


def read_direction(assumption: Any, data: SelectiveLabels) -> Informed | None:
    """The class that the refused have more often, if that is stated in auto mode."""
    found: Assumption | None = None if assumption is None else named(assumption)
    if found is None or found == Instrument():
        return None
    parts = found.parts if isinstance(found, Combination) else (found,)
    informed = [each for each in parts if isinstance(each, Informed)]
    if len(informed) != 1 or set(parts) != {Instrument(), *informed}:
        raise InputError(
            "assumption= in mode='auto' is Instrument() & Informed(class that the refused have more often).",
            "assumption",
        )
    informed[0].floors(data.classes)  # refuses a class that the labels do not have
    return informed[0]


def read_assumption(assumption: Any, mode: str, data: SelectiveLabels) -> Combination | None:
    """Assumption in addition to the instrument, or None.

    Learning under "informed" without a prevalence requires ``direction_known=True``: the instrument cannot
    show which label is the adverse one, and the wrong direction reduces accuracy.
    """
    if assumption is None:
        return None
    found: Assumption = named(assumption)
    if found == Instrument():
        return None
    if mode != "partial":
        raise InputError(
            f"assumption= goes with mode='partial', a direction also with 'auto'; not with mode={mode!r}.",
            "assumption",
        )
    if not isinstance(found, Combination) or Instrument() not in found.parts:
        raise InputError(
            f"assumption {found.name!r} does not go with mode='partial', which rests on the instrument: "
            "write Instrument() & ... .",
            "assumption",
        )
    found.check(data.classes)
    informed = [each for each in found.parts if isinstance(each, Informed)]
    known = [each for each in found.parts if isinstance(each, Prevalence)]
    if not known and any(not each.direction_known for each in informed):
        raise InputError(
            f"learning under {informed[0].name!r} needs a Prevalence beside it, which could refute it, or "
            "your word Informed(..., direction_known=True): the data cannot tell which label is the adverse "
            "one.",
            "assumption",
        )
    if any(each.by is not None for each in known):
        raise InputError("learning takes a Prevalence of everybody, not by groups.", "assumption")
    return found


def read_label_range(assumption: Combination | None, label_range: Any) -> Any:
    """Label range of the assumption or of the keyword. Raise :class:`InputError` if both are given."""
    if assumption is None or assumption.label_range is None:
        return label_range
    if label_range is not NO_RANGE and label_range != NO_RANGE:
        raise InputError(
            "label_range= and LabelRange(...) say the same thing twice; give one of them.", "label_range"
        )
    return assumption.label_range.lowest, assumption.label_range.highest


# Probability of a caution where an assumption leaves a single value.
DOUBTFUL = 0.01


def with_share(
    identified: Identified, rows: TrainingRows, assumption: Combination | None, data: SelectiveLabels
) -> Identified:
    """Set the multiplier of a known share to that of the rule with the smallest worst-case regret.

    An assumption that the data contradict is refused, one that they nearly contradict gets a caution.
    """
    if assumption is None:
        return identified
    shares = assumption.shares(data)
    if shares and identified.class_weight is not None:
        raise InputError("a Prevalence does not go with cost='balanced'; leave one of them out.", "cost")
    given = rows.scores, shares, data.weights, data.groups
    if words := contradicted(*given):
        raise InputError(f"assumption {assumption.name!r} is {words}", "assumption")
    if words := contradicted(*given, tail=DOUBTFUL):
        doubt = f"The assumption {assumption.name!r} is doubtful (SL1001), nearly {words}"
        warnings.warn(caution_warning(doubt), stacklevel=5)
        identified = replace(identified, cautions=(*identified.cautions, doubt))
    if not shares:
        return identified
    multiplier = minimax_multiplier(rows.bounds, shares[0], data.weights, identified.cost)
    return replace(identified, share=(shares[0].members, multiplier, shares[0].limit(multiplier)))


MODES = ("partial", "point", "tilt", "auto")


@dataclass(frozen=True)
class InstrumentPart:
    """What the instrument adds to the rule that is learned without it.

    Attributes
    ----------
    changed : float
        Share of training rows that the two rules predict differently.
    gain : float
        Expected gain in accuracy (or minus the cost), if the tilt of the fit is the true one.
    control : str
        The rule without the instrument.
    """

    changed: float
    gain: float
    control: str

    def __float__(self) -> float:
        return self.gain

    def __str__(self) -> str:
        if not self.changed:
            return f"The instrument adds nothing to {self.control}."
        return (
            f"Against {self.control}, the instrument changes {self.changed:.1%} of the predictions, worth "
            f"{self.gain:+.4f} if the estimated tilt is the true one."
        )


def _has_probabilities(classifier: "UCLClassifier") -> bool:
    if classifier.mode == "partial":
        raise AttributeError("predict_proba does not exist in mode='partial': use predict_bounds.")
    if isinstance(getattr(classifier, "_scores", None), LabeledRule) and not learns_probabilities(classifier):
        raise AttributeError(
            f"predict_proba does not exist: the rule is learned without the instrument, and estimator="
            f"{classifier.estimator!r} has no probabilities."
        )
    return True


def in_a_sentence(choice: TiltChoice) -> str:
    """Which rule was learned, and why."""
    if choice.reason == EVERY_LABEL:
        return f"Learned from all rows: {EVERY_LABEL}."
    learned = {
        TILT: "the tilt, which the instrument estimates",
        LABELED_ONLY: "the labeled rows alone, as if refused cases were like accepted ones",
        STATED_ODDS: "the labeled rows and the stated direction (odds of e^.25), without the instrument",
    }
    return f"Learned from {learned[choice.mode]}: {choice.reason.rstrip('.')}."


# dataclass writes the constructor, from which scikit-learn reads the parameters; repr stays scikit-learn's.
@dataclass(eq=False, repr=False)
class UCLClassifier(SelectiveClassifier):
    r"""Learn a classifier for all cases from labels that are observed only for accepted cases.

    min_t E[Σ_k w_k(X) 1{t(X) = k}],

    where w_k is the worst-case regret of predicting k over the identified set of the instrument
    (``mode="partial"``, Theorem 5.3), the regret under NUCEM (``mode="point"``, Theorem 4.4) or the regret
    under a tilt (``mode="tilt"``), estimated by cross-fitting.

    Parameters
    ----------
    mode : "partial", "point", "tilt" or "auto"
        "partial" assumes only that decision-makers are assigned as if at random given X and do not
        themselves affect the outcome. "point" additionally assumes NUCEM: unobserved reasons affect the
        decisions of all decision-makers alike. "tilt" assumes instead of NUCEM that among similar cases, the
        odds of a class among the refused differ from those among the accepted by one factor for all cases,
        whose log may change with leniency within `skill_range`. The instrument tells the factor. "auto" does
        no harm by default: it is :class:`SelectedSampleClassifier` with the same estimator and costs, unless
        the instrument is neither refuted nor doubtful, cases that repeat have strata, and the confidence set
        of the factor excludes one; then it is "tilt". With ``assumption=Instrument() & Informed("failed")``
        it is the tilt in this direction, as far as the instrument supports it.
    estimator : scikit-learn classifier, "linear", "plug-in", "neural", LinearScore, NeuralScore or None
        Learner of the cost-sensitive problem. None is gradient boosting. "plug-in" predicts the cheapest
        class at each point, without a learner. "linear" and "neural" are ``LinearScore()`` and
        ``NeuralScore()``, whose ridge, width, rate, epochs and decay can be tuned (``estimator__ridge``).
    surrogate : str
        For "linear" and "neural": "softmax" (the paper's surrogate, and the default), "cross-entropy" (the
        default where `mode_` is "labeled-only"; rules that tilt and auto mode learn without the instrument
        always have it), and for two classes also "logistic", "hinge", "exponential". Other estimators have
        their own loss.
    nuisance : None, "logistic", "quadratic", "index", "boosting", scikit-learn classifier, or callable
        Model of decision and label given features and decision-maker: linear, with squares and products,
        cubic in two indices, or trees. None compares the four by held-out log-loss. A callable
        X -> (n, n_decision_makers, n_classes + 1) supplies known probabilities.
    instrument : "leniency" or "numeric"
        "numeric": `decision_maker` is a number with a meaning (a distance, a time, a rate). It is
        represented by twenty quantiles, models are smooth in it, bounds are maxima over the quantiles, and
        point mode uses the paper's covariance ratio. "leniency": ids are names, and point mode uses the
        slope on leniency.
    label_range : pair
        Known bounds on P(Y = k | x, u): numbers, arrays per class or callables of X.
    cost : (n_classes, n_classes) array, "balanced" or None
        C[true, predicted] over the sorted classes, or costs by name, such as ``{"inspect": 400, "missed":
        3000}`` (the event is then the last class). None means 0-1 costs. "balanced": a correct prediction
        of class k is worth 1 / (K q_k), with q_k its share among the observed labels, and the rule predicts
        the class with the largest lower bound (point mode: probability) times this value. Use it for rare
        or rarely observed classes, which the worst case otherwise ignores. Regrets and decided rows are
        still those of 0-1 costs.
    cv : int, splitter or iterable of folds
    n_jobs : int or None
    random_state : int, RandomState or None
    memory : None, path or joblib.Memory
        Cache of the identification step, so that learners of the same data, mode and seed (another
        `estimator` or `surrogate`) do not refit the nuisance model. None: the last eight results of up to
        200,000 rows each are kept while the program runs, which is enough for a search.
    assumption : None, "instrument", or a combination such as ``Instrument() & Informed("failed", ...)``
        Assumption of partial mode in addition to the instrument (:mod:`selective_labels.assumptions`).
        Worst cases are over the remaining identified set, with a `Prevalence` over distributions with this
        share. The rule under the instrument alone is also learned: `predict_by_instrument`. In auto mode
        ``Instrument() & Informed("failed")`` states that the refused have this class more often.
    skill_range : float
        Tilt and auto: largest change of the log odds ratio between refused and accepted cases per unit of
        leniency. 0: strict and lenient decision-makers sort cases equally well, as checked by SL801.

    Attributes
    ----------
    classes_, decision_makers_ : arrays, sorted
    nuisance_report_ : NuisanceReport
        Models compared, their held-out losses, and the selected model. ``assignment`` describes how the
        assignment probabilities were estimated, and how they are computed for new rows.
    worst_case_regret_ : float
        Estimated worst-case regret (expected cost above that of the best rule) of the fitted rule.
    worst_case_regret_upper_ : float
        Upper limit of the worst-case regret, at one-sided 95 % confidence. Quote this one.
    predicted_shares_ : (n_classes,) array
        Share of training rows predicted as each class. A warning is issued if one class has nearly all.
    cost_ : (n_classes, n_classes) array or None
        Costs used. None for 0-1 costs and for "balanced".
    crossed_share_ : float
        Share of training rows whose bounds crossed and were repaired: noise, or an invalid instrument.
    disagreement_ : float
        With an `assumption`: share of training rows for which the rule under the instrument alone predicts
        another class. It measures how much depends on the assumption.
    cautions_ : tuple of str
        Why what was assumed is doubtful in these rows, which `fit` also warns of.
    n_ignored_labels_ : int
        Number of labels given where the decision is 0. They are not used.
    mode_ : str
        Mode used: the requested one, or "labeled-only" if the classifier is fitted to the labeled rows only.
        In auto mode "tilt", "labeled-only", or with a stated direction "stated-odds": labeled rows, with odds
        of the stated class among the refused that are e^.25 times as high, and no instrument.
    mode_reason_ : str
        Tilt and auto: which rule was learned, and why.
    instrument_part_ : InstrumentPart
        Auto: what the instrument adds to the same learner without it (`gain`, `changed`). With a stated
        direction, the rule without it is the one called "stated-odds".
    concentration_ : float
        Tilt and auto: squared t-value of the effect of decision-makers on decisions. Below 25 the instrument
        says little of the tilt.
    gate_open_ : bool
        Tilt and auto: whether the tilt is used.
    tilt_ : TiltWeights or None
        Tilt and auto, if it is used: `mean` and `spread` of γ, (n_classes,). Among similar cases, the odds of
        class k against j are e^(γ_j - γ_k) times as high among the refused. See `confidence_range()`.
    shrinkage_ : float
        Point mode: shrinkage of the slope towards the estimate for labeled cases. Infinite if the
        instrument is too weak to improve on the classifier fitted to the labeled rows, which is then used.
    one_step_ : (n_classes,) array or None
        Point mode with a numeric instrument: correction that the one-step estimator of the ratio adds to
        plug-in class probabilities. None if the instrument is too weak, or nothing was estimated.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, random_state=0)
    >>> clf = sl.UCLClassifier(estimator="plug-in", nuisance="logistic", random_state=0)
    >>> clf = clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> clf.predict(sample.X[:3]).shape, clf.predict_bounds(sample.X[:3]).lower.shape
    ((3,), (3, 3))
    """

    mode: str = "partial"
    estimator: Any = None
    surrogate: str = "auto"
    nuisance: Any = None
    instrument: str = "leniency"
    label_range: Any = NO_RANGE
    cost: Any = None
    cv: Any = 5
    n_jobs: int | None = None
    random_state: Any = None
    memory: Any = None
    assumption: Any = None
    skill_range: float = SKILL_RANGE

    def _learn(self, data: SelectiveLabels) -> None:
        self._check_parameters(data)
        data = with_instrument(data, self.instrument, nuisance=self.nuisance)
        seeds = draw_seeds(self.random_state, 2)
        assumed = None if self.mode == "auto" else read_assumption(self.assumption, self.mode, data)
        direction = read_direction(self.assumption, data) if self.mode == "auto" else None
        self.decision_makers_ = data.decision_makers
        balanced = isinstance(self.cost, str)  # "balanced" is the only allowed string
        given = None if balanced or self.cost is None else check_cost(self.cost, data)
        self.cost_ = None if given is None else np.asarray(given, dtype=float)
        self._identified, rows = identify_once(
            self.memory,
            data.bare(),
            mode=self.mode,
            instrument=self.instrument,
            label_range=read_label_range(assumed, self.label_range),
            cost=self.cost_,
            fitting=FittingSettings(self.nuisance, cv=self.cv, n_jobs=self.n_jobs, seed=seeds[0]),
            assignment=None if self.mode == "partial" else data.assignment_function,
            **({} if assumed is None else {"assumption": assumed}),
            **({"skill_range": self.skill_range} if self.mode in TILTS else {}),
            **({} if direction is None else {"direction": direction}),
        )
        if balanced:
            weights = balanced_weights(seen_shares(data))
            self._identified = replace(self._identified, class_weight=weights)
        alone = replace(self._identified, rule=self._identified.alone, alone=None)
        self._identified = with_share(self._identified, rows, assumed, data)
        self.nuisance_report_ = self._identified.joint.report
        self.cautions_ = self._identified.cautions
        self._tell_of_mode()
        weight = data.weights
        if self.mode_ in WITHOUT_INSTRUMENT and self._identified.direct is None:
            self._scores = self._without_instrument(data)
            chosen = np.searchsorted(data.classes, self._scores.predict(data.features))
        else:
            problem = self._problem(data, rows)
            surrogate = usual_surrogate(self.surrogate, from_labels=self._identified.direct is not None)
            self._scores = learn_scores(self.estimator, problem, surrogate, seeds[1], self._identified)
            chosen = self._training_scores(data, problem).argmax(axis=1)
        if self.mode == "auto":
            self.instrument_part_ = self._instrument_part(data, rows, chosen)
        regret = self._identified.worst_case_regret(rows.scores, chosen, data)
        self.worst_case_regret_ = max(regret.value, 0.0)
        self.worst_case_regret_upper_ = regret.upper
        self.crossed_share_ = float(np.average(rows.crossed, weights=weight))
        worst_case = self.mode == "partial" and not balanced
        costly = self.cost_ is not None
        self.predicted_shares_ = warn_if_constant(data, chosen, worst_case, costly, stacklevel=3)
        if worst_case and not costly and self.predicted_shares_.max() < NEARLY_ALL:
            warn_if_given_up(data, self.predicted_shares_, rows.bounds, stacklevel=3)
        self._scores_by_instrument = None
        if assumed is not None:
            costs, gains = alone.costs_and_gains(rows.bounds if rows.alone is None else rows.alone)
            problem = replace(problem, costs=costs, gains=gains)
            self._scores_by_instrument = learn_scores(self.estimator, problem, surrogate, seeds[1], alone)
            others = self._scores_by_instrument
            plain = -costs if isinstance(others, PlugIn) else others.scores(data.features)
            self.disagreement_ = float(np.average(plain.argmax(axis=1) != chosen, weights=weight))

    def _tell_of_mode(self) -> None:
        """Set the attributes that describe the result of the mode."""
        found = self._identified
        self.mode_ = LABELED_ONLY if found.direct is not None else self.mode
        if found.choice is not None:
            self.mode_, self.mode_reason_ = found.choice.mode, in_a_sentence(found.choice)
            self.concentration_ = found.choice.concentration
            self.gate_open_ = found.tilt is not None
            self.tilt_ = None if found.tilt is None else found.tilt.refused
        if found.slope is not None:
            self.shrinkage_ = found.slope.shrinkage
            self.one_step_ = found.slope.step

    def _without_instrument(self, data: SelectiveLabels) -> LabeledRule:
        """The same learner with the same costs, without the instrument."""
        choice = self._identified.choice
        odds = None
        if choice is not None and choice.event is not None and choice.mode != LABELED_ONLY:
            odds = {tuple(data.classes[choice.event].tolist()): float(np.exp(CONTROL))}
        return SelectedSampleClassifier(
            self.estimator,
            cost=self.cost,
            refused_odds=odds,
            nuisance=self.nuisance,
            random_state=self.random_state,
        ).learned(data)

    def _instrument_part(
        self, data: SelectiveLabels, rows: TrainingRows, chosen: np.ndarray
    ) -> InstrumentPart:
        """What the rule gains over the one without the instrument, at the estimated probabilities."""
        choice = self._identified.choice
        stated = choice is not None and choice.event is not None
        control = "the labeled rows with the stated direction" if stated else "the labeled rows alone"
        if self.mode_ != TILT or rows.probabilities is None:
            return InstrumentPart(0.0, 0.0, control)
        others = np.searchsorted(data.classes, self._without_instrument(data).predict(data.features))
        costs, everybody = self._identified.costs_and_gains(rows.probabilities)[0], np.arange(len(data))
        gain = np.average(costs[everybody, others] - costs[everybody, chosen], weights=data.weights)
        changed = np.average(others != chosen, weights=data.weights)
        return InstrumentPart(float(changed), float(gain), control)

    def _problem(self, data: SelectiveLabels, rows: TrainingRows) -> CostSensitiveProblem:
        """Training problem: all rows with their identified quantities, or labeled rows with their labels."""
        known, kept = rows.known, slice(None)
        if self._identified.direct is not None:
            kept = data.y != HOLE
            known = np.eye(len(data.classes))[data.y[kept]]
        costs, gains = self._identified.costs_and_gains(known)
        return CostSensitiveProblem(
            data.features[kept], costs, gains, data.weights[kept], data.categorical, data.y[kept]
        )

    def _training_scores(self, data: SelectiveLabels, problem: CostSensitiveProblem) -> np.ndarray:
        if not isinstance(self._scores, PlugIn):
            return self._scores.scores(data.features)
        if self._identified.direct is not None:
            return self._scores.scores(data.features, data)
        return -problem.costs  # from held-out models

    @property
    def uses_strata(self) -> bool:
        """Whether bounds of rows depend on their strata, so that strata are worth giving with new rows."""
        rule = getattr(getattr(self, "_identified", None), "rule", None)
        return rule is not None and rule.strata.labels is not None

    @property
    def _refused_pending(self) -> tuple[str, ...]:
        return ()  # some modes refuse the worst case, see `_check_worst_case`

    def _why_decision_makers(self, data: SelectiveLabels) -> str | None:
        if (data.y == HOLE).any():
            return "y has holes, and who decided each case is what identifies the rest"
        return None

    @takes_partitions
    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the highest score. No decision-maker is needed.

        Parameters
        ----------
        X : (n_samples, n_features) array or frame

        Returns
        -------
        (n_samples,) array of classes
        """
        check_is_fitted(self)
        if isinstance(self._scores, LabeledRule):
            return self._scores.predict(read_features(self, X))
        if isinstance(self._scores, ClassifierScore):
            return self.classes_[self._scores.best(read_features(self, X))]
        return self.classes_[self._checked_scores(X).argmax(axis=1)]

    def predict_by_instrument(self, X: Any) -> np.ndarray:
        """Predict with the rule under the instrument alone, for comparison with that under `assumption`."""
        check_is_fitted(self)
        scores = self._scores_by_instrument
        if scores is None:
            return self.predict(X)
        features = read_features(self, X)
        found = scores.scores(features, X) if isinstance(scores, PlugIn) else scores.scores(features)
        return self.classes_[found.argmax(axis=1)]

    @takes_partitions
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n_samples,) for two classes, positive for the second; else (n_samples, n_classes)."""
        scores = self._checked_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(_has_probabilities)
    @takes_partitions
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of all cases, (n_samples, n_classes). Not in partial mode.

        They hold under the assumption of the mode: NUCEM (point) or a tilt (tilt). If `mode_` is
        "labeled-only", they are those of the labeled rows, and if it is "stated-odds", those with the stated
        direction; both need an `estimator` with probabilities.
        """
        check_is_fitted(self)
        features = read_features(self, X)
        if isinstance(self._scores, LabeledRule):
            return self._scores.predict_proba(features)
        return self._identified.probabilities(features, X)

    @takes_partitions
    def predict_bounds(self, X: Any, *, confidence_level: float | None = None, strata: Any = None) -> Bounds:
        """Bounds on the class probabilities that hold without NUCEM, in all modes.

        They are estimated like the bounds of a population, by pools of the decision-makers who can see the
        case, and calibrated by the cross-fitted scores of the training rows. Crossing rows are repaired
        (:func:`selective_labels.identification.bounds.repair`).

        Parameters
        ----------
        X : (n_samples, n_features) array, frame or SelectiveLabels
        confidence_level : float, optional
            Adds a margin of sampling error: on average over rows, the probability of a class lies within its
            bounds with this confidence. Without it, the bounds are the estimates.
        strata : (n_samples,) array, optional
            Strata of the rows, as in ``fit``. Those of a SelectiveLabels are used by themselves. Where the
            stratum is unknown (missing, or not in ``fit``), the bounds are means over the strata of ``fit``.

        Returns
        -------
        Bounds
            ``lower`` and ``upper``, each (n_samples, n_classes).
        """
        features = self._question(X, confidence_level, strata)
        return self._identified.bounds(features, read_strata(X, strata), confidence_level)

    def predict_set(self, X: Any, *, confidence_level: float | None = 0.9, strata: Any = None) -> np.ndarray:
        """Classes that may be optimal within the bounds at level .9, (n_samples, n_classes) bool.

        The level holds for each row, on average over rows. One class alone may be left by chance; for rows
        whose best class is to be relied on see :meth:`decided`, which asks for more.

        Parameters
        ----------
        X, strata
            As for :meth:`predict_bounds`.
        confidence_level : float or None
            Level of the bounds; None for the estimated bounds, without a margin.
        """
        bounds = self.predict_bounds(X, confidence_level=confidence_level, strata=strata)
        return possible_classes(bounds, self._identified.cost)

    @takes_partitions
    def decided(self, X: Any, *, confidence_level: float | None = 0.9, strata: Any = None) -> np.ndarray:
        """Rows for which only one class can be optimal, few of them by mistake, (n_samples,) bool.

        At level .9, at most a tenth of the decided rows is expected to have another best class. To keep this
        promise, fewer decided rows need stronger evidence each: the margin of the bounds follows from the
        share of training rows that it decides (Benjamini and Hochberg's rule). The promise is about many
        samples. The models' errors are common to all rows, so in one sample all mistakes come together.

        Parameters
        ----------
        X, strata
            As for :meth:`predict_bounds`.
        confidence_level : float or None
            One minus the expected share of mistakes; None for the estimated bounds, without a margin.
        """
        features = self._question(X, confidence_level, strata)
        return self._identified.decided(features, read_strata(X, strata), confidence_level)

    def _question(self, X: Any, confidence_level: float | None, strata: Any) -> np.ndarray:
        """Features of new rows whose bounds are asked for, after a check of the other arguments."""
        check_is_fitted(self)
        if confidence_level is not None:
            require_share("confidence_level", confidence_level)
        if strata is not None and not self.uses_strata:
            raise InputError.about("strata", "is given, but fit had no strata; leave it out.")
        return read_features(self, X)

    def _score(self, data: SelectiveLabels, predicted: np.ndarray) -> float:
        if (data.y != HOLE).all():
            return full_label_accuracy(data, predicted)
        if not data.decision_makers_given:
            raise InputError(
                "decision_maker is missing: y has holes, and accuracy on the labeled rows is not accuracy.",
                "decision_maker",
            )
        if data.panels is not None:
            raise InputError(
                "score has no place for panels that fit has not seen; use evaluate(model, data) where labels "
                "are shared.",
                "share_labels",
            )
        chosen = np.searchsorted(self.classes_, predicted)
        return _accuracy_lower_bound(replace(data, features=read_features(self, data)), chosen, self)

    def _check_parameters(self, data: SelectiveLabels) -> None:
        """Raise :class:`InputError` for invalid or incompatible parameters."""
        require_choice("mode", self.mode, MODES)
        require_choice("instrument", self.instrument, INSTRUMENTS)
        require_skill_range(self.skill_range)
        if isinstance(self.cost, str):
            require_choice("cost", self.cost, (None, BALANCED))
        else:
            check_cost(self.cost, data)
        stated = self.mode == "auto" and read_direction(self.assumption, data) is not None
        if stated and not learns_probabilities(self) and not data.labeled.all():
            raise InputError.about(
                "estimator", "has no predict_proba, which a stated direction needs; leave assumption= out."
            )
        if data.worst_case:
            self._check_worst_case(data)
        if data.n_decision_makers == 1 and (data.y == HOLE).any():
            if self.mode in ("point", "tilt"):
                raise InputError(f"decision_maker has one value only; {self.mode} mode needs two or more.")
            if self.mode == "partial":
                warnings.warn(
                    "decision_maker has one value only: there is no instrument, and the bounds are Manski's.",
                    UserWarning,
                    stacklevel=4,
                )
        check_surrogate(self.estimator, self.surrogate, len(data.classes))

    def _check_worst_case(self, data: SelectiveLabels) -> None:
        """Raise :class:`InputError` for what needs to know more of pending outcomes than nothing."""
        if self.mode != "partial":
            refuse_pending(data, f"mode={self.mode!r}", (WORST_CASE,))
        assumed = read_assumption(self.assumption, self.mode, data)
        if assumed is not None and not assumed.takes_worst_case:
            refuse_pending(data, f"assumption={assumed.name!r}", (WORST_CASE,))
        if has_range(read_label_range(assumed, self.label_range)):
            refuse_pending(data, "a label range", (WORST_CASE,))

    def _checked_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        features = read_features(self, X)
        if isinstance(self._scores, PlugIn):
            return self._scores.scores(features, X)
        return self._scores.scores(features)


def _accuracy_lower_bound(data: SelectiveLabels, chosen: np.ndarray, classifier: UCLClassifier) -> float:
    """Mean envelope score of the chosen classes, from the classifier's own nuisance model."""
    if classifier.instrument == NUMERIC:
        data = at_values(data, classifier.decision_makers_)
    coded = data.coded_like(classifier.classes_, classifier.decision_makers_)
    known = np.flatnonzero(coded.decision_maker_codes >= 0)
    if not len(known):
        raise InputError(
            "decision_maker holds no id that fit has seen; score cases of the same decision-makers."
        )
    if len(known) < len(coded):
        warnings.warn(
            f"decision_maker: {len(coded) - len(known)} rows have ids that fit has not seen; left out.",
            UserWarning,
            stacklevel=3,
        )
    coded = coded.take(known)
    scores = cross_fit_scores(classifier._identified.joint, coded, [Instrument()], held_out=False)[
        "instrument"
    ]
    lower = scores.values[np.arange(len(known)), chosen[known]]
    return float(np.average(lower, weights=coded.sample_weight))
