"""What is missing is named by what installs it."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import selective_labels
from selective_labels import SelectiveLabels, UCLClassifier
from selective_labels._errors import TableError
from selective_labels.io.read import read_table

SOURCE = Path(selective_labels.__file__).parent


@pytest.fixture
def without(monkeypatch):
    """Make it look as if a package were not installed."""

    def hide(package):
        for name in [package, *(each for each in sys.modules if each.startswith(f"{package}."))]:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_parquet_without_pyarrow(without, tmp_path):
    path = tmp_path / "cases.parquet"
    path.write_bytes(b"PAR1" + bytes(8) + b"PAR1")
    without("pyarrow")
    with pytest.raises(TableError, match=r"needs pyarrow: pip install pyarrow\."):
        read_table(path)
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install pyarrow\."):
        SelectiveLabels.from_parquet(str(path), label="y", decision_maker="z")


def test_the_neural_learner_without_torch(without):
    without("torch")
    X, y = np.zeros((40, 1)), np.tile([0, 1, -1, 1], 10)
    learner = UCLClassifier(estimator="neural", nuisance="logistic", cv=2, random_state=0)
    with pytest.raises(ImportError, match=r"needs PyTorch: pip install torch$"):
        learner.fit(X, y, decision_maker=np.arange(40) % 2)


def test_no_message_names_an_extra_of_a_package_that_no_index_has():
    named = re.compile(r"selective-labels\[")
    assert [path.name for path in SOURCE.rglob("*.py") if named.search(path.read_text())] == []
