"""Five tables of five domains with a known truth, and the figures of the commands beside it.

Each table has features, an unseen circumstance u, a vendor's score, and decision-makers who get the cases of
their stratum at random and see u:

    P(event | x, u) = σ(base + x b + c u),   P(yes | x, u, z) = σ(λ_z ± (pull (x b) + see u))

with a plus where a yes inspects and a minus where it accepts. Truths are means over a large population of the
same distribution. Seeds, tables and figures were fixed before the first run.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import selective_labels as sl

N_ROWS, N_POPULATION, SEEDS = 12_000, 1_000_000, range(10)
WEIGHTS = np.array([0.9, -0.6, 0.4, 0.0])


@dataclass(frozen=True)
class Domain:
    """One domain: its words, its columns and its distribution."""

    words: str
    means: str
    label: str
    decision: str
    decision_maker: str
    strata: str
    features: tuple[str, str, str, str]
    n_makers: int
    n_strata: int
    base: float
    leniency: tuple[float, float]
    threshold: float
    cost: dict[str, float] = field(default_factory=dict)
    hidden: float = 0.8
    pull: float = 0.7
    see: float = 0.7


LENDER = {"default": 5000.0, "declined_good": 600.0}
DOMAINS = {
    "loans": Domain(
        "lending", "accept", "defaulted", "approved", "officer", "branch",
        ("debt", "income", "accounts", "age"), 30, 3, -1.6, (-1.2, 2.4), 30.0, LENDER,
    ),
    "bail": Domain(
        "bail", "accept", "missed_court", "released", "judge", "court",
        ("priors", "age", "charges", "distance"), 24, 2, -1.2, (-1.5, 1.8), 35.0,
        {"default": 900.0, "declined_good": 1500.0},
    ),
    "scans": Domain(
        "medical", "inspect", "positive", "scanned", "physician", "shift",
        ("lactate", "pressure", "pulse", "hour"), 24, 3, -2.4, (-1.8, 1.4), 20.0,
        {"inspect": 300.0, "missed": 2500.0},
    ),
    "audits": Domain(
        "audit", "inspect", "misstated", "audited", "auditor", "office",
        ("deductions", "income", "losses", "year_founded"), 36, 4, -2.0, (-2.2, 0.8), 25.0,
        {"inspect": 900.0, "missed": 4000.0},
    ),
    "claims": Domain(
        "insurance", "inspect", "fraudulent", "investigated", "adjuster", "office",
        ("amount", "tenure", "reports", "vehicle_age"), 35, 4, -2.2, (-2.0, 1.0), 20.0,
        {"inspect": 400.0, "missed": 3000.0},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A drawn table, the label of every case, and the decisions."""

    frame: pd.DataFrame
    event: np.ndarray
    yes: np.ndarray


def draw(domain: Domain, n_rows: int, seed: Any) -> Drawn:
    """Draw a table: features, score, stratum, decision-maker, decision, and the label where it is seen.

    Examples
    --------
    >>> drawn = draw(DOMAINS["claims"], 500, 0)
    >>> bool(drawn.frame["fraudulent"].notna().eq(drawn.yes).all())
    True
    """
    rng = np.random.default_rng(seed)
    x, hidden = rng.standard_normal((n_rows, len(WEIGHTS))), rng.standard_normal(n_rows)
    stratum = rng.integers(domain.n_strata, size=n_rows)
    place = rng.integers(domain.n_makers // domain.n_strata, size=n_rows)
    leniency = np.linspace(*domain.leniency, domain.n_makers // domain.n_strata)[place]
    risk = x @ WEIGHTS
    event = rng.random(n_rows) < sigmoid(domain.base + 0.3 * stratum + risk + domain.hidden * hidden)
    sign = 1.0 if domain.means == "inspect" else -1.0
    yes = rng.random(n_rows) < sigmoid(leniency + sign * (domain.pull * risk + domain.see * hidden))
    frame = pd.DataFrame(x.round(3), columns=list(domain.features))
    frame[domain.strata] = [f"{domain.strata} {each + 1}" for each in stratum]
    maker = stratum * (domain.n_makers // domain.n_strata) + place
    frame[domain.decision_maker] = [f"{domain.decision_maker} {each:02d}" for each in maker]
    frame["vendor_score"] = (100.0 * sigmoid(domain.base + risk + 0.4 * rng.standard_normal(n_rows))).round()
    frame[domain.decision] = np.where(yes, "yes", "no")
    frame[domain.label] = pd.Series(np.where(event, "yes", "no"), dtype=object).where(yes, None)
    return Drawn(frame, event, yes)


def sigmoid(value: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-value))


def table_of(domain: Domain, drawn: Drawn) -> sl.SelectiveLabels:
    """The table with its roles, what a yes means and its words; nothing else is stated."""
    return sl.SelectiveLabels.from_frame(
        drawn.frame.assign(**{domain.decision: drawn.yes.astype(int)}),
        label=domain.label,
        decision=domain.decision,
        decision_maker=domain.decision_maker,
        strata=domain.strata,
        features=list(domain.features),
        decision_means=domain.means,
        vocabulary=domain.words,
    )


RATES = (0.2, 0.5, 0.8)


def truths(domain: Domain, population: Drawn) -> dict[str, float]:
    """The value of every figure in a large population."""
    score, event, yes = population.frame["vendor_score"].to_numpy(), population.event, population.yes
    flagged = score >= domain.threshold
    inspects = domain.means == "inspect"
    acted = yes if inspects else ~yes  # the event is predicted
    found = {
        "share": event.mean(),
        "score accuracy": (flagged == event).mean(),
        "score tpr": flagged[event].mean(),
        "score fpr": flagged[~event].mean(),
        "score cost": cost_of(domain, flagged, event),
        "human tpr": acted[event].mean(),
        "human cost": cost_of(domain, acted, event),
    }
    found["score minus human, cost"] = found["score cost"] - found["human cost"]
    for rate in RATES:
        chosen = acting(domain, score, rate)
        wrong = event * (1.0 - chosen) if inspects else event * chosen
        found[f"policy {rate} main"] = wrong.mean()
        predicted = chosen if inspects else 1.0 - chosen
        found[f"policy {rate} cost"] = cost_of(domain, predicted, event)
    return {name: float(value) for name, value in found.items()}


def acting(domain: Domain, score: np.ndarray, rate: float) -> np.ndarray:
    """Probability of a yes to each case if a share is accepted (lowest) or inspected (highest scores)."""
    order = -score if domain.means == "inspect" else score
    cut = np.quantile(order, rate, method="inverted_cdf")
    below, at = order < cut, order == cut
    return below + at * (rate - below.mean()) / at.mean()


def cost_of(domain: Domain, predicted: np.ndarray, event: np.ndarray) -> float:
    """Mean cost where the event is predicted with some probability."""
    cost = domain.cost
    if domain.means == "inspect":
        return float(np.mean(cost["inspect"] * predicted + cost["missed"] * event * (1.0 - predicted)))
    good = cost["declined_good"] * predicted * ~event
    return float(np.mean(cost["default"] * event * (1.0 - predicted) + good))


def figures(domain: Domain, drawn: Drawn, **settings: Any) -> dict[str, Any]:
    """The results that the commands evaluate, compare and policy print, from models that are fitted once."""
    evaluator = sl.Evaluator(table_of(domain, drawn), cost=domain.cost, random_state=0, **settings)
    score = drawn.frame["vendor_score"].to_numpy()
    flagged = np.where(score >= domain.threshold, "yes", "no")
    found: dict[str, Any] = {"share": evaluator.evaluate(flagged, metric="share")}
    for metric in ("accuracy", "tpr", "fpr", "cost"):
        found[f"score {metric}"] = evaluator.evaluate(flagged, metric=metric)
    for metric in ("tpr", "cost"):
        found[f"human {metric}"] = evaluator.evaluate("human", metric=metric)
    found["score minus human, cost"] = evaluator.compare(flagged, "human", metric="cost")
    curve = evaluator.policy_curve(score, rates=RATES)
    for place, rate in enumerate(RATES):
        found[f"policy {rate} main"] = curve.evaluations[curve.names.main][place]
        found[f"policy {rate} cost"] = curve.evaluations["cost"][place]
    return found


def run(out: Path, **settings: Any) -> None:
    """Draw every table with every seed, unless its line is in the file already."""
    done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    known = {(each["domain"], each["seed"]) for each in done}
    values: dict[str, dict[str, float]] = {}
    for seed in SEEDS:
        for place, (name, domain) in enumerate(DOMAINS.items()):
            if (name, seed) in known:
                continue
            if name not in values:
                values[name] = truths(domain, draw(domain, N_POPULATION, [99, place]))
            truth = values[name]
            found = figures(domain, draw(domain, N_ROWS, [seed, place]), **settings)
            line: dict[str, Any] = {"domain": name, "seed": seed, "figures": {}}
            for figure, result in found.items():
                ends = [float(getattr(result, end)) for end in ("lower", "upper", "ci_lower", "ci_upper")]
                line["figures"][figure] = [truth[figure], *ends]
            with out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(name, seed, flush=True)


def summary(out: Path) -> pd.DataFrame:
    """Coverage of every figure over the seeds, and how often the wrong side of zero is established."""
    rows = []
    for line in map(json.loads, out.read_text().splitlines()):
        for figure, (truth, _, _, low, high) in line["figures"].items():
            turned = "minus" in figure and (low > 0.0 > truth or high < 0.0 < truth)
            rows.append(
                (line["domain"], figure, line["seed"], truth, low <= truth <= high, turned, low, high)
            )
    columns = ["domain", "figure", "seed", "truth", "covered", "turned", "low", "high"]
    return (
        pd.DataFrame(rows, columns=columns)
        .groupby(["domain", "figure"], sort=False)
        .agg(
            draws=("seed", "size"),
            covered=("covered", "sum"),
            turned=("turned", "sum"),
            truth=("truth", "first"),
            low=("low", "mean"),
            high=("high", "mean"),
        )
    )


def page(found: pd.DataFrame) -> str:
    """The page of the site."""
    draws, covered = int(found["draws"].sum()), int(found["covered"].sum())
    lines = [
        PAGE.format(
            draws=draws,
            covered=covered,
            share=covered / draws,
            seeds=int(found["draws"].max()),
            rows=N_ROWS,
            most=int((found["draws"] - found["covered"]).max()),
            turned=int(found["turned"].sum()),
        ),
        "| table | figure | covered | truth | mean interval |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in found.reset_index().to_dict("records"):
        values = (float(row[name]) for name in ("truth", "low", "high"))
        truth, low, high = (f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.3f}" for value in values)
        covered_of = f"{row['covered']} of {row['draws']}"
        lines.append(f"| {row['domain']} | {row['figure']} | {covered_of} | {truth} | {low} to {high} |")
    return "\n".join(lines) + "\n"


PAGE = """# Coverage in five domains

**{covered} of {draws} intervals ({share:.1%}) cover the truth. No figure is missed in more than
{most} of {seeds} draws. {turned} comparisons point the wrong way.** The truths lie inside wide
bounds here, where coverage is easy; [Coverage](coverage.md) has designs with the truth at an end of
the identified set.

`python -m study.coverage.domains` draws tables of {rows:,} rows from five made-up domains, with
{seeds} seeds each: loans, bail, scans of an emergency ward, audits of a tax office, claims of an
insurer. A yes accepts the case in the first two, and inspects it in the other three. Only the
roles, the meaning of a yes and the costs are given. Decision-makers see a circumstance that the
table lacks. The truths are means over a million cases of the same law.

- *score*: the vendor's score, cut at a fixed value.
- *human*: the decisions taken.
- *policy*: a share of the cases accepted, or inspected, by the score; *main* is `failures`, or
  `missed` where a yes inspects.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--nuisance", default=None)
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    run(options.out, nuisance=options.nuisance)
    print(summary(options.out).to_string())
    if options.page is not None:
        options.page.write_text(page(summary(options.out)), encoding="utf-8")
