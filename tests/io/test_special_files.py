"""What is not a file is never replaced by one: pipes and devices took the place of nothing, once."""

import os
import resource
import socket
import stat
import subprocess
import sys
import threading

import pytest

from selective_labels.io.files import SectionStore, require_writable, whole_file, write_whole


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def is_pipe(path):
    return stat.S_ISFIFO(path.stat().st_mode)


def test_a_pipe_is_written_into_and_stays_a_pipe(pipe, tmp_path):
    """Broke: a regular file took its place, and the reader waited for ever."""
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    while not got and reader.is_alive():
        try:
            write_whole(pipe, "all of it" * 20_000)  # more than a pipe holds
            break
        except ValueError:  # the reader is not there yet
            assert is_pipe(pipe)
    reader.join(10)
    assert got == [b"all of it" * 20_000]
    assert is_pipe(pipe)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_pipe_that_nobody_reads_is_refused_at_once(pipe):
    with pytest.raises(ValueError, match="nobody reads"):
        write_whole(pipe, "text")
    assert is_pipe(pipe)


def test_a_link_to_a_pipe_without_a_name_is_written_into(tmp_path):
    """As /dev/stdout is where standard output is a pipe."""
    reader, writer = os.pipe()
    link = tmp_path / "stdout"
    link.symlink_to(f"/proc/self/fd/{writer}")
    if not link.exists():
        pytest.skip("optional: reads /proc")
    write_whole(link, "text")
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert stream.read() == b"text"
    assert link.is_symlink()


def test_a_device_is_written_into_and_stays_a_device(tmp_path):
    """Broke: run by root, it made a file of the null device."""
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except PermissionError:
        pytest.skip("optional: only root makes devices")
    write_whole(device, "text")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_terminal_gets_the_text(tmp_path):
    ours, theirs = os.openpty()
    write_whole(os.ttyname(theirs), "text")
    assert os.read(ours, 10) == b"text"
    os.close(ours)
    os.close(theirs)


def test_a_socket_is_refused(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        with pytest.raises(ValueError, match="it is a socket"):
            write_whole(path, "text")
        assert stat.S_ISSOCK(path.stat().st_mode)


def test_links_in_a_circle_are_refused_in_words(tmp_path):
    """Broke: RuntimeError, Symlink loop."""
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ValueError, match=r"round in a circle|too many levels"):
        require_writable(tmp_path / "a")


def test_a_link_into_a_folder_that_is_gone_is_refused_before_the_work(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "file")
    with pytest.raises(ValueError, match="there is no folder"):
        require_writable(tmp_path / "link")


def test_nothing_is_kept_beside_a_pipe(pipe, tmp_path):
    store = SectionStore(pipe, "a table")
    store.put("data", {"n_cases": 3})
    assert store.get("data") == {"n_cases": 3}
    store.remove()
    assert os.listdir(tmp_path) == ["pipe"]


LIMITED = """
import sys
from selective_labels.io.files import write_whole
write_whole(sys.argv[1], b"x" * 2_000_000)
"""


def test_a_disk_without_room_leaves_the_old_file_and_says_so(tmp_path):
    """A limit of file sizes stands for a full disk; broke: a foreign OSError."""
    (tmp_path / "out").write_text("old")
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path / "out"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000)),
        capture_output=True,
        text=True,
    )
    assert "InputError" in result.stderr
    assert "cannot be written: file too large, and nothing was changed." in result.stderr
    assert (tmp_path / "out").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_draft_for_a_pipe_is_removed(pipe, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="nobody reads"), whole_file(pipe) as draft:
        draft.write_text("half")
    assert os.listdir(tmp_path) == ["pipe"]
