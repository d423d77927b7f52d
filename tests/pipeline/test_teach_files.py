"""The files of kept teachers: damaged, forged or foreign ones are refused, and none can run code."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_teachers import questions, taught
from sklearn.linear_model import LogisticRegression

from mapl.errors import InvalidData, InvalidParameter, MaplError, PlanMismatch
from mapl.pipeline.online.model_archive import MOST_MODEL_BYTES
from mapl.pipeline.online.run import OnlineRun
from mapl.teachers.panel import LinearPanel


@pytest.fixture(scope="module")
def run(clinic: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep 20 ridge teachers, once for all tests that only look."""
    folder = tmp_path_factory.mktemp("taught") / "run"
    taught(clinic, folder)
    return folder


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A run that a test may spoil."""
    import shutil

    return Path(shutil.copytree(run, tmp_path / "copy"))


class TestSpoiledFiles:
    """Nothing that lies in a run is believed."""

    def refused(
        self, folder: Path, match: str = "damaged|forged|restore|teach again|use a newer|mapl reads"
    ) -> None:
        with pytest.raises((InvalidData, InvalidParameter), match=match) as refusal:
            _ = OnlineRun.read(folder).panel
        assert isinstance(refusal.value, MaplError)

    @pytest.mark.parametrize("name", ["panel.json", "encoder.skops", "weights.npz"])
    @pytest.mark.parametrize("how", ["missing", "empty", "cut", "noise"])
    def test_damage(self, copy: Path, name: str, how: str) -> None:
        path = copy / "private" / "teachers" / name
        content = path.read_bytes()
        path.unlink()
        if how != "missing":
            path.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": os.urandom(200)}[how])
        self.refused(copy)

    def test_pickles_are_never_opened(self, copy: Path, tmp_path: Path) -> None:
        mark = tmp_path / "mark"

        class Trap:
            def __reduce__(self) -> Any:
                return os.mkdir, (str(mark),)

        teachers = copy / "private" / "teachers"
        for name in ("weights.npz", "encoder.skops"):
            (teachers / name).write_bytes(pickle.dumps(Trap()))
            self.refused(copy)
        sink = BytesIO()
        np.savez(sink, columns=np.array([Trap()], dtype=object), intercepts=np.zeros(1), codes=np.zeros((1, 2)))
        (teachers / "weights.npz").write_bytes(sink.getvalue())
        self.refused(copy)
        assert not mark.exists()

    def test_another_thing_in_the_place_of_the_encoder(self, copy: Path) -> None:
        import skops.io

        path = copy / "private" / "teachers" / "encoder.skops"
        path.write_bytes(skops.io.dumps(LogisticRegression()))
        self.refused(copy, "holds no encoder")

    @pytest.mark.parametrize(
        "change",
        [
            {"format_version": 99},
            {"format": "mapl student"},
            {"form": "pickle"},
            {"form": "onnx"},
            {"n_teachers": -1, "form": "skops"},
            {"classes": 5},
            {"encoded": "yes", "form": None},
        ],
        ids=str,
    )
    def test_another_head(self, copy: Path, change: dict[str, Any]) -> None:
        path = copy / "private" / "teachers" / "panel.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        self.refused(copy)

    def test_fewer_teachers_than_planned(self, copy: Path) -> None:
        path = copy / "private" / "teachers" / "weights.npz"
        with np.load(path) as arrays:
            panel = LinearPanel.stored(arrays["columns"][:, 1:], arrays["intercepts"][1:], arrays["codes"][1:])
        sink = BytesIO()
        np.savez(sink, columns=panel.columns, intercepts=panel.intercepts, codes=panel.codes)
        path.write_bytes(sink.getvalue())
        self.refused(copy, "not those of its plan")

    def test_an_edited_plan(self, copy: Path) -> None:
        path = copy / "public" / "plan.json"
        path.write_text(path.read_text().replace('"epsilon": 20.0', '"epsilon": 19.0'))
        with pytest.raises(PlanMismatch, match="plan is not what it was taught with"):
            OnlineRun.read(copy)

    @pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"kind": "cells"}'])
    def test_other_settings(self, copy: Path, text: str) -> None:
        (copy / "public" / "settings.json").write_text(text)
        self.refused(copy)

    def test_no_run_at_all(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "nowhere"):
            with pytest.raises(InvalidParameter, match="mapl teach"):
                OnlineRun.read(path)

    def test_an_archive_that_is_a_bomb_or_lies(self, clinic: Any, tmp_path: Path) -> None:
        pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
        taught(clinic, tmp_path / "run", "hgb", n_teachers=4)
        path = tmp_path / "run" / "private" / "teachers" / "models.zip"
        honest = path.read_bytes()

        def rewritten(**changes: bytes | None) -> None:
            sink = BytesIO()
            with zipfile.ZipFile(BytesIO(honest)) as old, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as new:
                for name in old.namelist():
                    content = changes.pop(name, old.read(name))
                    if content is not None:
                        new.writestr(name, content)
                for name, content in changes.items():
                    new.writestr(name, content or b"")
            path.write_bytes(sink.getvalue())

        rewritten(**{"0": bytes(MOST_MODEL_BYTES + 1)})
        self.refused(tmp_path / "run", "damaged or forged")
        rewritten(**{"1": b"not a model"})
        self.refused(tmp_path / "run", "damaged or forged")
        rewritten(**{"index.json": b"[]"})
        self.refused(tmp_path / "run", "damaged or forged")
        rewritten(**{"index.json": None})
        self.refused(tmp_path / "run")
        rewritten(**{"2": None})  # as if that teacher had failed
        opened = OnlineRun.read(tmp_path / "run")
        assert (opened.panel.votes(opened.conformed(questions(3))).counts.sum(axis=1) == 4).all()
