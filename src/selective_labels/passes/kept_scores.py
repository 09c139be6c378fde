"""Scores of a table in partitions, kept as Parquet: another metric, group or cut-off then needs no model."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assumptions import Assumption, Combination
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.identification.earmarked import Event
from selective_labels.identification.earmarks import Earmarks
from selective_labels.nuisance.score_formulas import Scores
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError

ABOUT = "about.json"
TOLD = ("clipped", "bounded", "lost")


@dataclass(frozen=True)
class KeptScores:
    """A folder of scores: one file for some rows of each repetition; sent to other processes.

    Attributes
    ----------
    folder : str
    made_from : str
        Fingerprint of the table and of how it is scored.
    """

    folder: str
    made_from: str

    @classmethod
    def of(
        cls,
        lazy: PartitionedLabels,
        classes: np.ndarray,
        assumptions: Sequence[Assumption],
        fitting: FittingSettings,
        label_range: Any,
    ) -> "KeptScores | None":
        """Where scores of a table are kept; None if they are not."""
        if lazy.keep_scores is None:
            return None
        stated = [each.label_range for each in assumptions if isinstance(each, Combination)]
        ends = [*label_range, *(end for each in stated if each for end in (each.lowest, each.highest))]
        if any(callable(end) for end in ends):
            raise InputError("keep_scores: a range of labels must be numbers, not functions.", "keep_scores")
        if fitting.seed is None or not (fitting.nuisance is None or isinstance(fitting.nuisance, str)):
            raise InputError(
                "keep_scores: scores can be found again only with a random_state, and a nuisance by name.",
                "keep_scores",
            )
        facts = {
            "source": lazy.source.fingerprint(),
            "roles": asdict(lazy.roles),
            "columns": lazy.columns,
            "fit_rows": lazy.fit_rows,
            "classes": [str(each) for each in classes.tolist()],
            "assumptions": [each.name for each in assumptions],
            "label_range": str(label_range),
            "how": [str(fitting.nuisance), fitting.cv, fitting.n_repeats, fitting.seed, fitting.propensity],
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        kept = cls(str(lazy.keep_scores), digest)
        about = kept._about()
        if about is not None and about["made_from"] != digest:
            raise InputError(
                f"keep_scores: {kept.folder} holds scores of another table, or made otherwise; give another "
                "folder.",
                "keep_scores",
            )
        Path(kept.folder).mkdir(parents=True, exist_ok=True)
        return kept

    @staticmethod
    def fitted_before(lazy: PartitionedLabels) -> int | None:
        """Rows that models were fitted to when scores were kept; None if there are none."""
        if lazy.keep_scores is None:
            return None
        about = KeptScores(str(lazy.keep_scores), "")._about()
        return None if about is None else int(about["told"]["n_fitted"])

    @property
    def told(self) -> dict[str, Any] | None:
        """What is told of the models, once all rows are scored; None before."""
        about = self._about()
        return None if about is None else about["told"]

    def finish(self, told: Mapping[str, Any]) -> None:
        """Say that all rows are scored."""
        self._write(Path(self.folder, ABOUT), json.dumps({"made_from": self.made_from, "told": dict(told)}))

    def write(self, frame: pd.DataFrame, repeat: int, scores: Mapping[str, Scores]) -> None:
        """Keep the scores of some rows, whole or not at all."""
        columns: dict[str, np.ndarray] = {}
        for name, each in scores.items():
            columns |= {f"{name}:value:{k}": column for k, column in enumerate(each.values.T)}
            columns |= {f"{name}:model:{k}": column for k, column in enumerate(each.plug_in.T)}
            if each.earmarks is not None:
                for place, event in enumerate(each.earmarks.events):
                    columns[_pot(name, "value", event)] = each.earmarks.values[:, place]
                    columns[_pot(name, "model", event)] = each.earmarks.plug_in[:, place]
            told = each.clipped, each.by_bounds, each.sharpness_lost
            columns |= {f"{name}:{what}": column for what, column in zip(TOLD, told, strict=True)}
        path = self._path(frame, repeat)
        draft = self._draft()
        pd.DataFrame(columns, index=frame.index).to_parquet(draft)
        os.replace(draft, path)

    def read(
        self, frame: pd.DataFrame, repeat: int, names: Sequence[str], n_classes: int
    ) -> dict[str, Scores]:
        """The scores of the same rows."""
        path = self._path(frame, repeat)
        try:
            table = pd.read_parquet(path)
        except FileNotFoundError:
            table = None
        if table is None or not table.index.equals(frame.index):
            raise InputError(
                f"keep_scores: {path} is missing or of other rows; remove the folder to score again.",
                "keep_scores",
            )
        found = {}
        for name in names:
            values, model = (
                table[[f"{name}:{what}:{k}" for k in range(n_classes)]].to_numpy()
                for what in ("value", "model")
            )
            clipped, bounded, lost = (table[f"{name}:{what}"].to_numpy() for what in TOLD)
            found[name] = Scores(values, model, clipped, bounded, lost, _earmarks(table, name))
        return found

    def _path(self, frame: pd.DataFrame, repeat: int) -> Path:
        return Path(self.folder, f"repeat-{repeat}-rows-{int(frame.index[0]):013}.parquet")

    def _about(self) -> dict[str, Any] | None:
        path = Path(self.folder, ABOUT)
        return json.loads(path.read_text()) if path.exists() else None

    def _write(self, path: Path, text: str) -> None:
        draft = self._draft()
        Path(draft).write_text(text)
        os.replace(draft, path)

    def _draft(self) -> str:
        handle, name = tempfile.mkstemp(prefix=".draft-", dir=self.folder)
        os.close(handle)
        return name


def _pot(name: str, what: str, event: Event) -> str:
    """Column of what is earmarked for an event."""
    return f"{name}:pot {what}:{'+'.join(map(str, event))}"


def _earmarks(table: pd.DataFrame, name: str) -> Earmarks | None:
    start = f"{name}:pot value:"
    codes = [column.removeprefix(start) for column in table.columns if column.startswith(start)]
    if not codes:
        return None
    events = tuple(tuple(int(each) for each in text.split("+")) for text in codes)
    values, models = (table[[_pot(name, what, each) for each in events]] for what in ("value", "model"))
    return Earmarks(events, values.to_numpy(), models.to_numpy())
