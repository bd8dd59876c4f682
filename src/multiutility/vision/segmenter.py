"""The segmenter: images with annotations of any kind in, masks out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from multiutility.datasets.bags import unidentified_annotations, unidentified_labels
from multiutility.datasets.classes import Classes
from multiutility.datasets.folder import DatasetFolder
from multiutility.identifiability import warn_unidentified
from multiutility.inference.pinpoint import UnmetCoverWarning
from multiutility.kinds import PixelAnnotation
from multiutility.learning import MultiUtilitySSVM
from multiutility.learning.optimizers.solution import Callback
from multiutility.models import Potts
from multiutility.parallel import Executor
from multiutility.vision import defaults
from multiutility.vision.about import about_lines, about_model, estimate_of, n_judges
from multiutility.vision.display import ScoreTable, fitted_html
from multiutility.vision.evaluation import evaluate
from multiutility.vision.features.preset import Preset
from multiutility.vision.features.presets import preset
from multiutility.vision.fineness import suited_preset
from multiutility.vision.learning import (
    Learner,
    Units,
    check_memory,
    multi_utility,
    typical_margin,
    warn_unmet,
)
from multiutility.vision.method import METHODS, Areas, MethodName, OptimizerName
from multiutility.vision.model_file import RETRAIN, ModelFileError, read_model, write_model
from multiutility.vision.parameters import MADE_BY, ClassWeight, check_parameters, learner_parameters
from multiutility.vision.photo import ImageArray, photos
from multiutility.vision.predictor import Prediction, Predictor, Progress
from multiutility.vision.refinements import chosen_refinement
from multiutility.vision.refitting import KeptFit, Refitting, same
from multiutility.vision.remote import predictions
from multiutility.vision.store import FeatureStore
from multiutility.vision.training_set import AnnotatedPhoto, StageProgress, TrainingSet, annotated_photos


class Segmenter(Refitting, BaseEstimator):
    """Learns to label the pixels of images, from masks, boxes, seeds and tags in any mix.

    Images are cut into superpixels, whose features go into a ``MultiUtilitySSVM``. Losses count shares of the
    image, and features are scaled to a mean norm of 1, so that ``C`` means the same for images of every size
    and for all features.

    Parameters
    ----------
    features : str or Preset
        Features of superpixels: ``"deep"``, ``"context"``, ``"paper"``, ``"scene"``, the name of a network
        that ``multiutility features add`` has installed, several of these as ``"deep+NAME"``, or a preset of
        your own.
    C : float
        Weight of the slacks; see ``MultiUtilitySSVM``.
    method : "auto" or "paper"
        By "auto", weak annotations are read as masks teach (without masks, by soft labels), their losses are
        expected ones, and what is not given is chosen for the data at hand: by held-out masks, with masks
        only among the candidates, or by errors that held-out annotations prove. "paper" is the paper to the
        letter: its losses, starts and pinpointing, C / (N + M), and no class weights unless they are given.
    alpha : float or None
        Weight of weakly annotated images. None: chosen; for "paper", 0.1.
    beta : float
        Weight of the terms of boxes and seeds in the losses of "paper".
    areas : "uniform" or "estimated"
        Sizes of labels that the losses of "paper" assume: the same for all, or those of the masks.
    class_weight : "auto", None, "balanced", float or dict
        Weights of classes in the losses, scaled to the mean 1: by name, or such that all classes weigh the
        same in total, or a power of these from 0 to 1. "auto": chosen; for "paper", none.
    optimizer : "frank-wolfe" or "cutting-plane"
        Who solves the convex problems; the latter is the paper's, and slower.
    n_superpixels : int or None
        About how many superpixels an image has in learning. None: as the preset has it, or twice as many
        where the best labels of these would fit masks much better, if there are ten or more; with the method
        "paper", as the preset has it. Predictions have ``Preset.finer`` times as many: four with deep
        features.
    max_side : int
        Images with a longer side are labeled at this size, and their masks enlarged. In prediction, it is
        never more than the largest training image had, so that things appear at the size they were learned.
    refine : bool
        Whether borders of superpixels are moved to where the colors change; masks decide how far.
    tol, max_iter : float, int
        When learning ends; see ``MultiUtilitySSVM``.
    warm_start : bool
        Whether ``fit`` keeps what it takes to go on from it, for ``refit``: images with their features, and
        the state of learning.
    random_state : int
        The same data and number give the same model, whatever ``n_jobs`` is.
    n_jobs : int
        Cores to use.
    store : path or None
        Folder that keeps prepared features, so that the next time they need not be computed.
    half : bool
        Whether features are rounded to half precision, which makes the store half as large.
    memory_limit : int, str or None
        Memory that the process may have while it learns, in bytes or as ``"2GB"``: features are then read
        from the store when they are needed, or from temporary files without one. The model is bit for bit
        the same, whatever the limit.
    checkpoint : path or None
        File that keeps the state of learning: ``fit`` goes on from it, see ``MultiUtilitySSVM``, and ``save``
        removes it.
    executor : Executor or None
        Who computes features, learns and predicts, such as a ``Cluster``; by default, this process. The model
        does not depend on the number of its workers, which must see ``store`` and the images.
    progress : callable
        Called with a stage, how much of it is done, and of how much.
    callback : callable
        Called with the ``Record`` of every pass of learning; see ``MultiUtilitySSVM``.

    Attributes
    ----------
    classes_ : Classes
        Names and colors, by label.
    predictor_ : Predictor
        The model itself.
    chosen_ : dict
        What was chosen, and why, in plain values.
    estimate_ : Estimate or None
        Scores to expect on new images, with intervals: by cross-validation over three masks or more.
    objective_ : structured ndarray
        The objective after every pass, see ``MultiUtilitySSVM``.
    n_iter_, n_images_ : int
        Outer iterations of learning, and images that were learned from.

    The last three are there after ``fit`` only, and not after ``load``.
    """

    def __init__(
        self,
        features: str | Preset = "deep",
        C: float = defaults.C,  # noqa: N803
        *,
        method: MethodName = "auto",
        alpha: float | None = None,
        beta: float = defaults.BETA,
        areas: Areas = "uniform",
        class_weight: ClassWeight = "auto",
        optimizer: OptimizerName = "frank-wolfe",
        n_superpixels: int | None = None,
        max_side: int = 640,
        refine: bool = True,
        tol: float = defaults.TOL,
        max_iter: int = defaults.MAX_ITER,
        warm_start: bool = False,
        random_state: int = 0,
        n_jobs: int = 1,
        store: str | Path | None = None,
        half: bool = False,
        memory_limit: int | str | None = None,
        checkpoint: str | Path | None = None,
        executor: Executor | None = None,
        progress: StageProgress | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.features = features
        self.C = C
        self.method = method
        self.alpha = alpha
        self.beta = beta
        self.areas = areas
        self.class_weight = class_weight
        self.optimizer = optimizer
        self.n_superpixels = n_superpixels
        self.max_side = max_side
        self.refine = refine
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.store = store
        self.half = half
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.executor = executor
        self.progress = progress
        self.callback = callback

    def fit(
        self,
        images: DatasetFolder | Sequence[str | Path | ImageArray],
        annotations: Sequence[PixelAnnotation] | None = None,
        *,
        classes: Classes | Sequence[str] | None = None,
    ) -> Self:
        """Learn from a dataset, or from images (paths or arrays) with their annotations and the classes."""
        check_parameters(self)
        if isinstance(images, DatasetFolder):
            if annotations is not None or classes is not None:
                raise ValueError("a dataset has its own annotations and classes: give nothing else")
            warn_unidentified(unidentified_labels(images), images.classes.names)
            return self.fit_prepared(self.prepare(annotated_photos(images), images.classes))
        if annotations is None or classes is None:
            raise ValueError("images without annotations and classes: give both, or a DatasetFolder alone")
        if len(images) != len(annotations):
            raise ValueError(f"{len(images)} images, but {len(annotations)} annotations")
        pairs = zip(photos(images), annotations, strict=True)
        annotated = [AnnotatedPhoto(p, partial(same, a)) for p, a in pairs if not a.empty]
        named = classes if isinstance(classes, Classes) else Classes.from_names(classes)
        warn_unidentified(unidentified_annotations(annotations, len(named), named.other), named.names)
        return self.fit_prepared(self.prepare(annotated, named))

    def prepare(self, annotated: Sequence[AnnotatedPhoto], classes: Classes) -> TrainingSet:
        """Compute the features of images; what this takes is the first part of ``fit``."""
        named, chosen = self.features, dict[str, Any]()
        if isinstance(named, str):
            named = preset(named, n_superpixels=self.n_superpixels)
            if self.n_superpixels is None and METHODS[self.method].chooses:
                named, chosen = suited_preset(named, annotated, self.max_side, classes)
        how = (self.random_state, self.n_jobs, self._feature_store(), self.progress, self.executor)
        return replace(TrainingSet.prepare(annotated, classes, named, self.max_side, *how), chosen=chosen)

    def fit_prepared(self, training: TrainingSet, learner: Learner = multi_utility) -> Self:
        """Learn from prepared images: the second part of ``fit``. Another ``learner`` may take our place."""
        shares = training.shares_of_masks() if self.areas == "estimated" else None
        annotations = training.annotations(self.beta, shares)
        check_memory(self.memory_limit, training.problems(), len(training.classes), self.n_jobs)
        plain = training.problems()
        # Of images with masks, if there are any: a unit must not depend on what may turn out to be of no use.
        pairs = zip(plain, annotations, strict=True)
        masked = [problem for problem, one in pairs if one is not None and one.strong]
        units = Units.of(masked or plain, self.executor)
        problems = [units.balanced(problem) for problem in plain]
        with warnings.catch_warnings():
            # It counts annotations; here they have names.
            warnings.simplefilter("ignore", UnmetCoverWarning)
            parameters = learner_parameters(self, training.classes, annotations, self.C / units.nodes**2)
            # Weak annotations that masks would have had, if anything is to be learned from them.
            rehearsals = training.rehearsals(self.beta) if METHODS[self.method].chooses else None
            learned = learner(parameters, problems, annotations, rehearsals)
        warn_unmet(training, problems, annotations, learned.imputed_)
        self.kept_ = None
        if self.warm_start and isinstance(learned, MultiUtilitySSVM):
            self.kept_ = KeptFit(training, units, problems, annotations, learned, self.beta, shares)
        self.objective_ = units.objective(learned.objective_)
        self.n_iter_ = learned.n_iter_
        self.n_images_ = sum(annotation is not None for annotation in annotations)
        self.classes_ = training.classes
        plainly = Predictor(
            classes=training.classes,
            preset=training.preset,
            weights=units.weights(learned.weights_, Potts(len(training.classes)).layout(problems[0])),
            max_side=training.max_side,
            typical_margin=typical_margin(learned, problems, training.preset.preset.weighted),
            refine=None,
        )
        strong = [n for n, one in enumerate(annotations) if one is not None and one.strong]
        refinement = chosen_refinement(plainly, training, strong, self.n_jobs) if self.refine else None
        moved = None if refinement is None else asdict(refinement)
        self.chosen_ = {**training.chosen, **learned.chosen_, "refinement": moved}
        self.estimate_ = learned.estimate_
        about = about_model(self.method, self.chosen_, self.estimate_, n_judges(annotations))
        finer = training.preset.for_prediction()
        self.predictor_ = replace(plainly, preset=finer, refine=refinement, about=about)
        return self

    def predict(self, images: Sequence[str | Path | ImageArray]) -> list[NDArray[np.uint8]]:
        """Masks uint8 [H, W] of images (paths or arrays), which hold label + 1, as index PNGs do."""
        return [prediction.mask for prediction in self._predictions(images)]

    def predict_scores(self, images: Sequence[str | Path | ImageArray]) -> list[NDArray[np.float32]]:
        """Confidence in the predicted labels of all pixels, float32 [H, W] in 0..1.

        It grows with the margin of the best label over the next one; 1/2 is typical of training images.
        """
        return [prediction.scores for prediction in self._predictions(images)]

    def evaluate(self, dataset: DatasetFolder) -> ScoreTable:
        """Compare predictions with the masks of a dataset.

        Masks that are predictions which somebody accepted in the studio are left out: ``n_accepted`` of them.
        Returns ``accuracy``, ``mean_recall``, ``mean_iou``, ``n_images``, for each of ``classes`` its
        ``recall``, ``iou`` and ``pixels``, and as ``expected``, for each measure that ``estimate_`` has, the
        value, ``low``, ``high``, and whether the score is ``inside``; see ``Evaluation``.
        """
        check_is_fitted(self, "predictor_")
        store = FeatureStore(self.store, half=self.half)
        return evaluate(self.predictor_, dataset, self.n_jobs, store, self._note("predicting")).to_dict()

    def score(self, dataset: DatasetFolder) -> float:
        """Part of all pixels with a label that is predicted rightly."""
        return float(self.evaluate(dataset)["accuracy"])

    def save(self, path: str | Path) -> None:
        """Write the model to one safetensors file, which holds no code."""
        check_is_fitted(self, "predictor_")
        model = self.predictor_
        parameters = {name: getattr(self, name) for name in MADE_BY}
        write_model(Path(path), model, parameters)
        if self.checkpoint is not None:
            Path(self.checkpoint).unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path, **parameters: Any) -> Self:
        """Read a model from a file; ``parameters`` are those that files do not keep, such as ``n_jobs``."""
        predictor, kept = read_model(Path(path))
        # A file must not name places: what it says about them would be believed later.
        if not kept.keys() <= set(MADE_BY):
            unknown = ", ".join(sorted(kept.keys() - set(MADE_BY)))
            raise ModelFileError(Path(path), f"it has the parameters {unknown}, which are unknown", RETRAIN)
        model = cls(**{"features": predictor.preset.preset.for_learning(), **kept, **parameters})
        model.predictor_ = predictor
        model.classes_ = predictor.classes
        model.chosen_ = dict(predictor.about.get("chosen", {}))
        model.estimate_ = estimate_of(predictor.about)
        return model

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Scikit-learn's diagram of the parameters and, once it has learned, what the model is."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown and "predictor_" in vars(self):
            shown["text/html"] += fitted_html(self.classes_, self._facts(), vars(self).get("objective_"))
        return shown

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _facts(self) -> list[tuple[str, str]]:
        """What there is to tell of a model; one that was loaded does not know how it came about."""
        facts = [("features", self.predictor_.preset.preset.name), ("classes", str(len(self.classes_)))]
        made = (("images", "n_images_"), ("iterations", "n_iter_"))
        facts += [(text, str(vars(self)[name])) for text, name in made if name in vars(self)]
        told = (line.partition(": ") for line in about_lines(self.predictor_.about))
        return facts + [(name, text) for name, _, text in told]

    def _predictions(self, images: Sequence[str | Path | ImageArray]) -> Iterator[Prediction]:
        check_is_fitted(self, "predictor_")
        asked, note = photos(images), self._note("predicting")
        if self.executor is not None:
            return predictions(self.executor, self.predictor_, asked, note)
        return self.predictor_.predict(asked, self.n_jobs, progress=note)

    def _note(self, stage: str) -> Progress | None:
        return None if self.progress is None else partial(self.progress, stage)
