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
    Do the experiments of Chen, Li and Mao (ICML 2025) hold up? Each was run twice: by the choices of the
    released code (published protocol), and by the paper's text with converged learners, means instead of best
    splits, and controls (honest protocol). Their theorems hold, with the [corrections](../../docs/errata.md);
    this page is about the figures.""")
VERDICT_RULE = flowing("""
    The effect is the gain of partial learning over training on the labeled cases, a median over cells; of
    Table 1, what the highest noise takes from the accuracy. A figure *reproduces* if the published protocol
    gives at least half of the published effect, and the effect is the paper's: in half of the honest pairs
    (cell and classifier) partial learning is clearly above the same learner without an instrument, in the
    worse of two mirrored directions. With the first alone it reproduces *for another reason*. Fallback:
    honest fits of point learning that used the labeled rows alone, because the instrument was too weak;
    released code has no fallback. Constant: rules that give 99 % of the cases one class.""")
CHARTS = flowing("""
    Charts show means with standard deviations; bars are what each method gives with perfect knowledge of what
    it estimates. The honest protocol has the paper's constants, the released code others: compare the order
    of methods within a colour.""")
CHART = "published, published protocol (best of six splits), honest in both directions, and limits."
CHART_FICO = flowing("""
    published, published protocol (best of six splits), honest in both directions; dotted: training on all
    labels.""")
REASONS_TABLE = flowing("""
    ± is a standard error over repetitions; clear means by a two-sided t test at 5 %.""")
COMMITS_TABLE = flowing("""
    Tasks (one repetition of a cell, in one direction) by part and commit.""")
CONTROLS = flowing("""
    Every claim has its control. The no-instrument control is the same learner with bounds that do not know
    the decision-maker: a gain that it shares is not due to the instrument. The mirrored design turns the
    direction of selection round: a gain that becomes a loss there is luck of direction. The share of the gap
    closed is (method - selected) / (full - selected); what counts is the worse of the two directions. The
    instrument's own part has the no-instrument control in place of the selected sample on the left: learning
    from smooth estimates instead of labels can help by itself. The worse of two noisy numbers is a little too
    low: where nothing is gained in either direction, it shows a small loss.""")
METHODS = (
    "selected: train on the labeled cases as if they were everybody.",
    "ipw: the same, each case weighted by the inverse of its chance of a label.",
    "full: train on the labels of everybody, which nobody has; what could be reached.",
    flowing("""
    partial: unified cost-sensitive learning from bounds on the class probabilities, which hold if the
    decision-maker is an instrument."""),
    flowing("""
    point: the same from point estimates, which hold under NUCEM (no unmeasured common effect modifier:
    nothing unseen changes both how decision-makers differ and the outcome). The released code takes ratios of
    covariances with the number of the decision-maker; the honest protocol the library's slope of labels on
    leniency, which does not depend on the numbering (correction E4)."""),
    flowing("""
    tilt: the same from class probabilities in which the refused differ from the accepted by one odds ratio
    for each class, which the instrument tells."""),
    "no-instrument: partial learning with one decision-maker for everybody; the control.",
)
DESIGN_COLUMNS = ("experiment", "cells", "what is drawn")
DESIGNS = (
    (
        "synthetic",
        "nucem or uc, y and d: .3, .5 or .7",
        flowing("""
        10,000 cases, three classes, five decision-makers. A hidden variable moves the outcome with strength y
        and the decision with strength d; nucem: so that NUCEM holds, uc (unmeasured confounding): so that it
        fails. Mirrored: the hidden variable moves decisions the other way."""),
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
        15,000 cases, three classes, decision-makers who differ much in leniency; additive: NUCEM holds."""),
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
    Repetitions behind these pages, and the processor time of one core that they took, the choice of settings
    included. Fits that did not converge: in the repetitions alone; a dash where not every task counted.""")
CLAIMS_TABLE = flowing("""
    Each claim with what was measured, its control, and what follows. ± is one standard error over
    repetitions; clear is what a two-sided t test at 5 % calls different from nothing. Pairs are cells with a
    classifier, in both directions.""")
NEARER_TO_MEANS = flowing("""
    So the stored means are nearer to our means of six splits than to our best of six: that the best was
    reported is not seen in these numbers.""")
PUBLISHED_TABLE = flowing("""
    Accuracy, the best of six test splits as published; differences with standard errors of both sides.""")
PUBLISHED_PICTURE = flowing("""
    Published protocol: our boxes beside the published means, with the limits. The best of six splits can lie
    above the Bayes accuracy.""")
FICO_STORED = flowing("""
    On FICO, training on all labels meets no random number but the split, so with the released splits every
    repetition gives the same best accuracy, here and in the stored results. Where these differ, the stored
    results were made with other splits, settings or versions of libraries:""")
MISSES = flowing("""
    Why others miss: the stored FICO results, AdaBoost's among them, were not made by the code that was
    released (correction E17). Networks stopped early and ratios of covariances depend on their seeds. Why
    synthetic baselines under UC miss is open.""")
STEPS_TABLE = flowing("""
    Released weights and network: accuracy after 200 steps (as published) and after 5,000, with the instrument
    and without.""")
STEPS = flowing("""
    Where partial and no-instrument agree at 200 steps, the published level is reached without any instrument;
    where accuracy falls from 200 to 5,000 steps, it was early stopping that had lifted it. Our reading:
    stopped early, the network has learned the direction of the features but hardly moved its intercept, and
    in this design that is where the bias of selection sits. The released networks learn from labels at twice
    the rate at which they learn from costs; the selected sample at the lower rate is a control for that.""")
SPLITS_TABLE = flowing("""
    What reporting the best of six test splits adds (published protocol); each split has a network of its own,
    so this is the choice of a start, too.""")
FICO_TABLE = flowing("""
    FICO, released weights: partial learning minus selected sample, as published and mirrored, means of six
    splits. A real gain has the same sign in both columns.""")
FICO_LIMITS = flowing("""
    The law of real loans is not known, so there are no limits to draw; the mark is training on all labels.
    By the paper's text the hidden variable is the residual of a forest on its own training cases, which is
    small; there is little for it to confound, and little to gain.""")
CROSSES = flowing("""
    Left of each cell, the published means and standard deviations: they come from other constants and the
    best of six splits, so levels cannot be compared, only the order and the distance of methods.""")
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
    Excess worst-case risk by the true bounds (mean of max_k l_k - l_t): what partial learning makes small,
    whatever its accuracy; the difference with the margin of a 95 % interval.""")
RATE_PICTURE = flowing("""
    Additive design, both directions together: excess risk over the Bayes rule, and excess worst-case risk
    over the minimax rule. Partial and point are plug-in rules with one family of nuisance models at all
    sizes, selected is logistic regression.""")
LEARNER_RATES = flowing("""
    The same design with two, three and five classes, and the linear softmax learner beside the plug-in rule:
    powers of n by which excess risks fall, with standard errors, and what is left at the largest number of
    cases. A learner has a floor: the best rule of its kind is not the best rule.""")
SENSITIVITY = flowing("""
    The paper multiplies the estimated class probabilities or bounds by noise. Its text, its table and the
    released code disagree about the level and the cell (correction E16). Here all four cells that text and
    code may mean are run, in both directions, at the levels that the table prints, with noise in one of two
    places. In the probabilities of decision and label, one number for every row and decision-maker, brought
    back to sum one: the library sees how noisy its estimates are and shrinks, so less of the noise arrives.
    Or, as the paper words it, in the answers: in class probabilities (point) and in both ends of the bounds
    (partial), held out, after which nothing shrinks; bounds that no probabilities fit are repaired.""")
# By the part of the experiment.
WHERE_NOISE_GOES = {
    "all": "Noise in the probabilities of decision and label",
    "answers": "Noise in class probabilities and bounds",
}
COMMANDS = flowing("""
    All of it is made again by these commands; each can be stopped and resumed. With --cells, --parts and
    --repetition, any single row of the CSV files of study/results is made again alone.""")
METHOD = (
    flowing("""
    Honest: constants of the paper's text, five-fold cross-fitting, realizable bounds, converged learners, one
    random 7:3 split of each data set, means over repetitions. The decision-maker is a feature of the
    baselines. FICO: ten decision-makers, hidden variable the residual of a random forest."""),
    flowing("""
    Settings of classifiers (at most six each) are chosen by five-fold cross-validation on the labeled rows of
    a separate draw, once for each cell, direction and classifier; all methods share them. The nuisance model
    is chosen on the same draw by held-out log-loss. No unseen label is read. What was chosen is in
    study-settings.csv. On FICO the separate draw has decisions of its own but the same loans."""),
    flowing("""
    FICO has one table of loans: standard errors tell how decisions and splits vary, not how other loans would
    do; by the published protocol all repetitions share six splits."""),
    flowing("""
    Linear is logistic regression for the baselines and for two classes, and the paper's softmax of costs,
    trained until it has converged, for three."""),
    flowing("""
    Published: 500 iterations of boosting without regularisation, quantiles .8 and .2 over decision-makers,
    raw bounds, a linear layer with a rectifier stopped after 200 steps of Adam, weights clipped at their .9
    quantile, the best of six test splits; FICO with five decision-makers, five times an in-sample residual,
    default settings."""),
    flowing("""
    Fair to the authors: their theorems hold (with the corrections of docs/errata.md), and they released code
    and stored results, without which none of this could have been found out."""),
)
