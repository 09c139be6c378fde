"""One function for each kind of misuse or hard design: from a seed to answers."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument
from study.attacks import insurer, tables
from study.attacks.answers import Answer, ask, at_least, doubt_of, of_result, verdict
from study.attacks.tables import Table
from study.tasks import whole_number

# A share or a rate of so many cases is known to .0005, one standard error.
N_POPULATION = 1_000_000
Draw = Callable[[int, np.random.Generator], Table]
Run = Callable[["Ask"], list[Answer]]


@dataclass(frozen=True)
class Ask:
    """One draw: how many cases, where its random numbers come from, and which models are fitted.

    Attributes
    ----------
    n : int
    rng : Generator
    seed : int
    nuisance : str or None
    """

    n: int
    rng: np.random.Generator
    seed: int
    nuisance: str | None

    @classmethod
    def of(cls, n: int, seeds: Sequence[np.random.SeedSequence], nuisance: str | None) -> "Ask":
        """From two seeds: one for the cases, one for the fits."""
        return cls(n, np.random.default_rng(seeds[0]), whole_number(seeds[1]), nuisance)

    def evaluator(self, table: Table, **settings: Any) -> sl.Evaluator:
        """Models of a table, fitted once."""
        how = {"nuisance": self.nuisance, "n_jobs": 1, "random_state": self.seed, **settings}
        return sl.Evaluator(table.data, **how)


@dataclass(frozen=True)
class Cell:
    """One kind of misuse or hard design, or a control of it.

    Attributes
    ----------
    name : str
    words : str
        What is done.
    run : callable (Ask) -> list of Answer
    n : int
        Cases of a draw.
    control : bool
        Nothing is wrong: a caution is a false alarm.
    """

    name: str
    words: str
    run: Run
    n: int = 2000
    control: bool = False


@cache
def population(draw: Draw) -> Table:
    """Many cases of a law, for its truth."""
    return draw(N_POPULATION, np.random.default_rng(20260703))


@cache
def truth(draw: Draw, metric: str) -> float:
    """Value of a metric of predicted classes, from many cases."""
    table = population(draw)
    right, event = table.predicted == table.y_true, table.y_true == 1
    chosen = {"accuracy": right, "share": event, "tpr": right[event]}
    return float(chosen[metric].mean())


def evaluated(draw: Draw, *metrics: str) -> Run:
    """Evaluate the predictions of a table."""

    def run(ask_: Ask) -> list[Answer]:
        table = draw(ask_.n, ask_.rng)

        def call() -> Iterable[Answer]:
            found: Any = ask_.evaluator(table).evaluate(table.predicted, metric=list(metrics))
            return [of_result(each.metric, each, truth(draw, each.metric)) for each in found]

        return ask(metrics, call)

    return run


def compared_with_decisions(ask_: Ask) -> list[Answer]:
    """Compare a rule with the decisions given as predictions."""
    table = tables.with_decisions(ask_.n, ask_.rng)
    rule = (table.X[:, 0] > 0).astype(int)
    difference = truth(tables.hidden_reasons, "accuracy") - truth(tables.with_decisions, "accuracy")

    def call() -> Iterable[Answer]:
        found = ask_.evaluator(table).compare(rule, table.predicted)
        return [of_result("accuracy", found, difference)]

    return ask(["accuracy"], call)


@cache
def _truth_by_period(draw: Draw) -> list[float]:
    table = population(draw)
    right = table.predicted == table.y_true
    return [float(right[table.period == each].mean()) for each in range(tables.N_PERIODS)]


def period_by_period(draw: Draw, call: str) -> Run:
    """Accuracy by period: by `drift`, or by `evaluate` with `by`."""

    def run(ask_: Ask) -> list[Answer]:
        table = draw(ask_.n, ask_.rng)

        def asked() -> Iterable[Answer]:
            evaluator: Any = ask_.evaluator(table)
            if call == "drift":
                found = evaluator.drift(table.predicted, period=table.period).evaluations
            else:
                found = evaluator.evaluate(table.predicted, by=table.period)
            # The first period and the last, between which most has changed.
            pairs = list(zip(("first", "", "", "last"), found, _truth_by_period(draw), strict=True))
            return [of_result(name, each, value) for name, each, value in pairs if name]

        return ask(["first", "last"], asked)

    return run


def few_events(n_events: int, auc: float) -> Run:
    """The area under the curve where all labels are seen."""

    def run(ask_: Ask) -> list[Answer]:
        y, score = tables.ranked(ask_.n, n_events, auc, ask_.rng)

        def call() -> Iterable[Answer]:
            X = ask_.rng.normal(size=(ask_.n, 1))
            found = sl.evaluate(score, X, y, metric="auc", random_state=ask_.seed, n_jobs=1)
            return [of_result("auc", found, auc)]

        return ask(["auc"], call)

    return run


COST = np.array([[0.0, 1.0], [3.0, 0.0]])


@cache
def _costs_by_score() -> tuple[np.ndarray, np.ndarray]:
    """Sorted scores, and the mean cost if all scores below each of them are accepted."""
    table = population(tables.nearly_all_seen)
    order = np.argsort(table.predicted)
    failed = table.y_true[order] == 1
    accepted = np.concatenate([[0.0], np.cumsum(COST[1, 0] * failed)])
    refused = COST[0, 1] * (np.sum(~failed) - np.concatenate([[0.0], np.cumsum(~failed)]))
    return table.predicted[order], (accepted + refused) / len(order)


def recommended(ask_: Ask) -> list[Answer]:
    """The cut-off that a policy curve recommends "costs at most" a number."""
    table = tables.nearly_all_seen(ask_.n, ask_.rng)

    def call() -> Iterable[Answer]:
        how = {"cost": COST, "rates": [0.3, 0.6]}
        curve = ask_.evaluator(table).policy_curve(table.predicted, **with_bands(how))
        cut_offs: Any = curve.cut_offs
        place = cut_offs.minimax_cost
        limits = getattr(cut_offs, "worst_cost_upper", cut_offs.worst_cost)
        scores, costs = _costs_by_score()
        cost = costs[np.searchsorted(scores, cut_offs.thresholds[place])]
        said = doubt_of(next(iter(curve.human.values())))
        return [Answer("cost at most", -np.inf, float(limits[place]), float(cost), said)]

    return ask(["cost at most"], call)


def with_bands(how: dict[str, Any]) -> dict[str, Any]:
    """Keywords of a curve; bands are asked for where the curve has them."""
    knows = "simultaneous" in inspect.signature(sl.Evaluator.policy_curve).parameters
    return {**how, "simultaneous": True} if knows else how


N_RIVALS = 20


@cache
def _accuracies() -> np.ndarray:
    table, directions = population(tables.nearly_all_seen), tables.rivals(N_RIVALS)
    return np.array([np.mean((table.X @ each > 0) == table.y_true) for each in directions.T])


def best_of_rivals(ask_: Ask) -> list[Answer]:
    """The best of twenty models, and its interval: by `choose` where there is one, else by `evaluate`."""
    table = tables.nearly_all_seen(ask_.n, ask_.rng)
    models = {
        f"m{place}": (table.X @ each > 0).astype(int) for place, each in enumerate(tables.rivals(N_RIVALS).T)
    }

    def call() -> Iterable[Answer]:
        evaluator: Any = ask_.evaluator(table)
        if hasattr(evaluator, "choose"):
            choice = evaluator.choose(models)
            name, best = choice.best, choice.chosen
        else:
            all_found = {name: evaluator.evaluate(each) for name, each in models.items()}
            name, best = max(all_found.items(), key=lambda pair: pair[1].lower)
        return [of_result("accuracy of the best", best, float(_accuracies()[int(name[1:])]))]

    return ask(["accuracy of the best"], call)


def forest_on_training_rows(ask_: Ask) -> list[Answer]:
    """A forest of the labeled rows, judged on the same rows."""
    return _forest(ask_, fresh=False)


def forest_on_fresh_rows(ask_: Ask) -> list[Answer]:
    """A control: the same forest, judged on other rows."""
    return _forest(ask_, fresh=True)


def _forest(ask_: Ask, fresh: bool) -> list[Answer]:
    table = tables.nearly_all_seen(ask_.n, ask_.rng)
    forest = RandomForestClassifier(30, random_state=ask_.seed)
    forest.fit(table.X[table.decision], table.y_true[table.decision])
    # A standard error of .002.
    other = tables.nearly_all_seen(50_000, ask_.rng)
    value = float(np.mean(forest.predict(other.X) == other.y_true))
    judged = tables.nearly_all_seen(ask_.n, ask_.rng) if fresh else table
    return ask(["accuracy"], lambda: [of_result("accuracy", ask_.evaluator(judged).evaluate(forest), value)])


def instrument_is_doubted(draw: Draw, holds: bool = False) -> Run:
    """Diagnose a table on which the instrument fails, or holds, and see whether `auto` learns from it."""

    def run(ask_: Ask) -> list[Answer]:
        table = draw(ask_.n, ask_.rng)

        def checked() -> Iterable[Answer]:
            diagnosis = sl.diagnose(table.data, random_state=ask_.seed)
            allowed = diagnosis.allows("instrument")
            return [verdict("verdict", "" if allowed else allowed.reason, holds)]

        def learned() -> Iterable[Answer]:
            model = sl.UCLClassifier(
                mode="auto", estimator="linear", nuisance=ask_.nuisance, random_state=ask_.seed
            )
            mode = model.fit(table.data).mode_
            return [verdict("auto", "labeled rows only" if mode == "labeled-only" else "", holds)]

        return ask(["verdict"], checked) + ask(["auto"], learned)

    return run


def overlap_of_decisions(ask_: Ask) -> list[Answer]:
    """SL303 where a third of the cases can never be labeled."""
    table = tables.never_labeled(ask_.n, ask_.rng)

    def call() -> Iterable[Answer]:
        found = sl.diagnose(table.data, random_state=ask_.seed)["SL303"]
        return [verdict("SL303", "" if found.status == "ok" else found.message)]

    return ask(["SL303"], call)


def informed_of(adverse: int) -> Run:
    """`Informed` with one of the two labels as the adverse one; class 1 is."""

    def run(ask_: Ask) -> list[Answer]:
        table, assumed = tables.informed(ask_.n, ask_.rng), Instrument() & Informed(adverse)

        def call() -> Iterable[Answer]:
            found: Any = ask_.evaluator(table, assumption=assumed).evaluate(
                table.predicted, metric=["accuracy", "share"]
            )
            stated = bool(DIRECTION[adverse].search(found.text()))
            answers = [of_result(each.metric, each, truth(tables.informed, each.metric)) for each in found]
            return [replace(each, stated=stated) for each in answers]

        return ask(["accuracy", "share"], call)

    return run


def direction_is_said(ask_: Ask) -> list[Answer]:
    """Look for a sentence on which cases are taken as worse."""
    table, assumed = tables.informed(ask_.n, ask_.rng), Instrument() & Informed(0)

    def call() -> Iterable[Answer]:
        found: Any = ask_.evaluator(table, assumption=assumed).evaluate(table.predicted)
        return [verdict("direction", "", bool(DIRECTION[0].search(found.text())))]

    return ask(["direction"], call)


DIRECTION = {event: re.compile(rf"\b{event}\b.*at least as often") for event in (0, 1)}
GUARANTEE = re.compile(r"\b(valid|conservative|sharp)\b")


def guarantee_beside_doubt(ask_: Ask) -> list[Answer]:
    """Look for words of a guarantee beside ends that crossed; ends that do not cross count as right."""
    table = tables.crossing(ask_.n, ask_.rng)

    def call() -> Iterable[Answer]:
        found: Any = ask_.evaluator(table).evaluate(table.predicted)
        lines = [each for each in found.text().splitlines() if not each.startswith("Assumption (")]
        promised = found.crossed and any(map(GUARANTEE.search, lines))
        return [verdict("words", "", not promised)]

    return ask(["words"], call)


GAIN = re.compile(r"by (-?[\d.]+) in held-out log-loss \(standard error ([\d.]+)\)")
# A model of who decides is used if it gains more than this many standard errors; figures have three decimals.
CLEAR, ROUNDED = 1.645, 0.0005


def gain_within_its_error(ask_: Ask) -> list[Answer]:
    """Look for a model of who decides that is said to be used for a gain within sampling error."""
    table = tables.nearly_by_lot(ask_.n, ask_.rng)

    def call() -> Iterable[Answer]:
        found: Any = ask_.evaluator(table).evaluate(table.predicted)
        gain = GAIN.search(found.sample.assignment)
        small = gain is not None and float(gain[1]) + ROUNDED < CLEAR * (float(gain[2]) - ROUNDED)
        return [verdict("words", "", not small)]

    return ask(["words"], call)


def rows_of_insurer(assumption: Any) -> Run:
    """Bounds, decided rows and worst-case regret of an insurer's table with offices as strata."""

    def run(ask_: Ask) -> list[Answer]:
        train, test = (insurer.draw(ask_.n, ask_.rng) for _ in range(2))
        known = insurer.population_bounds(test, informed=assumption is not None)
        return _rows(ask_, train.data, test.data, insurer.probabilities(test), known, assumption)

    return run


def rows_on_edge(ask_: Ask) -> list[Answer]:
    """The same where the probabilities lie on an end of what is identified."""
    seeds = np.random.SeedSequence(ask_.seed).spawn(2)
    train, test = (
        sl.datasets.make_decision_makers(ask_.n, slack_class=2, random_state=1 + int(s.generate_state(1)[0]))
        for s in seeds
    )
    data = [
        sl.SelectiveLabels.from_arrays(each.X, each.y, decision_maker=each.decision_maker)
        for each in (train, test)
    ]
    oracle = train.oracle
    lower = oracle.lower(test.X)
    known = sl.Bounds(lower, lower + (1.0 - lower.sum(axis=1, keepdims=True)))
    return _rows(ask_, data[0], data[1], oracle.probabilities(test.X), known, None)


# Shares of rows that are promised on average over draws, by question.
INSIDE, RIGHT = "rows inside", "decided right"
LEAST_SHARES = {INSIDE: 0.87, RIGHT: 0.97}
# Share of decided rows from which the second is asked.
FEWEST = 0.02


def _rows(
    ask_: Ask, train: Any, test: Any, true: np.ndarray, known: sl.Bounds, assumption: Any
) -> list[Answer]:
    questions = [INSIDE, RIGHT, "regret at most"]

    def call() -> Iterable[Answer]:
        model: Any = sl.UCLClassifier(
            estimator="plug-in", nuisance=ask_.nuisance, random_state=ask_.seed, assumption=assumption
        ).fit(train)
        level = "confidence_level" in inspect.signature(model.predict_bounds).parameters
        bounds = model.predict_bounds(test, **({"confidence_level": 0.9} if level else {}))
        inside = (bounds.lower <= true + 1e-9) & (true <= bounds.upper + 1e-9)
        decided, chosen = model.decided(test), np.asarray(model.predict(test)).astype(int)
        right = chosen[decided] == true[decided].argmax(axis=1)
        # The largest regret of the prediction over what is identified in the population.
        slack = 1.0 - known.lower.sum(axis=1)
        own = known.lower[np.arange(len(chosen)), chosen]
        rival = known.lower.copy()
        rival[np.arange(len(chosen)), chosen] = -np.inf
        regret = float(np.mean(np.maximum(rival.max(axis=1) + slack - own, 0.0)))
        promised = float(getattr(model, "worst_case_regret_upper_", model.worst_case_regret_))
        few = decided.mean() < FEWEST
        return [
            at_least(INSIDE, float(inside.mean()), LEAST_SHARES[INSIDE]),
            at_least(RIGHT, 1.0 if few else float(right.mean()), LEAST_SHARES[RIGHT]),
            Answer(questions[2], -np.inf, promised, regret),
        ]

    return ask(questions, call)


ROWS = (
    Cell("decisions", "the decisions given as predictions", evaluated(tables.with_decisions, "accuracy")),
    Cell("team", "model or human", evaluated(tables.with_a_team, "accuracy")),
    Cell("compare", "compare(model, decisions)", compared_with_decisions),
    Cell("id", "a model that uses the decision-maker's id", evaluated(tables.with_the_id, "accuracy")),
    Cell(
        "levels",
        "a category of 300 levels drives assignment and outcome",
        evaluated(tables.many_levels, "accuracy"),
        1800,
    ),
    Cell(
        "levels-share",
        "the same, the share on the edge",
        evaluated(tables.many_levels_share, "share"),
        1800,
    ),
    Cell("roster", "a weekly roster, the date a feature", evaluated(tables.weekly_roster, "accuracy")),
    Cell("roster-share", "the same, the share on the edge", evaluated(tables.weekly_roster_share, "share")),
    Cell(
        "amount",
        "a raw lognormal amount drives assignment",
        evaluated(tables.raw_amount, "accuracy", "tpr"),
    ),
    Cell(
        "told",
        "assignment= says by lot, and is wrong",
        evaluated(tables.wrong_assignment, "accuracy", "share"),
    ),
    *(
        Cell(f"auc-{events}-{auc}", f"AUC of {auc} with {events} events", few_events(events, auc), 400)
        for events in (1, 4, 10, 20)
        for auc in (0.76, 0.93, 0.976)
    ),
    Cell("rows", "rows of an insurer's table, instrument", rows_of_insurer(None), 4000),
    Cell(
        "rows-informed",
        "rows of an insurer's table, informed",
        rows_of_insurer(Instrument() & Informed(1, direction_known=True)),
        4000,
    ),
    Cell("rows-edge", "rows, the truth on the edge", rows_on_edge, 3000),
    Cell("cut-off", "the cut-off that policy_curve recommends", recommended),
    Cell("best", "the best of 20 models, then its interval", best_of_rivals),
    Cell("persons", "everybody eight times, no groups", evaluated(tables.persons, "accuracy", "share")),
    Cell("forest", "a forest judged on its training rows", forest_on_training_rows),
    Cell("deciders", "who decides changes the outcome", instrument_is_doubted(tables.deciders_matter), 4000),
    Cell("overlap", "31 % of the cases are never labeled", overlap_of_decisions),
    Cell("wrong-way", "Informed in the wrong direction", informed_of(0)),
    Cell("direction", "the result says the direction of Informed", direction_is_said),
    Cell("crossed", "words of a guarantee beside crossed ends", guarantee_beside_doubt, 1500),
    Cell("drift", "drift where the staff changes", period_by_period(tables.turnover, "drift")),
    Cell("by", "evaluate(by=) where the staff changes", period_by_period(tables.turnover, "by")),
    Cell("gain", "a model of who decides within its standard error", gain_within_its_error, 2500),
)
CONTROLS = (
    Cell("model", "a model of the features", evaluated(tables.hidden_reasons, "accuracy"), control=True),
    Cell("vendor", "a score that people look at", evaluated(tables.vendor_score, "accuracy"), control=True),
    Cell(
        "levels-by-lot",
        "300 levels, cases by lot",
        evaluated(tables.many_levels_by_lot, "accuracy", "share"),
        1800,
        control=True,
    ),
    Cell(
        "dates-by-lot",
        "dates, cases by lot",
        evaluated(tables.dates_by_lot, "accuracy", "share"),
        control=True,
    ),
    Cell(
        "amount-by-lot",
        "a lognormal amount, cases by lot",
        evaluated(tables.raw_amount_by_lot, "accuracy", "tpr"),
        control=True,
    ),
    Cell(
        "told-rightly",
        "assignment= says by lot, and is right",
        evaluated(tables.right_assignment, "accuracy", "share"),
        control=True,
    ),
    Cell("auc-100", "AUC of 0.76 with 100 events", few_events(100, 0.76), 400, control=True),
    Cell("forest-fresh", "a forest judged on other rows", forest_on_fresh_rows, control=True),
    Cell(
        "deciders-alike",
        "hidden reasons, one threshold each",
        instrument_is_doubted(tables.deciders_do_not_matter, True),
        4000,
        control=True,
    ),
    Cell(
        "deciders-sort",
        "decision-makers sort cases differently",
        instrument_is_doubted(tables.deciders_sort_differently, True),
        4000,
        control=True,
    ),
    Cell(
        "drift-steady",
        "drift where the staff stays",
        period_by_period(tables.steady_staff, "drift"),
        control=True,
    ),
    Cell("right-way", "Informed in the right direction", informed_of(1), control=True),
)
CELLS = {each.name: each for each in (*ROWS, *CONTROLS)}
