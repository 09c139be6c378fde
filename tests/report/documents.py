"""Documents for the tests of the page: like those of an assessment, with numbers made up in a moment."""

from math import sin

ASSUMPTIONS = ("none", "instrument", "nucem", "unconfounded")
FAMILIES = ("relevance", "assignment", "overlap", "inequality", "monotonicity", "nucem", "crossing")
STATUSES = ("ok", "warning", "violated", "not applicable")
HALF_WIDTHS = {"none": 0.24, "instrument": 0.09, "nucem": 0.0, "unconfounded": 0.0}


def document(n_makers=40, classes=("paid", "defaulted"), name=""):
    """A whole document; `name` is appended to every name that comes from a user's table."""
    return {
        "schema_version": 2,
        "package_version": "0.1.0",
        "title": f"Loans{name}",
        "created": "2026-11-15",
        "command": f"selective-labels report loans.csv --label outcome{name}",
        "data": data(n_makers, classes, name),
        "summary": summary(name),
        "diagnosis": diagnosis(name),
        "leniency": leniency(n_makers, classes[-1], name),
        "models": [model("yours", f"risk_score{name}", 0.62), model("ours", "Robust classifier", 0.66)],
        "comparison": comparison(name),
        "ladder": ladder(),
        "decided": {
            "share": 0.431,
            "description": "A case is decided if only one class can be best there.",
            "by_feature": by_feature(name),
        },
        "sensitivity": sensitivity(),
        "subgroups": [subgroups(name)],
        "answers": answers(name),
        "outlook": outlook(name),
        "comparators": comparators(name),
        "acceptance": acceptance(),
        "team": team(),
    }


def interval(middle, half=0.08, error=0.03):
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return {
        "lower": low,
        "upper": high,
        "ci_lower": max(low - error, 0.0),
        "ci_upper": min(high + error, 1.0),
    }


def evaluation(metric, assumption, middle, subgroup=None, reference=None):
    ends = interval(middle, HALF_WIDTHS[assumption])
    if reference is not None:
        half = HALF_WIDTHS[assumption]
        ends = {
            "lower": middle - half,
            "upper": middle + half,
            "ci_lower": middle - half - 0.04,
            "ci_upper": middle + half + 0.04,
        }
    limits = [0.0, 1.0] if reference is None else [-1.0, 1.0]
    return {
        "metric": metric,
        "assumption": assumption,
        **ends,
        "interval": "parameter",
        "confidence_level": 0.95,
        "standard_errors": [0.01, 0.01],
        "correlation": 0.3,
        "limits": limits,
        "subgroup": subgroup,
        "reference": reference,
        "n": 3000,
        "n_labeled": 1500,
        "n_decision_makers": 40,
        "cluster": None,
        "n_clusters": 3000,
        "clipped_share": 0.0,
        "crossed": False,
        "exact": False,
        "reason": None,
        "n_effective": 2800.0,
        "assignment": "",
        "bounded_share": 0.0,
        "sharpness_lost": 0.0,
        "refusal": None,
    }


def data(n_makers, classes, name):
    features = [("age", "number", 0.0), (f"region{name}", "category", 0.02), ("since", "date", 0.4)]
    return {
        "source": f"loans{name}.csv",
        "n_cases": 3000,
        "n_labeled": 1512,
        "labeled_share": 0.504,
        "n_decision_makers": n_makers,
        "classes": [f"{each}{name}" for each in classes],
        "class_shares_labeled": [1.0 / len(classes)] * len(classes),
        "roles": {
            "label": f"outcome{name}",
            "decision": "approved",
            "decision_maker": "officer",
            "strata": None,
            "groups": "household",
            "weight": None,
        },
        "words": {
            "event": f"defaulted{name}",
            "maker": f"officer{name}",
            "makers": f"officers{name}",
            "accepted": f"approved{name}",
            "refused": f"not approved{name}",
        },
        "features": [{"name": f, "kind": kind, "missing_share": share} for f, kind, share in features],
        "left_out": [{"name": f"id{name}", "reason": "Nearly every row has a value of its own."}],
        "notes": [f"Two columns are constant{name}."],
    }


def summary(name):
    return {
        "headline": "On everybody, the accuracy of the rule lies between 53.0% and 71.0%, if cases reach "
        "decision-makers as if at random.",
        "assumed": ["Officers get their cases as if by lot."],
        "next": [f"Use “Robust classifier”{name}."],
        "sentences": [
            "Labels were seen for 50.4% of 3,000 cases.",
            f"On labeled cases alone it is 74.2%{name}.",
            "Whether ours is better is undecided.",
        ],
        "does_not_say": ["Nothing here is about fairness.", "Nothing here is about cases unlike these."],
    }


def diagnosis(name):
    checks = [
        {
            "code": f"SL{100 * place + 101}",
            "name": f"{family} check",
            "family": family,
            "status": STATUSES[place % 4],
            "statistic": 12.345 * place,
            "p_value": None if place % 2 else 0.0001,
            "message": f"Decision-makers differ by 24 points{name}.",
            "advice": "Look again." if place % 2 else "",
            "detects": "",
        }
        for place, family in enumerate(FAMILIES)
    ]
    verdict = [
        ("instrument", "strata", False, "refuted"),
        ("instrument", "features", True, "not refuted"),
        ("nucem", None, False, "cannot be checked"),
        ("unconfounded", None, False, "not refuted"),
    ]
    return {
        "checks": checks,
        "families": {each["family"]: each["status"] for each in checks},
        "n_model_rows": 3000,
        "verdict": [
            {
                "assumption": a,
                "given": g,
                "allowed": ok,
                "verdict": word,
                "reason": f"{word}: because of SL101{name}.",
                "plain": f"decision-makers differ{name}.",
                "could_see": ["lower bounds that sum to 1.03 or more on average"],
            }
            for a, g, ok, word in verdict
        ],
    }


def leniency(n_makers, pos_label, name):
    makers = [
        {
            "id": f"officer {place}{name}",
            "n": 40 + 7 * (place % 13),
            "leniency": 0.15 + 0.7 * place / max(n_makers - 1, 1),
            "error": 0.03 + 0.02 * (place % 3),
            "label_rate": None if place == 0 else 0.4 + 0.15 * sin(place) - 0.1 * place / n_makers,
            "label_rate_error": None if place == 0 else 0.05,
        }
        for place in range(n_makers)
    ]
    return {
        "pos_label": pos_label,
        "n_decision_makers": n_makers,
        "note": None,
        "decision_makers": makers,
    }


def model(key, name, middle):
    middles = {"accuracy": middle, "tpr": middle - 0.1, "fpr": 0.3, "share": 0.42, "ppv": middle - 0.04}
    evaluations = [evaluation(m, a, value) for m, value in middles.items() for a in ASSUMPTIONS]
    return {
        "key": key,
        "name": name,
        "description": "Trained on labeled cases only.",
        "does": None,
        "labeled": {"accuracy": 0.8, "tpr": None},
        "evaluations": evaluations,
    }


def comparison(name):
    results = []
    for place, assumption in enumerate(ASSUMPTIONS):
        result = evaluation("accuracy", assumption, -0.05, reference="b")
        del result["subgroup"], result["reference"]
        verdict = "undecided" if place < 2 else "b"
        results.append(
            result
            | {
                "verdict": verdict,
                "a": "yours",
                "b": "ours",
                "greater_is_better": True,
                "disagreement": 0.183,
                "sharp": True,
            }
        )
    return {"results": results, "disagreement": 0.183, "by_feature": by_feature(name)}


def by_feature(name, n_features=8):
    return [
        {
            "feature": f"feature {place}{name}",
            "kind": "number",
            "takeaway": f"feature {place}{name}: 70% where it is low, 20% where it is high",
            "bins": [
                {
                    "label": f"{10 * b} to {10 * b + 10}{name}",
                    "n": 400 + b,
                    "share": (0.2 + 0.13 * b * place) % 1,
                }
                for b in range(6)
            ],
        }
        for place in range(n_features)
    ]


def ladder():
    """Three rungs, the last of them contradicted, for accuracy and the share of the event."""
    names = ("none", "instrument", "instrument & informed(defaulted)")
    adds = ("none", "instrument", "informed(defaulted)")
    assumption_steps = []
    for place, (name, added) in enumerate(zip(names, adds, strict=True)):
        contradicted = place == 2
        ends = dict.fromkeys(interval(0.0)) if contradicted else interval(0.6, 0.2 - 0.1 * place)
        assumption_steps.append(
            {
                "title": f"+ {added}" if contradicted else name,
                "assumption": name,
                "adds": added,
                "beyond": names[place - 1] if place else None,
                **ends,
                "width": None if contradicted else ends["upper"] - ends["lower"],
                "saved": 0.2 if place == 1 else None,
                "contradicted": contradicted,
                "reason": "the lower bounds sum to more than one." if contradicted else None,
                "sentence": f"what {added} says.",
            }
        )
    shared = {
        "confidence_level": 0.95,
        "limits": [0.0, 1.0],
        "takeaway": "Narrower.",
        "rungs": assumption_steps,
    }
    ladders = [{"metric": each, **shared} for each in ("accuracy", "share")]
    return {"model": "yours", "ladders": ladders, "comparison": None}


def sensitivity():
    odds = [2.0 ** (place / 4.0 - 3.0) for place in range(25)]
    curve = [
        {
            "x": x,
            "lower": 0.2 - 0.1 * x,
            "upper": 0.2 - 0.1 * x,
            "ci_lower": 0.16 - 0.1 * x,
            "ci_upper": 0.24 - 0.1 * x,
        }
        for x in odds
    ]
    return {
        "model": "yours",
        "title": "Accuracy of yours minus ours",
        "x_name": "odds",
        "curve": curve,
        "sentences": ["The refused have so many times the odds of the event."],
        "limit": [-0.1, 0.34],
        "threshold": 0.0,
        "break_even": 2.0,
        "break_even_below": None,
        "supported": [[1.0, 4.0]],
    }


def subgroups(name):
    middles = {"men": 0.6, f"women{name}": 0.66}
    return {
        "column": f"sex{name}",
        "model": "yours",
        "evaluations": [
            evaluation(m, a, v, subgroup=g)
            for m in ("accuracy", "tpr")
            for a in ("none", "instrument")
            for g, v in middles.items()
        ],
        "gaps": [
            evaluation(m, a, 0.06, subgroup=f"women{name}", reference="men")
            for m in ("accuracy", "tpr")
            for a in ("none", "instrument")
        ],
        "usable": [1],
        "seen": [
            {"subgroup": group, "n": 1500, "accepted": 0.5, "event": interval(0.2, 0.0)} for group in middles
        ],
    }


def answers(name):
    rules = [("yours", f"risk_score{name}", 0.62), ("ours", "Robust classifier", 0.66)]
    return {
        "event": {"labeled": 0.21, "result": evaluation("share", "instrument", 0.42)},
        "rules": [
            {
                "key": key,
                "name": called,
                "labeled": 0.8,
                "result": evaluation("accuracy", "instrument", middle),
            }
            for key, called, middle in rules
        ],
    }


def outlook(name):
    ways = ("as it is", "2 times the cases", "80 decision-makers", "120 refused cases accepted at random")
    return {
        "question": f"“risk_score{name}” or “Robust classifier”?",
        "metric": "accuracy",
        "assumption": "instrument",
        "verdict": "undecided",
        **interval(0.1, 0.05),
        "ways": [
            {"way": way, "bounds": 0.1 / (p + 1), "interval": 0.2 / (p + 1)} for p, way in enumerate(ways)
        ],
        "answers": ["No number of cases settles it: the bounds themselves contain zero."],
    }


def comparators(name):
    methods = [("other", "Labeled cases only"), ("other", "Parcelling"), ("yours", f"risk_score{name}")]
    rows = [
        {
            "key": key,
            "name": called,
            "assumes": "The refused turn out like the accepted." if key == "other" else None,
            "value": interval(0.6),
            "against_ours": interval(0.1, 0.05) | {"verdict": "ours"},
            "claims": 0.21 if key == "other" else None,
        }
        for key, called in methods
    ]
    own = {"key": "ours", "name": "Robust classifier", "assumes": None, "value": interval(0.66)}
    return {
        "metric": "accuracy",
        "assumption": "instrument",
        "rows": [*rows, own | {"against_ours": None, "claims": None}],
    }


def acceptance():
    return {
        "assumption": "instrument",
        "present": 0.504,
        "human": {
            "failure_rate": interval(0.21, 0.0, 0.02),
            "failures": interval(0.1, 0.0, 0.01),
            "good_lost": interval(0.3, 0.1),
        },
        "models": [explored("yours"), explored("ours")],
    }


def explored(key):
    rates = [0.05 * place for place in range(1, 10)] + [0.504] + [0.05 * place for place in range(11, 21)]
    points = [
        {
            "rate": min(rate, 1.0),
            "failure_rate": interval(0.2 + 0.2 * rate),
            "failures": interval(0.3 * rate**2, 0.02),
            "good_lost": interval(0.6 * (1 - rate), 0.03),
        }
        for rate in rates
    ]
    return {
        "key": key,
        "start": 9,
        "points": points,
        "against_human": interval(0.05, 0.02),
        "step": {"more": 0.1, **interval(0.05, 0.02)},
        "cut_off": {
            "accept": 0.4,
            "threshold": 0.3,
            "does": None,
            "against_human": interval(0.02, 0.03),
            "worst_regret": 0.013,
            "could_be_best": [0.35, 0.55],
        },
    }


def team():
    values = {"acceptance": interval(0.5, 0.0), "failure_rate": interval(0.3), "failures": interval(0.15)}
    return {
        "model": "ours",
        "assumption": "instrument",
        "measure": "failure_rate",
        "deferred_share": 0.57,
        "ways": [
            {
                "way": way,
                "values": values,
                "difference": None if verdict is None else interval(0.02, 0.01) | {"verdict": verdict},
            }
            for way, verdict in (
                ("human", None),
                ("score", "team"),
                ("both", "human"),
                ("either", "undecided"),
                ("undecided", "undecided"),
            )
        ],
    }
