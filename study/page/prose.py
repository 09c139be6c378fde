"""What the page says in words, whatever the numbers are."""


def flowing(text: str) -> str:
    """One line of text that was written over several.

    Examples
    --------
    >>> flowing('''Two
    ...     lines.''')
    'Two lines.'
    """
    return " ".join(text.split())


TITLE = "The replication study"
INTRODUCTION = flowing("""
    Do the experiments of Chen, Li and Mao (ICML 2025) hold up? Each was run twice. The *published protocol*
    follows the released code. The *honest protocol* follows the paper's text, with converged learners, means
    instead of best splits, and controls. The theorems hold, with [corrections](../../docs/errata.md). This
    page is about the figures.""")
VERDICT_RULE = flowing("""
    The *effect* is the gain in accuracy of partial learning over training on the labeled cases (median
    over cells); for Table 1, the loss of accuracy at the highest noise. A figure *reproduces* under two
    conditions. First, the published protocol gives at least half of the published effect. Second, the
    instrument causes it: in half of the honest pairs (cell and classifier), partial learning is clearly
    above the same learner without an instrument, in the worse of two mirrored directions. If only the
    first holds, the figure reproduces *for another reason*. *Fallback*: share of honest fits of point
    learning that used only the labeled rows, because the instrument was too weak; the released code has
    no fallback. *Constant*: share of rules that give 99 % of the cases the same class.""")
CHARTS = flowing("""
    Charts show means with standard deviations. Bars are the limits that each method reaches with perfect
    knowledge of what it estimates. The paper's text (honest protocol) and the released code have different
    constants, so compare the order of methods within a colour.""")
CHART = "published, published protocol (best of six splits), honest in both directions, and limits."
CHART_FICO = flowing("""
    published, published protocol (best of six splits), honest in both directions; dotted: training on all
    labels.""")
REASONS_TABLE = flowing("""
    ± is a standard error over repetitions; clear means by a two-sided t test at 5 %.""")
COMMITS_TABLE = flowing("""
    Tasks (one repetition of a cell, in one direction) by part and commit.""")
CONTROLS = flowing("""
    Every claim has its control. The no-instrument control is the same learner with bounds that ignore the
    decision-maker: a gain that it shares is not due to the instrument. The mirrored design reverses the
    direction of selection: a gain that becomes a loss there depends on the direction. The share of the gap
    closed is (method - selected) / (full - selected), in the worse of the two directions. The instrument's
    part replaces the first *selected* by the no-instrument control, because learning from smooth estimates
    instead of labels can help by itself. The worse of two noisy numbers is slightly too low: without a gain
    in either direction, it shows a small loss.""")
METHODS = (
    "selected: train on the labeled cases as if they were all cases.",
    "ipw: the same, with each case weighted by the inverse of its probability of a label.",
    "full: train on the labels of all cases, which are not available in practice; an upper limit.",
    flowing("""
    partial: unified cost-sensitive learning from bounds on the class probabilities, which hold if the
    decision-maker is an instrument."""),
    flowing("""
    point: the same from point estimates, which hold under NUCEM (no unmeasured common effect modifier:
    nothing unobserved changes both how decision-makers differ and the outcome). The released code uses ratios
    of covariances with the number of the decision-maker. The honest protocol uses the library's slope of
    labels on leniency, which does not depend on the numbering (correction E4)."""),
    flowing("""
    tilt: the same from class probabilities in which refused cases differ from accepted ones by one odds ratio
    for each class, estimated by the instrument."""),
    "no-instrument: partial learning with one decision-maker for all cases; the control.",
)
DESIGN_COLUMNS = ("experiment", "cells", "what is drawn")
DESIGNS = (
    (
        "synthetic",
        "nucem or uc, y and d: .3, .5 or .7",
        flowing("""
        10,000 cases, three classes, five decision-makers. A hidden variable changes the outcome with
        strength y and the decision with strength d. In nucem designs NUCEM holds; in uc designs
        (unmeasured confounding) it fails. Mirrored: the hidden variable changes decisions in the opposite
        direction."""),
    ),
    (
        "fico",
        "nucem or uc, a: .5, .7 or .9",
        flowing("""
        Real loans of the HELOC data, two classes, made-up decisions by ten decision-makers (released: five)
        that weigh a risk score and a hidden variable with strength a. The hidden variable is how far the
        outcome is from the forecast of a random forest fitted to the same loans; released: five times the
        residual of boosting."""),
    ),
    (
        "strong",
        "additive, not-additive",
        flowing("""
        15,000 cases, three classes, decision-makers of very different leniency; additive: NUCEM holds."""),
    ),
    ("rate", "additive-n500 to n32000", "The additive design at growing numbers of training cases."),
    (
        "tilt",
        "fico-, paper- and strong designs",
        flowing("""
        The confirmation of tilt mode: the released FICO design, the strong designs with 5,000 and 15,000
        training cases, and the synthetic design with 7,000 and one strength for outcome and decision."""),
    ),
    (
        "sensitivity",
        "nucem or uc, y and d: .5 and .7, .7 and .5",
        "The synthetic design, with noise in the estimated probabilities.",
    ),
    (
        "artefact",
        "nucem or uc, y and d: .3 and .3, .5 and .5",
        "The released synthetic design and network, stopped early and trained on, one random split.",
    ),
)
DESIGNS_TABLE = (
    "Names of cells, such as uc-y0.3-d0.5; mirrored means that selection favours the other classes."
)
COUNTS_TABLE = flowing("""
    Number of repetitions, and their processor time on one core, including the choice of settings. Fits
    that did not converge are counted in the repetitions alone; a dash means that not every task counted
    them.""")
CLAIMS_TABLE = flowing("""
    Each claim with its measurement, its control, and the conclusion. ± is one standard error over
    repetitions. A difference is clear if a two-sided t test at 5 % rejects zero. A pair is a cell with a
    classifier, in both directions.""")
NEARER_TO_MEANS = flowing("""
    The stored means are thus nearer to our means of six splits than to our best of six. These numbers do not
    show that the best split was reported.""")
PUBLISHED_TABLE = flowing("""
    Accuracy, the best of six test splits as published; differences with standard errors of both sides.""")
PUBLISHED_PICTURE = flowing("""
    Published protocol: our boxes beside the published means, with the limits. The best of six splits can lie
    above the Bayes accuracy.""")
FICO_STORED = flowing("""
    On FICO, training on all labels uses no random number except the split. With the released splits, every
    repetition gives the same best accuracy, here and in the stored results. If the two differ, the stored
    results were made with other splits, settings or versions of libraries:""")
MISSES = flowing("""
    Why do the other means differ? The stored FICO results, including AdaBoost's, were not made by the
    released code (correction E17). Networks that stop early and ratios of covariances depend on their
    seeds. For the synthetic baselines under UC, the reason is unknown.""")
STEPS_TABLE = flowing("""
    Released weights and network: accuracy after 200 steps (as published) and after 5,000, with the instrument
    and without.""")
STEPS = flowing("""
    Where partial and no-instrument agree at 200 steps, the published level is reached without any
    instrument. Where accuracy falls from 200 to 5,000 steps, early stopping had raised it. Our
    explanation: a network that stops early has learned the direction of the features but hardly changed
    its intercept, and in this design the intercept carries the selection bias. The released networks
    learn from labels at twice the learning rate of costs; the selected sample at the lower rate is a
    control for that.""")
SPLITS_TABLE = flowing("""
    What reporting the best of six test splits adds (published protocol). Each split has its own network, so
    this includes the choice of a random start.""")
FICO_TABLE = flowing("""
    FICO, released weights: partial learning minus selected sample, as published and mirrored, means of six
    splits. A real gain has the same sign in both columns.""")
FICO_LIMITS = flowing("""
    The distribution of real loans is not known, so the charts have no limits; the mark is training on all
    labels. By the paper's text the hidden variable is the residual of a forest on its own training cases.
    This residual is small, so there is little confounding, and little to gain.""")
CROSSES = flowing("""
    On the left of each cell are the published means and standard deviations. They have other constants and
    are the best of six splits, so compare the order and the distances of methods, not the levels.""")
GAPS_PICTURE = flowing("""
    gain in accuracy over the selected sample, and share of the gap closed where there is a clear one, in the
    worse of two mirrored designs, with two standard errors.""")
SUMMARY_TABLE = flowing("""
    Medians over pairs (a cell with a classifier, in both directions) of the gap, full - selected, and of the
    gain, method - selected, and the share of the gap closed in the worse direction (where at least half of
    the gaps are clear). Then, in the worse direction of each pair: how many are clearly better than
    selected, clearly worse, worse by an amount that one would notice, and clearly above and below the
    no-instrument control.""")
MEANS_TABLE = "Mean accuracy with standard error (by the true class probabilities where they are known)."
GAPS_TABLE = flowing("""
    The gap between full and selected sample, the gain in accuracy over the selected sample, and the share of
    the gap closed. A dash: too few repetitions, or no clear gap.""")
WORST_CASE_TABLE = flowing("""
    Excess worst-case risk by the true bounds (mean of max_k l_k - l_t), which partial learning minimises,
    whatever its accuracy; and the difference, with the margin of a 95 % interval.""")
RATE_PICTURE = flowing("""
    Additive design, both directions together: excess risk over the Bayes rule, and excess worst-case risk
    over the minimax rule. Partial and point are plug-in rules with one family of nuisance models at all
    sizes, selected is logistic regression.""")
LEARNER_RATES = flowing("""
    The same design with two, three and five classes, and the linear softmax learner beside the plug-in rule:
    powers of n by which excess risks fall, with standard errors, and the excess risk at the largest number of
    cases. A learner has a floor: the best linear rule is not the best rule.""")
SENSITIVITY = flowing("""
    The paper multiplies the estimated class probabilities or bounds by noise. Its text, its table and the
    released code disagree about the level and the cell (correction E16). Here all four cells that text
    and code may mean are run, in both directions, at the levels of the table, with noise in one of two
    places. The first is the probabilities of decision and label: one factor for every row and
    decision-maker, rescaled to sum to one. The library notices the noise and shrinks its estimates, so
    less of the noise remains. The second, as in the paper's text, is the result: held-out class
    probabilities (point) or both bounds (partial), after which nothing shrinks; bounds that contain no
    probabilities are repaired.""")
# By the part of the experiment.
WHERE_NOISE_GOES = {
    "all": "Noise in the probabilities of decision and label",
    "answers": "Noise in class probabilities and bounds",
}
COMMANDS = flowing("""
    These commands reproduce everything; each can be stopped and resumed. With --cells, --parts and
    --repetition, they reproduce any single row of the CSV files in study/results.""")
METHOD = (
    flowing("""
    Honest: constants of the paper's text, five-fold cross-fitting, realizable bounds, converged learners, one
    random 7:3 split of each data set, means over repetitions. The decision-maker is a feature of the
    baselines. FICO: ten decision-makers, hidden variable the residual of a random forest."""),
    flowing("""
    Settings of classifiers (at most six each) are chosen by five-fold cross-validation on the labeled rows of
    a separate draw, once for each cell, direction and classifier; all methods share them. The nuisance model
    is chosen on the same draw by held-out log-loss. Hidden labels are never used. study-settings.csv has the
    chosen settings. On FICO the separate draw has other decisions but the same loans."""),
    flowing("""
    FICO has one table of loans: standard errors describe the variation of decisions and splits, not of loans.
    In the published protocol all repetitions share six splits."""),
    flowing("""
    Linear is logistic regression for the baselines and for two classes, and the paper's softmax of costs,
    trained until it has converged, for three."""),
    flowing("""
    Published: 500 iterations of boosting without regularisation, quantiles .8 and .2 over decision-makers,
    raw bounds, a linear layer with a rectifier stopped after 200 steps of Adam, weights clipped at their .9
    quantile, the best of six test splits; FICO with five decision-makers, five times an in-sample residual,
    default settings."""),
    flowing("""
    To be fair to the authors: their theorems hold (with the corrections of docs/errata.md), and they released
    code and stored results, without which this comparison would have been impossible."""),
)
