"""The assumptions that have a name: none, instrument, unconfounded, NUCEM, near NUCEM and tilt."""

from dataclasses import dataclass

import numpy as np

from selective_labels._errors import InputError
from selective_labels._validation import SKILL_RANGE, require_skill_range
from selective_labels.assumptions.base import (
    DOUBTFUL,
    NOT_APPLICABLE,
    NOT_REFUTED,
    OK,
    REFUTED,
    UNCHECKED,
    VIOLATED,
    Assumption,
    CheckVerdict,
    Findings,
    Sentence,
    decided,
    said,
)
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.event_bounds import LaminarScores
from selective_labels.identification.point import two_fold_moments
from selective_labels.nuisance.score_formulas import (
    Rows,
    Scores,
    aipw_scores,
    average_over_arms,
    bound_scores,
    manski_scores,
    ranged_envelope_scores,
    ranged_manski_scores,
    slope_or_bound_scores,
)

AS_IF_AT_RANDOM = "cases reach decision-makers as if at random"


@dataclass(frozen=True)
class Instrument(Assumption):
    """Random assignment and exclusion: who decides is as good as random and does not change the label.

    Examples
    --------
    >>> Instrument().name, Instrument().identifies_value
    ('instrument', False)
    """

    takes_worst_case = True
    name = "instrument"
    condition = AS_IF_AT_RANDOM
    sentence = (
        "cases alike in features (and stratum, if given) reach decision-makers as if at random, and who "
        "decides does not change the label."
    )
    title = "As if by lot"
    meaning = (
        "Which decision-maker gets a case is as good as random, and who decides does not change the outcome."
    )
    formula = "η_k >= max_z P(Y=k, D=1 | x, z)"
    refuted_by = (
        "lower bounds that sum to more than one (SL401, SL402), or cases that are not assigned at random."
    )
    spoken_to_by = ("assignment", "inequality", "monotonicity")
    needs_decision_makers = True
    identifies_value = False
    questions = (
        ("strata", "instrument, cases random within strata"),
        ("features", "instrument, cases random given features"),
    )

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.bound_scores`; uses a label range, if given."""
        if rows.label_range is not None:
            return ranged_envelope_scores(rows, rows.label_range, overlap)
        return bound_scores(rows, overlap)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Not allowed if there is nobody to compare with, or a check that bears on it rejects.

        A check of bounds or assignment refutes it. SL501 makes it doubtful, at 1 % after correction for the
        number of tests: it also rejects where decision-makers rank cases differently. Where assignment is
        not random within strata, SL501 says nothing about the instrument given features. SL205 makes that
        one doubtful, because its numbers rest on propensity scores that the features contradict.
        """
        if findings.status("SL301", "SL302") == NOT_APPLICABLE:
            return decided(UNCHECKED, False, said("there is only one decision-maker{}.", "SL301"))
        if findings.status("SL302") == VIOLATED:
            alone = said("most cases could have gone to one decision-maker only{}.", "SL302")
            return decided(UNCHECKED, False, alone)
        contradictions = [contradicted(findings)]
        if given == "strata":
            contradictions += _not_random(findings)
        if any(contradictions):
            return decided(REFUTED, False, *contradictions, besides(findings, given))
        if comparable(findings, given) and (codes := findings.rejecting(DOUBT_LEVEL, "monotonicity")):
            return decided(DOUBTFUL, False, said(DOUBT, codes))
        if given == "features" and (codes := findings.rejecting(MISFIT_LEVEL, "SL205")):
            return decided(DOUBTFUL, False, said(MISFIT, codes))
        verdict, reason = _assigned(given, findings)
        weak = findings.status("relevance") != OK
        use = (
            said("But decision-makers hardly differ{}, so the instrument will add little.", "SL101")
            if weak
            else ""
        )
        power = findings.power("assignment", "inequality")
        return decided(verdict, True, reason, besides(findings, given), use, power=power)


@dataclass(frozen=True)
class Lottery(Assumption):
    """Advice is shown by lot and does not change the label: both arms bound the labels of all cases.

    Examples
    --------
    >>> Lottery().name, Lottery().identifies_value
    ('lottery', False)
    """

    name = "lottery"
    sentence = (
        "whether the advice is shown is decided by lot (or as its model says), and showing it does not "
        "change the label."
    )
    title = "A lottery of the advice"
    meaning = "A lottery decides whether people see the advice; seeing it does not change the outcome."
    formula = "η_k >= max_s P(Y=k, D=1 | x, s)"
    refuted_by = "features that predict whether the advice was shown."
    needs_decision_makers = False
    identifies_value = False

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Raise an error: its scores need the arms of the lottery (:func:`selective_labels.advice`)."""
        raise InputError("assumption 'lottery' is that of advice, and of nothing else.", "assumption")

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Not checked here: :func:`selective_labels.advice` tests whether features predict the arm."""
        return decided(UNCHECKED, False, "the checks are about decision-makers, not about a lottery.")


def contradicted(findings: Findings) -> Sentence | str:
    """Sentence if a check refutes the instrument both within strata and given features; else empty."""
    codes = findings.codes(VIOLATED, "inequality", "crossing")
    return (
        said("the lower bounds contradict each other{}: the instrument is not valid.", codes) if codes else ""
    )


# Eight tests bear on an instrument: SL201 to SL205, SL401, SL402, SL501. Bonferroni at 1 %.
DOUBT_LEVEL = 0.01 / 8
DOUBT = (
    "either who decides changes the outcome, and then decision-makers are not an instrument, or "
    "decision-makers rank cases differently, which an instrument allows{}. The data cannot tell which: ask "
    "whether decision-makers do anything to a case besides deciding."
)


# SL205 is corrected for its own number of tests.
MISFIT_LEVEL = 0.01
MISFIT = (
    "features predict who decides beyond the propensity scores in use{}, so the numbers that rest on them "
    "are not to be trusted; the check names the column to give as strata."
)


def comparable(findings: Findings, given: str) -> bool:
    """Whether SL501, which compares decision-makers within strata, bears on the instrument.

    Where assignment is not random within strata, decision-makers show different labels because their cases
    differ. That contradicts an instrument within strata, and is allowed by one given features.
    """
    return given == "strata" or findings.status("assignment") != VIOLATED


def besides(findings: Findings, given: str) -> Sentence | str:
    """Sentence if SL501 rejects at its own level; else empty.

    SL601 and SL901 can reject because decisions use hidden reasons, and do not count against the instrument.
    """
    codes = findings.codes(VIOLATED, "monotonicity") if comparable(findings, given) else ""
    if not codes:
        return ""
    return said(
        "Another check rejects{}: either who decides changes the outcome, and then decision-makers are not "
        "an instrument, or decision-makers rank cases differently, which an instrument allows.",
        codes,
    )


def _not_random(findings: Findings) -> list[Sentence | str]:
    codes = findings.codes(VIOLATED, "assignment")
    if not codes:
        return []
    dealt = said("cases are not assigned to decision-makers at random within strata{}.", codes)
    return [dealt, findings.disagreement("assignment")]


def _assigned(given: str, findings: Findings) -> tuple[str, Sentence | str]:
    """Verdict and reason if no check contradicts the instrument."""
    status = findings.status("assignment")
    if status == VIOLATED:
        codes = findings.codes(VIOLATED, "assignment")
        return NOT_REFUTED, said(
            "cases are not assigned at random within strata{}, but decision-makers remain a valid "
            "instrument if everything that drives assignment is among the features; that cannot be checked. "
            "Results then rest on a model of who decides, and say so.",
            codes,
        )
    if status == NOT_APPLICABLE:
        return UNCHECKED, (
            "whether cases are assigned at random could not be tested: it rests on what you know of how "
            "they are assigned."
        )
    if status != OK:
        codes = findings.codes(status, "assignment")
        return NOT_REFUTED, said("nothing contradicts it, but note the warning about assignment{}.", codes)
    return NOT_REFUTED, (
        "the checks find no sign of non-random assignment, and the lower bounds do not contradict each other."
    )


@dataclass(frozen=True)
class NoAssumption(Assumption):
    """No assumption: a case without a label could have any label.

    Examples
    --------
    >>> NoAssumption().name, NoAssumption().needs_decision_makers
    ('none', False)
    """

    takes_worst_case = True
    name = "none"
    sentence = "nothing is assumed about the missing labels (Manski's worst case)."
    title = "Nothing assumed"
    meaning = "Nothing is assumed about cases without a label: each could have turned out either way."
    formula = "η_k >= P(Y=k, D=1 | x)"
    refuted_by = "nothing."
    needs_decision_makers = False
    identifies_value = False

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.manski_scores`; uses a label range, if any."""
        if rows.label_range is not None:
            return ranged_manski_scores(rows, rows.label_range)
        return manski_scores(rows.y, rows.labeled)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Always allowed."""
        return CheckVerdict(True, "it assumes nothing.")


@dataclass(frozen=True)
class Unconfounded(Assumption):
    """Unconfoundedness: given the features, the decision is independent of the label.

    Examples
    --------
    >>> Unconfounded().name, Unconfounded().needs_decision_makers
    ('unconfounded', False)
    """

    name = "unconfounded"
    condition = "the decision is independent of the label among comparable cases"
    sentence = "among cases with equal features, the decision is independent of the label."
    title = "No hidden reasons"
    meaning = "Among cases with equal features, whether a label was observed is independent of the outcome."
    formula = "η_k = P(Y=k | D=1, x)"
    refuted_by = "labels of comparable cases that depend on who decided (SL901)."
    spoken_to_by = ("unconfounded",)
    extrapolates = True
    needs_decision_makers = False
    identifies_value = True
    questions = (("features", "unconfounded"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.aipw_scores`."""
        return aipw_scores(rows.labeled, rows.y, overlap)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: a check that does not reject does not prove the assumption."""
        status = findings.status("unconfounded")
        if status == VIOLATED:
            codes = findings.codes(VIOLATED, "unconfounded")
            return decided(REFUTED, False, said("labels of comparable cases depend on who decided{}.", codes))
        if status == NOT_APPLICABLE:
            return decided(
                UNCHECKED,
                False,
                said("whether labels depend on who decided could not be tested{}.", "SL901"),
            )
        return decided(
            NOT_REFUTED,
            False,
            said(
                "the checks find no dependence of labels on who decided{}. That is no evidence that "
                "decisions know no more than the features: confounding that is alike for all decision-makers "
                "shows nowhere.",
                "SL901",
            ),
            power=findings.power("unconfounded"),
        )


@dataclass(frozen=True)
class Nucem(Assumption):
    """An instrument, and nothing unmeasured both affects the label and modifies how decision-makers differ.

    Examples
    --------
    >>> Nucem().name, Nucem().identifies_value, Nucem().needs_halves
    ('nucem', True, True)
    """

    name = "nucem"
    condition = "decision-makers differ by one common strictness"
    sentence = (
        "as for an instrument, and nothing unmeasured both moves the label and changes how "
        "decision-makers differ (NUCEM)."
    )
    title = "One common strictness"
    meaning = (
        "As if by lot; besides, nothing unrecorded both moves the outcome and changes how decision-makers "
        "differ (called NUCEM)."
    )
    formula = "p_kz = κ_k + η_k λ_z for every z"
    refuted_by = "decision-makers who do not lie on one line (SL601, SL602)."
    spoken_to_by = ("nucem",)
    needs_decision_makers = True
    identifies_value = True
    needs_halves = True
    questions = (("features", "nucem"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.slope_or_bound_scores`."""
        return slope_or_bound_scores(rows, overlap)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Not allowed unless the instrument is strong and valid given features, and SL601 does not reject."""
        codes = findings.codes(VIOLATED, "nucem")
        broken = [contradicted(findings), said("the data contradict NUCEM{}.", codes) if codes else ""]
        if any(broken):
            disagreement = findings.disagreement("nucem")
            return decided(REFUTED, False, *broken, disagreement, _monotonicity(findings))
        instrument = Instrument().permission(findings, "features")
        if not instrument:
            return instrument
        also = _monotonicity(findings)
        if findings.status("relevance") != OK:
            little = said("decision-makers differ too little for a point estimate{}.", "SL101")
            return decided(UNCHECKED, False, little, also)
        # SL602 detects only gross violations, so it cannot replace SL601.
        if findings.status("SL601") != OK:
            return decided(
                UNCHECKED,
                False,
                said(
                    "NUCEM could not be tested, or not with any power{}, and is not to be taken on trust.",
                    "SL601",
                ),
                also,
            )
        codes = findings.codes(OK, "nucem")
        return decided(
            NOT_REFUTED,
            True,
            said("decision-makers differ enough{}, and nothing contradicts NUCEM{}.", "SL101", codes),
            also,
            power=findings.power("nucem"),
        )


def _monotonicity(findings: Findings) -> Sentence | str:
    """Sentence if the monotonicity check rejects; else empty.

    NUCEM does not need monotonicity. It does need exclusion, and a failure of exclusion makes that check
    reject too.
    """
    if findings.status("monotonicity") != VIOLATED:
        return ""
    return said(
        "One check rejects{}: decision-makers differ by more than a threshold, which NUCEM does not forbid, "
        "or who decides changes the label, which it does.",
        "SL501",
    )


# |Cov(P(Y=k | u), P(D=1 | u))| cannot exceed 1/4 for two variables in [0, 1], so this bound always holds.
LARGEST = 0.25


@dataclass(frozen=True)
class NearNucem(Assumption):
    """Near NUCEM: decision-makers' private information on the label biases them alike, up to ρ.

    p_kz = κ_kz + η_k λ_z,   abs(κ_kz - κ_k) <= ρ for some κ_k and all z   =>   abs(η_k - slope_k) <= ρ h(x),
    slope_k = Σ_z w_z p_kz,   w_z = e_z (λ_z - λ̄) / V,   h = Σ_z abs(w_z)

    since Σ_z w_z = 0 and Σ_z w_z λ_z = 1. The interval is intersected with the instrument's bounds.

    The assumption is the same as ``SimilarBias(rho)``, which has the sharp bounds, from pairs of
    decision-makers. This class has the interval around the estimate of :class:`Nucem`, which it equals at
    ρ = 0. The interval is less noisy where pairs are not informative. h is estimated without the row at hand,
    and the inequality holds for any weights, so h needs no correction. Rows whose decision-makers differ too
    little for a slope keep the instrument's bounds for every ρ. Where the intersection is empty by the
    models, the instrument's bounds are ignored.

    Parameters
    ----------
    rho : float
        From 0 (NUCEM) to 1/4 (no restriction).

    Examples
    --------
    >>> NearNucem(0.02).name
    'near nucem(0.02)'
    """

    rho: float

    formula = "|p_kz - κ_k - η_k λ_z| <= ρ for every z"
    refuted_by = "decision-makers further from one line than ρ (SL601)."
    needs_decision_makers = True
    identifies_value = False
    needs_halves = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.rho <= LARGEST:
            raise InputError(
                f"rho={self.rho} must lie between 0 (NUCEM) and {LARGEST} (no assumption).", "assumption"
            )

    @property
    def name(self) -> str:
        """Name with ρ."""
        return f"near nucem({self.rho:g})"

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        return (
            "as for an instrument, and what decision-makers see besides the features moves all of them "
            f"alike, up to a difference of {self.rho:g} in the covariance of their decisions with a class."
        )

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return f"Near NUCEM ({self.rho:g})"

    @property
    def meaning(self) -> str:
        """The sentence with a capital letter, for the report page."""
        return self.sentence[:1].upper() + self.sentence[1:]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Slopes plus and minus ρ h(x), within the instrument's bounds."""
        slopes, instrument = slope_or_bound_scores(rows, overlap), Instrument().score(rows, overlap)
        bounded = slopes.by_bounds
        reach = np.where(bounded, 0.0, self.rho * slope_leverage(rows))[:, None]
        free = np.broadcast_to(bounded[:, None], slopes.values.shape)
        ceiling, ceiling_model = (
            np.where(free, 1.0, each + reach) for each in (slopes.values, slopes.plug_in)
        )
        # Lower bounds by the model that sum to more than one are scaled to sum to one, so that the identified
        # set is not empty.
        total = np.where(bounded, np.maximum(slopes.plug_in.sum(axis=1), 1.0), 1.0)[:, None]
        lower, model = slopes.values - reach, slopes.plug_in / total - reach
        larger = instrument.plug_in > model
        larger &= ~Bounds(np.where(larger, instrument.plug_in, model), ceiling_model).crossed[:, None]
        nothing = np.zeros((len(lower), 0))
        return Scores(
            np.where(larger, instrument.values, lower),
            np.where(larger, instrument.plug_in, model),
            slopes.clipped,
            None,
            slopes.lost,
            LaminarScores((), nothing, nothing, ceiling, ceiling_model),
        )

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: refuted with the instrument, else the size of ρ cannot be checked."""
        instrument = Instrument().permission(findings, "features")
        if not instrument:
            return instrument
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


def slope_leverage(rows: Rows) -> np.ndarray:
    """h(x) = Σ_z e_z |λ_z - λ̄| / V for every row, (n_samples,); zero where V is not positive."""
    strength = two_fold_moments(rows.first, rows.second, rows.propensity.T).strength
    mean = average_over_arms(rows.joint, rows.propensity).sum(axis=1, keepdims=True)
    spread = (rows.propensity * np.abs(1.0 - rows.joint[:, :, 0].T - mean)).sum(axis=1)
    return np.divide(spread, strength, out=np.zeros(len(spread)), where=strength > 0.0)


@dataclass(frozen=True)
class EventTilt(Assumption):
    """An instrument, and one odds ratio between refused and accepted cases within each predicted class.

    log odds of P(C | D=0, x, z) - log odds of P(C | D=1, x, z) = θ_0 + θ_1 (λ_z - λ̄)

    with θ_1 between -skill_range and skill_range.

    The odds ratio may change with the leniency of the decision-maker, because strict and lenient
    decision-makers need not sort cases equally well. The result is then a range. It supports accuracy, error,
    share and differences of accuracies. Request it by name; "all" does not include it.

    Parameters
    ----------
    skill_range : float
        Largest change of the log odds ratio per unit of leniency. 0 says that strict and lenient
        decision-makers sort cases equally well, and identifies a value.

    Examples
    --------
    >>> EventTilt().name, EventTilt().identifies_value
    ('tilt', False)
    >>> EventTilt(skill_range=0.0).name, EventTilt(skill_range=0.0).identifies_value
    ('tilt(0)', True)
    """

    skill_range: float = SKILL_RANGE

    title = "Tilt"
    condition = f"{AS_IF_AT_RANDOM} and refused cases differ by one odds ratio"
    refuted_by = "what refutes the instrument (SL401, SL402); a tilt that varies otherwise is not noticed."
    extrapolates = True
    needs_decision_makers = True

    def __post_init__(self) -> None:
        require_skill_range(self.skill_range)

    @property
    def name(self) -> str:
        """Name, with the skill range if it is not the usual one."""
        return "tilt" if self.skill_range == SKILL_RANGE else f"tilt({self.skill_range:g})"

    @property
    def identifies_value(self) -> bool:
        """Whether decision-makers are assumed to be equally skilled."""
        return self.skill_range == 0.0

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The odds ratio."""
        slope = "" if self.identifies_value else f" + θ_1 (λ_z - λ̄), |θ_1| <= {self.skill_range:g}"
        return (
            f"log odds ratio of C, P(C | D=0, x, z) against P(C | D=1, x, z): θ_0{slope}, by predicted class"
        )

    @property
    def sentence(self) -> str:
        """The assumption in one sentence."""
        return (
            "as for an instrument, and within a predicted class the odds that the prediction is right (or of "
            "the class in question) among the refused are the same multiple of those among comparable "
            f"accepted cases, for all cases{self._who}. No test is known to notice if they are not."
        )

    @property
    def meaning(self) -> str:
        """The assumption as explained on the report page."""
        return (
            "As for the instrument; besides, refusal changes the odds of a right prediction by one factor "
            f"for all cases of a predicted class{self._who}. No test is known to notice if it does not."
        )

    @property
    def _who(self) -> str:
        if self.identifies_value:
            return " and decision-makers: strict and lenient ones sort cases equally well"
        return (
            "; strict and lenient decision-makers may sort cases differently well (the log of the multiple "
            f"changes by at most {self.skill_range:g} per unit of leniency)"
        )

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Scores of the instrument's bounds, which contain the interval under the tilt."""
        return Instrument().score(rows, overlap)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: refuted with the instrument, else no test can check it."""
        instrument = Instrument().permission(findings, given)
        if not instrument:
            return instrument
        return decided(UNCHECKED, False, "no test is known to notice if the tilt is not constant.")
