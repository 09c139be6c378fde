"""Size of every test of `diagnose` on valid designs, and power against stated violations."""

import os
from dataclasses import dataclass, field

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.stats import binom

from selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.diagnose import CHECKS
from selective_labels.nuisance.cross_fit import FittingSettings
from tests.diagnostics import designs

pytestmark = pytest.mark.statistical

# Fewer make a smoke run; limits then widen by what chance alone does.
N_REPLICATIONS = int(os.environ.get("REPLICATIONS", "1000"))
N_JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
N_POWER = max(N_REPLICATIONS // 5, 20)
N_SAMPLES = 4000
LEVEL = 0.05
FALSE_ALARM = 1e-6
LOWEST, HIGHEST = 0.03, 0.07
LEAST_POWER = 0.8

POINT_NULLS = ("SL201", "SL202", "SL204", "SL601")
# SL203 has an approximate reference, a little conservative within strata; SL205 is corrected by Bonferroni.
AT_MOST = ("SL203", "SL205", "SL401", "SL402", "SL501", "SL602")


@dataclass(frozen=True)
class Cell:
    """One design, the checks to run on it, and what is promised: two-sided or one-sided limits."""

    name: str
    draw: object
    n_decision_makers: int
    two_sided: tuple = ()
    one_sided: tuple = ()
    n_samples: int = N_SAMPLES
    options: dict = field(default_factory=dict)


def size_cells():
    for n_decision_makers in (8, 40):
        yield Cell("valid", designs.plain, n_decision_makers, POINT_NULLS, AT_MOST)
        yield Cell("valid, strata", designs.random_within_strata, n_decision_makers, POINT_NULLS, AT_MOST)
        yield Cell("no features", designs.without_features, n_decision_makers, ("SL601",))
        yield Cell(
            "no features, strata",
            designs.without_features,
            n_decision_makers,
            ("SL601",),
            options={"with_strata": True},
        )
        yield Cell(
            "boundary", designs.on_the_boundary, n_decision_makers, one_sided=("SL401", "SL402", "SL501")
        )
        yield Cell("placebo labels", designs.placebo_labels, max(n_decision_makers, 20), one_sided=("SL501",))
        # Parts of a divided group may meet again when dealt anew: careful, so one-sided.
        assignment = ("SL201", "SL202", "SL203", "SL204", "SL205")
        for divided in (0.0, 0.1, 0.5):
            returning = {"divided": divided}
            yield Cell(
                f"persons return, {divided} go elsewhere",
                designs.returning_persons,
                n_decision_makers,
                one_sided=assignment,
                n_samples=2000,
                options=returning,
            )
        equal = {"leniency_spread": 0.0}
        yield Cell("equal", designs.plain, n_decision_makers, one_sided=("SL101",), options=equal)
        yield Cell(
            "equal, strata",
            designs.random_within_strata,
            n_decision_makers,
            one_sided=("SL101",),
            options=equal,
        )
    # Later cells come last: the number of a cell is the seed of its draws.
    for n_decision_makers in (8, 40):
        yield Cell(
            "equal, text of many values",
            designs.beside_text_of_many_values,
            n_decision_makers,
            one_sided=("SL101",),
            options=equal,
        )


POWER_CELLS = (
    Cell("a_z on [-.4, .4]", designs.plain, 8, ("SL101",), options={"leniency_spread": 0.2}),
    Cell("assigned by feature .1", designs.assigned_by_a_feature, 8, ("SL201",), options={"strength": 0.1}),
    Cell("assigned by feature .2", designs.assigned_by_a_feature, 8, ("SL202",), options={"strength": 0.2}),
    Cell("assigned by feature .1", designs.assigned_by_a_feature, 8, ("SL203",), options={"strength": 0.1}),
    *(
        Cell(f"assigned by {each}", designs.assigned_by_shape, 8, ("SL204",), (), 2000, {"shape": each})
        for each in ("product", "steps")
    ),
    *(
        Cell(f"branches of {rows} cases", designs.assigned_by_branch, 6, ("SL205",), (), 1800, {"rows": rows})
        for rows in (6, 12)
    ),
    Cell("decision-maker makes label", designs.label_depends_on_decision_maker, 6, ("SL401", "SL402")),
    Cell("half sort the other way", designs.opposite_skill, 8, ("SL501",), n_samples=20_000),
    Cell("logit, no features", designs.nucem_violated, 8, ("SL601",), n_samples=40_000),
    Cell(
        "a_z on [-.4, .4], text",
        designs.beside_text_of_many_values,
        8,
        ("SL101",),
        options={"leniency_spread": 0.2},
    ),
)


def p_values(cell, seed):
    """P-values of the cell's checks in one sample; one where a check did not apply."""
    first, second = seed.spawn(2)
    drawn = cell.draw(cell.n_samples, cell.n_decision_makers, first, **cell.options)
    roles = {"decision_maker": drawn.decision_maker, "strata": drawn.strata, "groups": drawn.groups}
    data = SelectiveLabels.from_arrays(drawn.X, drawn.y, **roles)
    fitting = FittingSettings("logistic", cv=2, seed=int(second.generate_state(1)[0]))
    context = Context(data, fitting, level=LEVEL)
    wanted = {*cell.two_sided, *cell.one_sided}
    results = [context.result_of(check) for check in CHECKS if check.code in wanted]
    return {each.code: 1.0 if each.p_value is None else each.p_value for each in results}


def rejection_rates(cell, number, n_replications):
    seeds = np.random.SeedSequence(20261115, spawn_key=(number,)).spawn(n_replications)
    drawn = Parallel(n_jobs=N_JOBS)(delayed(p_values)(cell, seed) for seed in seeds)
    return {code: float(np.mean([each[code] <= LEVEL for each in drawn])) for code in drawn[0]}


def limits(n_replications):
    """The promised limits, widened in a smoke run so that chance alone breaks them once in a million."""
    if n_replications >= 1000:
        return LOWEST, HIGHEST
    low = binom.ppf(FALSE_ALARM, n_replications, LOWEST) / n_replications
    return low, binom.isf(FALSE_ALARM, n_replications, HIGHEST) / n_replications


def test_size():
    """At a nominal 5 %, tests of a point null reject 3 % to 7 %, tests of inequalities at most 7 %."""
    low, high = limits(N_REPLICATIONS)
    broken = []
    error = np.sqrt(LEVEL * (1 - LEVEL) / N_REPLICATIONS)
    print(f"{N_REPLICATIONS} replications, binomial standard error {error:.3f}")
    for number, cell in enumerate(size_cells()):
        rates = rejection_rates(cell, number, N_REPLICATIONS)
        words = "  ".join(f"{code} {rate:.3f}" for code, rate in rates.items())
        print(f"{cell.name:22s} J={cell.n_decision_makers:<3d} {words}", flush=True)
        broken += [(cell.name, cell.n_decision_makers, c) for c in cell.two_sided if rates[c] < low]
        broken += [(cell.name, cell.n_decision_makers, c) for c, rate in rates.items() if rate > high]
    assert not broken


def test_power():
    """Every test sees the violation that it is for; NUCEM's at least four times in five."""
    rates = {}
    for number, cell in enumerate(POWER_CELLS):
        found = rejection_rates(cell, 1000 + number, N_POWER)
        rates |= {code: min(rate, rates.get(code, 1.0)) for code, rate in found.items()}
        words = "  ".join(f"{code} {rate:.2f}" for code, rate in found.items())
        print(f"{cell.name:28s} J={cell.n_decision_makers} n={cell.n_samples:,} {words}", flush=True)
    assert rates["SL601"] >= LEAST_POWER
    assert rates["SL204"] >= LEAST_POWER
    assert rates["SL205"] >= LEAST_POWER
    assert min(rates.values()) >= 2 * LEVEL
