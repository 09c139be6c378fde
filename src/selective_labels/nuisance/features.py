"""How features enter linear models: filled, standardised, and if wanted squared and multiplied."""

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler


def standardised() -> Pipeline:
    """Fill holes with the mean, mark where they were, and bring every column to unit scale.

    Examples
    --------
    >>> standardised().fit_transform(np.array([[1.0], [3.0]]))
    array([[-1.],
           [ 1.]])
    """
    return make_pipeline(
        SimpleImputer(add_indicator=True, keep_empty_features=True),
        StandardScaler(),
        FunctionTransformer(_winsorise),
    )


def with_products() -> Pipeline:
    """Squares and products of standardised columns, standardised again."""
    return make_pipeline(PolynomialFeatures(degree=2, include_bias=False), StandardScaler())


def _winsorise(values: np.ndarray) -> np.ndarray:
    # A single outlier (an income of ten million) must not steer a linear predictor at every other row.
    return np.clip(values, -10.0, 10.0)
