"""Ways to a table that is larger than memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from selective_labels.support.errors import InputError

if TYPE_CHECKING:
    from selective_labels.data.lazy import PartitionedLabels


class FromPartitions:
    """Makes the lazy form of :class:`selective_labels.SelectiveLabels`."""

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        label: str,
        *,
        decision_maker: str,
        decision: str | None = None,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        share_labels: bool = False,
        strata: str | None = None,
        case_id: str | None = None,
        assignment: Sequence[str] | None = None,
        fit_rows: int | None = None,
        n_jobs: int | None = None,
        keep_scores: Any = None,
    ) -> "PartitionedLabels":
        """Name the roles of the columns of Parquet files, which are read a part at a time.

        Parameters
        ----------
        path : str, Path, or list of these
            A file, a folder, or a glob such as "loans/*.parquet". All files have one schema.
        label, decision_maker, decision, features, sample_weight, groups, strata
            As in :meth:`SelectiveLabels.from_frame`.
        share_labels : bool
            Refused: rows of one case may lie in several parts.
        case_id : str, optional
            Column whose hash says in which fold, sample or half a row falls. Default: groups, else the number
            of the row.
        assignment : list of str, optional
            Columns that hold known probabilities of decision-makers, in the order of the sorted ids.
        fit_rows : int, optional
            Rows that models are fitted to, a sample by hash. Default: doubled while the held-out loss falls
            by more than its error. Bounds and intervals use all rows.
        n_jobs : int, optional
            Processes that read partitions, unless a Dask client is active. Default: the cores there are.
        keep_scores : str or Path, optional
            Folder where `evaluate`, `compare` and `threshold_curve` keep the scores of all rows as Parquet,
            and find them again: with the same settings, another metric, subgroup or cut-off fits no model.

        Returns
        -------
        PartitionedLabels
            `evaluate`, `compare`, `threshold_curve`, `diagnose` and `fit` take it.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from selective_labels import SelectiveLabels
        >>> folder = tempfile.TemporaryDirectory()
        >>> frame = pd.DataFrame({"age": [30, 41, 25], "judge": ["a", "b", "a"]})
        >>> frame["failed"] = ["no", None, "yes"]
        >>> frame.to_parquet(f"{folder.name}/cases.parquet")
        >>> data = SelectiveLabels.from_parquet(folder.name, label="failed", decision_maker="judge")
        >>> len(data), data.classes.tolist(), data.features
        (3, ['no', 'yes'], ('age',))
        >>> folder.cleanup()
        """
        from selective_labels.data.lazy import PartitionedLabels
        from selective_labels.data.survey import RoleColumns
        from selective_labels.partitions.sources import DaskSource, ParquetSource

        if share_labels:
            raise InputError(
                "share_labels=True needs all rows of a case in memory, and this table is read a part at a "
                "time; read it whole and use from_frame.",
                "share_labels",
            )
        roles = RoleColumns(label, decision_maker, decision, sample_weight, groups, strata, case_id)
        source = path if isinstance(path, DaskSource) else ParquetSource.find(path)
        return PartitionedLabels.of(source, roles, features, assignment, fit_rows, n_jobs, keep_scores)

    @classmethod
    def from_dask(cls, frame: Any, label: str, **named: Any) -> "PartitionedLabels":
        """Name the roles of the columns of a Dask frame, whose partitions are computed one at a time.

        A client that is active does the work; else the scheduler that Dask would use. Partitions must come
        out the same whenever they are computed. Keywords as in :meth:`from_parquet`; `n_jobs` says nothing
        here.
        """
        from selective_labels.partitions.sources import DaskSource

        return cls.from_parquet(DaskSource(frame), label, **named)
