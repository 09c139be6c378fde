"""A table as people have it, small enough to assess in a second or two."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd

import selective_labels as sl

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/report.schema.json").read_text())
QUICK = {"nuisance": "logistic", "cv": 2, "random_state": 0}
# What is computed of any table, and may be missing.
SECTIONS = (
    "diagnosis",
    "leniency",
    "models",
    "comparison",
    "ladder",
    "decided",
    "sensitivity",
    "subgroups",
    "answers",
    "outlook",
    "comparators",
    "acceptance",
    "team",
)


def table(n_samples=800, n_classes=2, seed=5):
    """Features with text and holes, labels in words."""
    sample = sl.datasets.make_decision_makers(
        n_samples, n_classes=n_classes, n_decision_makers=4, random_state=seed
    )
    generator = np.random.default_rng(seed)
    X = pd.DataFrame(sample.X[:, :3], columns=["a", "b", "c"])
    X["town"] = generator.choice(["north", "south", "east"], n_samples)
    X.loc[::9, "b"] = np.nan
    words = np.array(["no", "yes"] if n_classes == 2 else ["high", "low", "normal"], dtype=object)
    y = pd.Series(np.where(sample.y >= 0, words[sample.y], None), name="outcome", dtype=object)
    makers = pd.Series([f"maker {code}" for code in sample.decision_maker], name="maker")
    return X, y, makers


def validate(document):
    """Raise unless the document is what the schema says; also without NaN."""
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(document, allow_nan=False)))


class Store:
    """Keeps sections as JSON text, as a file would; may be interrupted when so many are kept."""

    def __init__(self, stop_after=None):
        self.kept = {}
        self.stop_after = stop_after

    def get(self, name):
        return json.loads(self.kept[name]) if name in self.kept else None

    def put(self, name, section):
        self.kept[name] = json.dumps(section, allow_nan=False)
        if len(self.kept) == self.stop_after:
            raise KeyboardInterrupt
