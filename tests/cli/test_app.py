"""sensitivity, policy and plan on the command line: the library's numbers, in the form of their schemas."""

import pytest

import selective_labels as sl
from selective_labels._display import decimals

from .conftest import QUICK, ROLES
from .test_assume import FEATURES, JUDGED, document

SCORED = ("--predictions", "score")


@pytest.fixture
def command(data):
    def words(name, *more):
        return (name, data, *ROLES, *QUICK, *FEATURES, *more)

    return words


def test_sensitivity_has_odds_what_is_supported_and_where_it_flips(run, command):
    asked = command("sensitivity", *JUDGED, "--against", "0.3", "--values", "0.5,1,2,4")
    found = document(run(*asked, "--format", "json"), "sensitivity")
    assert [each["x"] for each in found["curve"]] == [0.5, 1.0, 2.0, 4.0]
    assert found["over"] == "odds"
    assert found["supported"] is not None
    assert found["concluded_at"] == 1.0
    said = " ".join(run(*asked).stdout.split())
    assert said.startswith("Conclusion: accuracy is at least 0.3.")
    assert said.count("Conclusion: ") == 1
    assert "those refused have x times the odds" in said


def test_sensitivity_over_other_knobs(run, command, refused):
    over = ("--over", "prevalence", "--values", "0.3,0.5", "--metric", "share")
    found = document(run(*command("sensitivity", *over), "--format", "json"), "sensitivity")
    assert found["subject"] is None
    assert found["curve"][0]["contradicted_share"] >= 0.0
    over = ("--over", "skill_range", "--values", "0,1.5")
    equal, differing = document(
        run(*command("sensitivity", *JUDGED, *over), "--format", "json"), "sensitivity"
    )["curve"]
    assert equal["lower"] == equal["upper"], "equal skill identifies the value"
    assert differing["lower"] <= equal["lower"] <= equal["upper"] <= differing["upper"]
    assert "numbers with commas" in refused(*command("sensitivity", *JUDGED, "--values", "1;2"))
    assert "--predictions" in refused(*command("sensitivity"))


def test_policy_prints_every_rate_and_the_human(run, command, refused):
    asked = command("policy", *SCORED, "--rates", "0.3,0.6", "--cost", "[[0,1],[5,0]]")
    found = document(run(*asked, "--format", "json"), "policy")
    assert len(found["policies"]) == 2
    assert {"failures", "cost", "profit"} <= set(found["human"])
    assert len(found["decision_makers"]) == found["data"]["n_decision_makers"]
    assert "The human accepted" in " ".join(run(*asked).stdout.split())
    assert "a matrix of numbers in JSON" in refused(*command("policy", *SCORED, "--cost", "5:1"))


@pytest.mark.parametrize("rule", ["score", "both", "either"])
def test_policy_prints_intervals_below_the_bounds_on_a_page_of_100_columns(run, command, rule):
    asked = command("policy", *SCORED, "--rates", "0.3,0.6", "--cost", "[[0,100],[500,0]]", "--rule", rule)
    policies = document(run(*asked, "--format", "json"), "policy")["policies"]
    printed = run(*asked, "--verbose").stdout
    measures = {name.removesuffix("_ci_lower") for name in policies[0] if name.endswith("_ci_lower")}
    for row in policies:
        for name in measures - ({"acceptance"} if rule == "score" else set()):
            written = decimals if name in ("cost", "profit") else "{:.3f}".format
            ends = [written(row[f"{name}_ci_{end}"]) for end in ("lower", "upper")]
            assert f"({' to '.join(ends)})" in printed, name
    assert "Intervals are in brackets below the bounds. Each 95% interval" in " ".join(printed.split())
    assert max(len(line.rstrip()) for line in printed.splitlines() if line[:1] in "│┃┏└┡") <= 100


@pytest.mark.parametrize(
    ("given", "basis"),
    [((), "diagnosis"), (JUDGED, "evaluation"), ((*JUDGED, "--against", "yes"), "comparison")],
)
def test_plan_starts_from_the_checks_a_number_or_a_comparison(run, command, given, basis):
    asked = command("plan", *given, "--width", "0.05")
    found = document(run(*asked, "--format", "json"), "plan")
    assert found["basis"] == basis
    widths = [each["interval"] for each in found["ways"][:2]]
    assert widths[1] < widths[0], "twice the cases"
    assert found["answers"]


def test_plan_takes_scores_and_costs_as_compare_does(run, command, refused):
    costs = (*SCORED, "--against", "human", "--cost", "[[0,1],[5,0]]")
    found = document(run(*command("plan", *costs), "--format", "json"), "plan")
    assert "cost of a (score, as many accepted as today) minus that of b (human)" in found["title"]
    compared = ("--a", "score", "--b", "human", *costs[-2:])
    width = document(run(*command("compare", *compared), "--format", "json"), "compare")["comparison"]
    now = found["ways"][0]
    assert now["interval"] == pytest.approx(width["ci_upper"] - width["ci_lower"])
    assert "--threshold" in refused(*command("plan", *SCORED, "--against", "guess"))


def test_a_diagnosis_plans_as_a_study_does():
    sample = sl.datasets.make_decision_makers(2000, n_classes=2, random_state=0)
    data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    diagnosis = sl.diagnose(data, nuisance="logistic", cv=2, random_state=0)
    ways = sl.plan(diagnosis, width=10.0).to_frame()
    needed = sl.plan_study(diagnosis, width=ways["interval"][0], decision_makers=(8,))
    assert needed["cases"][0] == pytest.approx(2000, abs=1), "the same formulas, turned round"
    assert needed["bounds"][0] == pytest.approx(ways["bounds"][0])


def test_drift_cuts_dates(run, command, refused):
    asked = command("drift", *JUDGED, "--period", "day", "--every", "month")
    found = document(run(*asked, "--format", "json"), "drift")
    assert [each["period"] for each in found["periods"]] == ["2024-01", "2024-02", "2024-03"]
    assert "Column" not in refused(*command("drift", *JUDGED, "--period", "month"))
