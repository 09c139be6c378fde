"""For whom the data decide the best class, and for whom they leave it open."""

import numpy as np

from selective_labels.assessment.by_feature import share_by_feature
from selective_labels.assessment.columns import Column
from selective_labels.assessment.contenders import Contender
from selective_labels.assessment.sections import Part

DESCRIPTION = (
    "A case is decided if one class is the best prediction whatever the missing labels are, within the "
    "bounds that our classifier estimates from cases of the other half. This assumes the instrument: given "
    "the features, cases reach decision-makers as if at random, and who decides does not change the label. "
    "The bounds are estimates, so a case near the border may fall on either side."
)


def decided_part(ours: Contender, columns: list[Column], weights: np.ndarray) -> Part:
    """Share of decided cases, overall and by feature."""
    assert ours.decided is not None  # our own classifier always says
    return Part(
        {
            "share": float(np.average(ours.decided, weights=weights)),
            "description": DESCRIPTION,
            "by_feature": share_by_feature(columns, ours.decided, weights),
        }
    )
