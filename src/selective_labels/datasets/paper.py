"""The paper's synthetic experiment."""

from selective_labels.datasets.paper_design import CONSTANTS, SCALE, PaperDesign
from selective_labels.datasets.paper_oracle import PaperOracle
from selective_labels.datasets.random_streams import RandomState, draw_classes, draw_decisions, spawn_streams
from selective_labels.datasets.sample import SelectiveSample, hide_labels
from selective_labels.datasets.validation import check_choice, check_count, check_share


def make_paper_synthetic(
    n_samples: int = 10000,
    selection: str = "nucem",
    alpha_y: float = 0.5,
    alpha_d: float = 0.5,
    constants: str = "paper",
    n_features: int | None = None,
    n_hidden: int | None = None,
    n_decision_makers: int = 5,
    n_classes: int = 3,
    mirrored: bool = False,
    random_state: RandomState = None,
) -> SelectiveSample:
    """Draw from the synthetic design of Chen, Li and Mao (ICML 2025), with its oracle.

    Features x and hidden variables u are independent N(0, 4), z is uniform on 1..J, and

        P(Y*=k | x, u) = softmax_k((1 - alpha_y) sum_i (i + k) x_i + alpha_y factor_y sum_i (i + k) u_i),
        P(D=1 | x, u, z) = (1 - alpha_d) expit(2 z r) + alpha_d expit(factor_d c)     ("nucem"),
                         = expit((1 - alpha_d) 2 z r + alpha_d factor_d c)            ("uc"),
        r = sum_i (2 - i) x_i,  c = sum_i (1 + i) u_i.

    Under "nucem" the decision is additive in (x, z) and u, so the class probabilities are identified;
    under "uc" they are not. The paper's text and the released code disagree about the constants (E18):

    ===================  ========  =======  ==========  =========  ======================
    constants            features  hidden   i starts    factor_y   factor_d (nucem, uc)
    ===================  ========  =======  ==========  =========  ======================
    "paper"              5         5        at 1        4          3, 3
    "released_notebook"  5         5        at 0        2          1, 3
    "released_scripts"   6         4        at 0        2          1, 3
    ===================  ========  =======  ==========  =========  ======================

    Decision-makers differ in how steeply they follow r, hardly in how lenient they are: for most x the
    instrument is weak. Do not measure a method on this design alone; see `make_decision_makers`.

    Parameters
    ----------
    n_samples : int
    selection : {"nucem", "uc"}
    alpha_y, alpha_d : float in [0, 1]
        Share of the hidden variables in the outcome and in the decision.
    constants : {"paper", "released_notebook", "released_scripts"}
    n_features, n_hidden : int, optional
        None: what the constants say. At least two features, one hidden variable.
    n_decision_makers, n_classes : int
    mirrored : bool
        Turn the sign of u in the decision, so that selection favours the other classes. Everything but
        the decisions stays the same under the same seed.
    random_state : int, SeedSequence, Generator, RandomState or None

    Returns
    -------
    SelectiveSample
        Decision-makers are 1..J, the numbers of the formula. The oracle is a `PaperOracle`.

    Examples
    --------
    >>> from selective_labels.datasets import make_paper_synthetic
    >>> sample = make_paper_synthetic(1000, selection="uc", random_state=0)
    >>> sample.X.shape, sorted(set(sample.y.tolist()))
    ((1000, 5), [-1, 0, 1, 2])
    >>> round(sample.oracle.bayes_accuracy, 3), round(sample.oracle.minimax_accuracy, 3)
    (0.551, 0.517)
    """
    check_choice("constants", constants, CONSTANTS)
    chosen = CONSTANTS[constants]
    check_choice("selection", selection, chosen.decision_factor)
    design = PaperDesign(
        selection=selection,
        alpha_y=alpha_y,
        alpha_d=alpha_d,
        n_features=chosen.n_features if n_features is None else n_features,
        n_hidden=chosen.n_hidden if n_hidden is None else n_hidden,
        n_decision_makers=n_decision_makers,
        n_classes=n_classes,
        first_index=chosen.first_index,
        outcome_factor=chosen.outcome_factor,
        decision_factor=chosen.decision_factor[selection],
        mirrored=mirrored,
    )
    check_count("n_samples", n_samples, 1)
    check_count("n_features", design.n_features, 2)
    check_count("n_hidden", design.n_hidden, 1)
    check_count("n_decision_makers", n_decision_makers, 1)
    check_count("n_classes", n_classes, 2)
    check_share("alpha_y", alpha_y)
    check_share("alpha_d", alpha_d)
    return _draw(design, n_samples, random_state)


def _draw(design: PaperDesign, n_samples: int, random_state: RandomState) -> SelectiveSample:
    streams = spawn_streams(random_state)
    X = SCALE * streams.features.standard_normal((n_samples, design.n_features))
    hidden = SCALE * streams.hidden.standard_normal((n_samples, design.n_hidden))
    decision_maker = streams.assignment.choice(design.decision_makers, n_samples)

    index = design.outcome_index(X.sum(axis=1), hidden.sum(axis=1))
    y_true = draw_classes(design.outcome(index), streams.outcome)
    probability = design.decision(
        X @ design.feature_coefficients, hidden @ design.hidden_coefficients, decision_maker
    )
    decision = draw_decisions(probability, streams.decision)
    y = hide_labels(y_true, decision)
    return SelectiveSample(X, y, decision, decision_maker, y_true, PaperOracle(design))
