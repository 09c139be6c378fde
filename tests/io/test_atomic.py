"""Files appear whole or not at all."""

import os

import pytest

from selective_labels.io.files import discard_unfinished, require_writable, whole_file, write_whole


def test_a_file_is_written_and_nothing_else_left(tmp_path):
    write_whole(tmp_path / "a.txt", "é")
    assert (tmp_path / "a.txt").read_bytes() == "é".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_as_it_was(tmp_path, error):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail():
        with whole_file(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_unfinished_files_can_be_discarded_without_unwinding(tmp_path):
    with whole_file(tmp_path / "a.txt") as draft:
        draft.write_text("half")
        discard_unfinished()
        left = os.listdir(tmp_path)
        draft.write_text("so that the block can end")
    assert left == []


def test_the_rights_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_whole(tmp_path / "whole", "")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_where_nothing_can_be_written_is_said_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    for path, words in (
        (tmp_path / "none" / "a.txt", "there is no folder"),
        (tmp_path / "file" / "a.txt", "is not a folder"),
        (tmp_path, "it is a folder"),
    ):
        with pytest.raises(ValueError, match=words):
            require_writable(path)


def test_a_folder_without_permission_is_named(tmp_path):
    tmp_path.chmod(0o500)
    privileged = os.geteuid() == 0
    if privileged:
        os.chown(tmp_path, 65534, -1)
        os.chmod(tmp_path.parent, 0o711)
        os.seteuid(65534)
    try:
        with pytest.raises(ValueError, match=r"permission denied|no folder"):
            require_writable(tmp_path / "a.txt")
    finally:
        if privileged:
            os.seteuid(0)
