"""Training a small convolutional network with torch, on images that are moved a little whenever they are shown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapl.errors import InvalidParameter
from mapl.students.images.network import LAYERS, Arrays, sides, work
from mapl.types import Singles

BATCH = 32
MOST_ROUNDS = 40
"""How often an image is shown, at most."""

MOST_WORK = 1.4e11
"""How many multiplications forward all showings may take together: 15 rounds of 5000 images of 28 x 28 pixels,
about half a minute of one core. More images are shown less often; of very many, some are never shown."""

MOST_SHOWN = 150_000
"""How many showings there are at most, for tiny images, of which batches take longer than the sums in them."""

FASTEST, WARM_UP, DECAY, SMOOTHING = 2e-3, 0.15, 1e-2, 0.1
BATCHES_MOVED_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Motion:
    """How far images are moved: turned (degrees), stretched and slanted (shares), shifted (share of the side)."""

    turn: float = 7.0
    stretch: float = 0.1
    slant: float = 0.05
    shift: float = 0.055


@dataclass(frozen=True, slots=True)
class Course:
    """What a network is trained on, and how.

    Parameters
    ----------
    images
        Indexed by image, row, column, channel.
    codes
        The number of the class of each image.
    weights
        How much each image counts, 1 on average.
    plain
        Whether figures stand on black, so that black may come in from outside when an image moves; otherwise the
        image is mirrored at its border.
    """

    images: Singles
    codes: NDArray[np.int64]
    weights: Singles
    n_classes: int
    widths: tuple[int, ...]
    plain: bool
    seed: int
    motion: Motion = Motion()

    @property
    def n_batches(self) -> int:
        """How many batches are shown: images times rounds, within the limits on both."""
        n, side, _, channels = self.images.shape
        return max(1, min(MOST_ROUNDS * int(n), most_shown(side, channels, self.widths)) // BATCH)


def most_shown(side: int, channels: int, widths: tuple[int, ...]) -> int:
    """Return how many images may be shown, each counted as often as it is shown."""
    return max(BATCH, min(MOST_SHOWN, int(MOST_WORK / work(side, channels, widths))))


def train_network(course: Course) -> Arrays:
    """Return the arrays of a network that was trained on some images.

    Raises
    ------
    InvalidParameter
        If torch is not installed.
    """
    torch = _torch()
    with _alone(torch, course.seed):
        images = torch.from_numpy(np.ascontiguousarray(course.images.transpose(0, 3, 1, 2)))
        codes, weights = torch.from_numpy(course.codes), torch.from_numpy(course.weights)
        network = make_network(course.images.shape[1], course.images.shape[3], course.widths, course.n_classes)
        network = network.to(memory_format=torch.channels_last).train()
        optimizer = torch.optim.AdamW(network.parameters(), weight_decay=DECAY)
        for number, (chosen, moved) in enumerate(_shown(torch, images, course)):
            for group in optimizer.param_groups:
                group["lr"] = _speed(number / course.n_batches)
            losses = torch.nn.functional.cross_entropy(
                network(moved), codes[chosen], reduction="none", label_smoothing=SMOOTHING
            )
            optimizer.zero_grad(set_to_none=True)
            (losses * weights[chosen]).mean().backward()
            optimizer.step()
        return as_arrays(network.eval())


def make_network(side: int, channels: int, widths: tuple[int, ...], n_classes: int) -> Any:
    """Return a new network of the form that `network` describes, with normalised batches after every filter."""
    nn = _torch().nn
    parts = []
    for layer, before, after in zip(LAYERS, (channels, *widths), widths, strict=False):
        parts += [
            nn.Conv2d(before, after, layer.size, stride=layer.stride, padding=layer.size // 2, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(),
        ]
        if layer.pooled:
            parts.append(nn.MaxPool2d(2))
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(sides(side)[-1] ** 2 * widths[-1], n_classes))


def as_arrays(network: Any) -> Arrays:
    """Return a trained network as plain arrays; normalisation becomes part of the filters before it."""
    nn = _torch().nn
    arrays: Arrays = []
    parts = list(network)
    for part, norm in pairwise(parts):
        if isinstance(part, nn.Conv2d):
            scale = norm.weight / (norm.running_var + norm.eps).sqrt()
            filters = part.weight * scale[:, None, None, None]
            arrays += [_plain(filters.permute(2, 3, 1, 0)), _plain(norm.bias - norm.running_mean * scale)]
    last = parts[-1]
    n_channels = len(arrays[-1])
    side = math.isqrt(last.in_features // n_channels)
    matrix = last.weight.reshape(-1, n_channels, side, side).permute(2, 3, 1, 0)
    return [*arrays, _plain(matrix.reshape(last.in_features, -1)), _plain(last.bias)]


def move_images(images: Any, motion: Motion, *, plain: bool) -> Any:
    """Turn, stretch, slant and shift each image by a little, at random."""
    torch = _torch()
    n = len(images)

    def upto(most: float) -> Any:
        return most * (2 * torch.rand(n) - 1)

    angle, wide, high = upto(math.radians(motion.turn)), upto(motion.stretch).exp(), upto(motion.stretch).exp()
    # Coordinates run from -1 to 1, so a share of the side counts twice.
    across = [wide * angle.cos(), upto(motion.slant) - wide * angle.sin(), upto(2 * motion.shift)]
    down = [high * angle.sin(), high * angle.cos(), upto(2 * motion.shift)]
    maps = torch.stack([torch.stack(across, dim=1), torch.stack(down, dim=1)], dim=1)
    places = torch.nn.functional.affine_grid(maps, list(images.shape), align_corners=False)
    outside = "zeros" if plain else "reflection"
    return torch.nn.functional.grid_sample(images, places, padding_mode=outside, align_corners=False)


def _shown(torch: Any, images: Any, course: Course) -> Iterator[tuple[Any, Any]]:
    """Yield batches of images, moved about, in one random order after the other; all batches are of one size."""
    waiting = torch.empty(0, dtype=torch.int64)
    left = course.n_batches
    while left:
        now = min(left, BATCHES_MOVED_AT_ONCE)
        while len(waiting) < now * BATCH:
            waiting = torch.cat([waiting, torch.randperm(len(images))])
        chosen, waiting = waiting[: now * BATCH], waiting[now * BATCH :]
        moved = move_images(images[chosen], course.motion, plain=course.plain)
        moved = moved.contiguous(memory_format=torch.channels_last)
        yield from zip(chosen.split(BATCH), moved.split(BATCH), strict=True)
        left -= now


def _speed(done: float) -> float:
    """Faster and faster at first, then slower and slower until it stands still."""
    return FASTEST * min((done + 1e-3) / WARM_UP, (1 - done) / (1 - WARM_UP))


@contextmanager
def _alone(torch: Any, seed: int) -> Iterator[None]:
    """Use one thread and generators of our own, so that the seed decides, and leave torch as it was."""
    n_threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)


def _plain(tensor: Any) -> Singles:
    return np.ascontiguousarray(tensor.detach().numpy(), dtype=np.float32)


def require_torch() -> None:
    """Refuse to go on where torch is not installed."""
    if find_spec("torch") is None:
        raise InvalidParameter(
            "The student cnn is trained with torch, which is not installed; once trained it does without. "
            "pip install torch==2.13.0, or take another student, for example auto."
        )


def _torch() -> Any:
    require_torch()
    import torch

    return torch
