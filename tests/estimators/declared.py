"""Checks of scikit-learn that an estimator is declared to fail, with the reason."""


def weights_are_not_repeats(reason: str) -> dict[str, str]:
    """Why a row of weight two is not two rows: for sparse features, which are written out, as for dense."""
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
