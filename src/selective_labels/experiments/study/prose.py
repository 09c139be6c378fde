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
    Chen, Li and Mao (ICML 2025) learn from labels that exist only where a decision-maker decided in favour,
    with the decision-maker as an instrument. Their theory is the basis of this package. This page repeats
    their experiments twice: by the released code's own choices (published), and by the paper's text with
    converged learners, means instead of best splits, and controls (honest).""")
CONTROLS = flowing("""
    Every claim has its control. The no-instrument control is the same learner with bounds that do not know
    the decision-maker: a gain that it shares is not due to the instrument. The mirrored design turns the
    direction of selection round: a gain that becomes a loss there is luck of direction. The share of the gap
    closed is (method - selected) / (full - selected); what counts is the worse of the two directions. The
    instrument's own part has the no-instrument control in place of the selected sample on the left: learning
    from smooth estimates instead of labels can help by itself. The worse of two noisy numbers is a little too
    low: where nothing is gained in either direction, it shows a small loss.""")
COUNTS_TABLE = flowing("""
    Repetitions behind this page, and the processor time of one core that they took, the choice of settings
    included.""")
CLAIMS_TABLE = flowing("""
    Each claim with what was measured, its control, and what follows; clear means more than two standard
    errors.""")
PUBLISHED_TABLE = flowing("""
    Accuracy, the best of six test splits as published; differences with standard errors of both sides.""")
FICO_STORED = flowing("""
    On FICO, training on all labels meets no random number but the split, so with the released splits every
    repetition gives the same best accuracy. Where the stored mean is another, the stored results were made
    with other splits or settings than the released ones:""")
MISSES = flowing("""
    Likely causes of such misses: it is not recorded which constants and splits made the stored results,
    networks stopped early and ratios of covariances depend on their seeds, and versions of libraries
    differ.""")
STEPS_TABLE = flowing("""
    Released weights and network: accuracy after 200 steps (as published) and after 5,000, with the instrument
    and without.""")
STEPS = flowing("""
    Where partial and no-instrument agree at 200 steps, the published level is reached without any instrument;
    where accuracy falls from 200 to 5,000 steps, it was early stopping that had lifted it. Stopped early, the
    network has learned the direction of the features but hardly moved its intercept, and in this design that
    is where the bias of selection sits.""")
SPLITS_TABLE = "What reporting the best of six test splits adds (published protocol)."
FICO_TABLE = flowing("""
    FICO, released weights: partial learning minus selected sample, as published and mirrored, means of six
    splits. A real gain has the same sign in both columns.""")
FICO_LIMITS = flowing("""
    The law of real loans is not known, so there are no limits to draw; the mark is training on all
    labels.""")
CROSSES = flowing("""
    Left of each cell, the published means and standard deviations: they come from other constants and the
    best of six splits, so levels cannot be compared, only the order and the distance of methods.""")
GAPS_PICTURE = flowing("""
    gain in accuracy over the selected sample, and share of the gap closed where there is a clear one, in the
    worse of two mirrored designs, with two standard errors.""")
MEANS_TABLE = "Mean accuracy with standard error (by the true class probabilities where they are known)."
GAPS_TABLE = flowing("""
    Gain in accuracy over the selected sample, and share of the gap closed. A dash: too few repetitions, or no
    clear gap between full and selected sample.""")
RATE_PICTURE = flowing("""
    Additive design, plug-in rules, both directions together: excess risk over the Bayes rule, and excess
    worst-case risk over the minimax rule.""")
SENSITIVITY = flowing("""
    The paper multiplies estimated probabilities by noise. Its text, its table and the released code disagree
    about the level and the cell (correction E16). Here every probability of every row and decision-maker gets
    noise of its own, of the levels that the table prints, in both cells and both directions.""")
METHOD = (
    flowing("""
    Honest: constants of the paper's text, five-fold cross-fitting, realizable bounds, converged learners, one
    random 7:3 split of each data set, means over repetitions. The decision-maker is a feature of the
    baselines. FICO: ten decision-makers, hidden variable the residual of a random forest."""),
    flowing("""
    Settings of classifiers (at most six each) are chosen by five-fold cross-validation on the labeled rows of
    a separate draw, once for each cell, direction and classifier; all methods share them. The nuisance model
    is chosen on the same draw by held-out log-loss. No unseen label is read. What was chosen is in
    study-settings.csv."""),
    flowing("""
    Linear is logistic regression for the baselines and for two classes, and the paper's softmax of costs,
    trained until it has converged, for three. Plug-in rules take the cheapest class without a learner; their
    gap is measured against the linear baselines."""),
    flowing("""
    Published: 500 iterations of boosting without regularisation, quantiles .8 and .2 over decision-makers,
    raw bounds, a linear layer with a rectifier stopped after 200 steps of Adam, weights clipped at their .9
    quantile, the best of six test splits; FICO with five decision-makers, five times an in-sample residual,
    default settings."""),
    flowing("""
    Fair to the authors: their theorems hold (with the corrections of docs/errata.md), and they released code
    and stored results, without which none of this could have been found out."""),
)
