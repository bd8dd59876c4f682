"""Tag the words of documents when most documents only say which tags they have, not where.

    python examples/sequence_tagging.py

Generated text: each tag has words of its own, and words that it shares with others; tags come in runs. A few
documents are tagged word by word, the others come with the set of their tags, as a table of contents would
tell. A document is a chain of words; nothing here is about images. Prints the part of the words of new
documents that get the right tag: from the tagged documents alone, with the weak ones, and if all were tagged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multiutility import LabelingProblem
from multiutility.annotations import Full, Tags
from multiutility.annotations.annotation import Annotation
from multiutility.learning import SSVM, MultiUtilitySSVM

TAGS = ["weather", "sports", "markets", "travel", "health"]
N_WORDS = 300
LENGTH = 24
N_TAGGED, N_WEAK, N_HELD_OUT, N_NEW = 4, 80, 30, 60


def random_documents(
    rng: np.random.Generator, count: int, habits: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Words and tags of documents: three runs of different tags each."""
    documents = []
    for _ in range(count):
        cuts = np.sort(rng.choice(np.arange(4, LENGTH - 3), 2, replace=False))
        runs = rng.choice(len(TAGS), 3, replace=False)
        tags = np.repeat(runs, np.diff([0, *cuts, LENGTH]))
        words = np.array([rng.choice(N_WORDS, p=habits[tag]) for tag in tags])
        documents.append((words, tags))
    return documents


def chain(words: NDArray[np.int64]) -> LabelingProblem:
    """Make a document a graph: words are nodes, neighbors are joined; all of it has size 1."""
    features = np.zeros((len(words), N_WORDS), dtype=np.float32)
    features[np.arange(len(words)), words] = 1
    neighbors = np.stack((np.arange(len(words) - 1), np.arange(1, len(words))), axis=1)
    sizes = np.full(len(words), 1 / len(words))
    return LabelingProblem(features, neighbors, np.ones((len(neighbors), 1)), sizes)


def main() -> None:
    """Generate, learn three times, compare."""
    rng = np.random.default_rng(1)
    habits = rng.dirichlet(np.full(N_WORDS, 0.05), size=len(TAGS)) * 0.6 + 0.4 / N_WORDS
    documents = random_documents(rng, N_TAGGED + N_WEAK + N_HELD_OUT + N_NEW, habits)
    problems = [chain(words) for words, _ in documents]
    fulls: list[Annotation] = [Full.from_labels(tags, len(TAGS)) for _, tags in documents]
    weak: list[Annotation] = [Tags(np.unique(tags).tolist(), len(TAGS)) for _, tags in documents]
    known, n_seen = N_TAGGED + N_WEAK, N_TAGGED + N_WEAK + N_HELD_OUT

    def chosen(kind: type[SSVM], annotations: list[Annotation]) -> SSVM:
        """Learn with each weight of a document, and keep what is best on the held-out documents."""
        weights = [c * len(annotations) for c in (0.02, 0.1)]
        models = [kind(C=weight, tol=0.05, random_state=0) for weight in weights]
        fitted = [model.fit(problems[: len(annotations)], annotations) for model in models]
        return max(fitted, key=lambda model: model.score(problems[known:n_seen], fulls[known:n_seen]))

    mixed = [*fulls[:N_TAGGED], *weak[N_TAGGED:known]]
    results = {
        f"{N_TAGGED} documents tagged word by word": chosen(SSVM, fulls[:N_TAGGED]),
        f"and {N_WEAK} that only say which tags they have": chosen(MultiUtilitySSVM, mixed),
        f"all {known} tagged word by word": chosen(SSVM, fulls[:known]),
    }
    for name, model in results.items():
        print(f"{name:45} {model.score(problems[n_seen:], fulls[n_seen:]):.3f}")


if __name__ == "__main__":
    main()
