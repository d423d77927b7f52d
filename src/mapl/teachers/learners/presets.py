"""Learners by name, with settings for shards of tens to thousands of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mapl.data.tables.schema import Schema
from mapl.errors import InvalidParameter
from mapl.misspelled_names import did_you_mean
from mapl.parameters import spell
from mapl.planning.rules.method import METHODS

if TYPE_CHECKING:
    from mapl.data.encoding.encoder import Encoder


@dataclass(frozen=True, slots=True)
class Preset:
    """A model behind the schema's encoder.

    Parameters
    ----------
    model
        Makes an unfitted estimator; what it needs is imported only then.
    bins
        Into how many public bins numbers are also cut, which lets linear models bend; 0 for none.
    sparse
        Whether the model takes the sparse matrices that text is encoded as.
    """

    summary: str
    model: Callable[[], Any]
    bins: int = 0
    sparse: bool = True

    def build(self, schema: Schema | None, encoder: Encoder | None = None) -> Any:
        """Return an unfitted Pipeline; without a schema, numbers are scaled within each shard instead.

        Parameters
        ----------
        encoder
            What public rows have taught about the columns (`mapl.data.encoding.choice`), which images need.
        """
        from sklearn.pipeline import Pipeline

        if schema is None:
            from sklearn.impute import SimpleImputer
            from sklearn.preprocessing import StandardScaler

            scale = StandardScaler(with_mean=False)  # which keeps a sparse matrix sparse
            return Pipeline([("impute", SimpleImputer()), ("scale", scale), ("model", self.model())])
        if not self.sparse and any(column.kind == "text" for column in schema.columns):
            able = ", ".join(name for name, other in PRESETS.items() if other.sparse)
            raise InvalidParameter(
                f"The schema has columns of text, which {name_of(self)} does not read; take one of {able}."
            )
        from mapl.data.encoding.choice import with_bins

        declared = schema.coarsened(self.bins) if self.bins else schema
        encode = with_bins(encoder, declared, bins=self.bins > 0, dense=not self.sparse)
        return Pipeline([("encode", encode), ("model", self.model())])


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=3.0, max_iter=200)


def _ridge() -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=0.5)


def _hgb() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, min_samples_leaf=5, l2_regularization=1.0, early_stopping=False
    )


def _lgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=50, num_leaves=8, min_child_samples=5, reg_lambda=1.0, max_bin=63, n_jobs=1, verbosity=-1
    )


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=50, min_samples_leaf=2)


def _nb() -> Any:
    from sklearn.naive_bayes import BernoulliNB

    return BernoulliNB(alpha=0.5)


def _svm() -> Any:
    from sklearn.svm import SVC

    return SVC(C=1.0)


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(hidden_layer_sizes=(32,), alpha=1e-2, learning_rate_init=0.01, max_iter=100)


def _image() -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=10.0, class_weight="balanced")


def _text() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=1.0)


PRESETS: dict[str, Preset] = {
    "logistic": Preset("logistic regression: fast, good with few rows", _logistic),
    "ridge": Preset("ridge classifier: the fastest, good with few rows and many columns", _ridge),
    "ridge-bins": Preset("ridge classifier on numbers and six public bins of each: bends", _ridge, bins=6),
    "hgb": Preset("histogram gradient boosting: needs hundreds of rows per teacher", _hgb, sparse=False),
    "forest": Preset("random forest: few assumptions, slower", _forest),
    "nb": Preset(
        "naive Bayes on categories and on numbers above their centre: good with very few rows", _nb, bins=32
    ),
    "svm": Preset("support vectors with a Gaussian kernel: small shards only", _svm),
    "mlp": Preset("a small neural network: slower", _mlp),
    "image": Preset("class-balanced ridge: for images, with tens of rows per teacher", _image),
    "text": Preset("linear support vectors: for hashed words and other wide, sparse rows", _text),
}
if find_spec("lightgbm") is not None:
    PRESETS["lgbm"] = Preset("LightGBM: needs hundreds of rows per teacher", _lgbm)


MISSING = {
    "lgbm": '; for lgbm: pip install "mapl[boosting]"',
    "cnn": "; cnn needs thousands of images, which a student has and no teacher: it is for students only",
}
"""What else to say about a name that is none here."""


def preset(name: str) -> Preset:
    """Return a preset by its name."""
    if name in METHODS:  # which is taken for a learner now and then
        raise InvalidParameter(
            f"There is no learner {name!r}: it is a method, {spell('method', name)} where one learns."
        )
    if name not in PRESETS:
        more = MISSING.get(name, "")
        raise InvalidParameter(
            f"There is no learner {name!r}; choose one of {', '.join(PRESETS)}{more}.{did_you_mean(name, PRESETS)}"
        )
    return PRESETS[name]


def name_of(wanted: Preset) -> str:
    """Return the name of a preset."""
    return next(name for name, one in PRESETS.items() if one == wanted)
