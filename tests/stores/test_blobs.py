"""Places for blobs: a folder and a bucket of a real server run one suite, and each its own faults."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll import ConfigurationError, ContextManager, CorruptionError, StorageOptions, StoreUnavailableError
from backscroll.stores.blobs.addresses import open_blobs
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.s3 import S3Blobs
from backscroll.stores.conformance import together
from tests.stores import seaweed
from tests.stores.running import ROOT

EVERY_BYTE = bytes(range(256))
NAMES = ("a", "Z", "0", "_", "-", "a-b_C-9", "x" * 200, "ff" * 40, "part", "con")
REFUSED = ("", ".", "..", "a/b", "../a", "a.b", "a\\b", "é", "a b", "a\n", "x" * 201, "a.0123456789abcdef.parts", "\0")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    """One server for each process that runs tests: it starts in a second or two."""
    with seaweed.serving(tmp_path_factory.mktemp("seaweed")) as endpoint:
        yield endpoint


@pytest.fixture
def bucket(request, endpoint, monkeypatch):
    """A part of the bucket that no other test knows."""
    for name, value in seaweed.environment(seaweed.OWNER).items():
        monkeypatch.setenv(name, value)
    return f"s3://{seaweed.BUCKET}/{request.node.name[:40].strip('[]').replace('[', '.')}?endpoint={endpoint}"


@pytest.fixture(params=["folder", "s3"])
def blobs(request, tmp_path):
    return open_blobs(str(tmp_path / "blobs") if request.param == "folder" else request.getfixturevalue("bucket"))


# -- both --


def test_what_is_put_comes_back(blobs):
    bodies = (b"", b"\0", b"a", EVERY_BYTE, EVERY_BYTE * 4_000)
    for number, body in enumerate(bodies):
        blobs.put(f"n{number}", body)
    assert [blobs.get(f"n{number}") for number in range(len(bodies))] == list(bodies)
    assert all(type(blobs.get(f"n{number}")) is bytes for number in range(len(bodies)))


def test_50_megabytes_come_back(blobs):
    body = EVERY_BYTE * (50_000_000 // 256)
    blobs.put("large", body)
    assert blobs.get("large") == body


def test_a_name_is_used_once(blobs):
    blobs.put("a", b"first")
    blobs.put("a", b"second")
    assert blobs.get("a") == b"first"


def test_names_are_listed_by_prefix_with_their_age(blobs):
    """Names are listed with their age and by what they begin with."""
    assert list(blobs.names()) == []
    for name in NAMES:
        blobs.put(name, name.encode())
    found = list(blobs.names())
    assert sorted(kept.name for kept in found) == sorted(NAMES)
    assert all(0 <= kept.age < 3_600 for kept in found)
    for prefix in ("a", "a-", "a-b", "ffff", "x" * 200, "x" * 201, "nobody"):
        assert sorted(kept.name for kept in blobs.names(prefix)) == sorted(n for n in NAMES if n.startswith(prefix))
    assert [blobs.get(name) for name in NAMES] == [name.encode() for name in NAMES]


def test_deleted_blob_is_gone_and_deleting_twice_is_harmless(blobs):
    """What is deleted is gone and deleting it again is nothing."""
    blobs.delete("never")
    blobs.put("a", b"a")
    blobs.put("b", b"b")
    for _ in range(2):
        blobs.delete("a")
        assert [kept.name for kept in blobs.names()] == ["b"]
        with pytest.raises(CorruptionError, match="the blob a is missing in"):
            blobs.get("a")
    blobs.put("a", b"again")
    assert blobs.get("a") == b"again"


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_is_no_path(blobs, name):
    for use in (lambda: blobs.put(name, b""), lambda: blobs.get(name), lambda: blobs.delete(name)):
        with pytest.raises(ConfigurationError, match="a blob's name must have 1 to 200"):
            use()
    assert list(blobs.names()) == []


def test_threads_that_put_at_once(blobs):
    def put(name):
        for number in range(10):
            blobs.put(f"{name}-{number}", f"{name} {number}".encode())
            blobs.put(f"same-{number}", f"same {number}".encode())

    together([lambda name=name: put(name) for name in "abcdefgh"])  # type: ignore[misc]  # mypy infers no lambda with defaults
    for name in [*"abcdefgh", "same"]:
        assert [blobs.get(f"{name}-{number}") for number in range(10)] == [
            b"%s %d" % (name.encode(), n) for n in range(10)
        ]
    assert len(list(blobs.names())) == 90


# -- a folder --


def test_folder_is_made_at_the_first_put_for_its_owner_only(tmp_path):
    """A folder is made at the first put and is for its owner only."""
    folder = tmp_path / "deep" / "blobs"
    blobs = FolderBlobs(folder)
    with pytest.raises(CorruptionError):
        blobs.get("a")
    blobs.delete("a")
    assert list(tmp_path.iterdir()) == []
    blobs.put("a", b"a")
    for path in folder.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_names_are_spread_over_folders(tmp_path):
    blobs = FolderBlobs(tmp_path)
    for number in range(64):
        blobs.put(f"a-{number:02x}", b"")
    assert len(list(tmp_path.iterdir())) == 64


CUT_SHORT = """
import os, signal, sys
from backscroll.stores.blobs import folder
link = os.link
os.link = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
folder.FolderBlobs(sys.argv[1]).put("a-1", b"secret")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system without SIGKILL")
def test_killed_put_leaves_no_blob_and_only_removable_files(tmp_path):
    """A put that was killed leaves no blob but what can be found and deleted."""
    subprocess.run([sys.executable, "-c", CUT_SHORT, str(tmp_path)], cwd=ROOT, check=False, timeout=60)
    blobs = FolderBlobs(tmp_path)
    with pytest.raises(CorruptionError):
        blobs.get("a-1")
    (left,) = blobs.names("a-")
    assert left.name.startswith("a-1.")
    blobs.delete(left.name)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    blobs.put("a-1", b"again")
    assert blobs.get("a-1") == b"again"


FULL = """
import resource, sys
from backscroll import StoreUnavailableError
from backscroll.stores.blobs.folder import FolderBlobs
blobs = FolderBlobs(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    blobs.put("large", bytes(200_000))
except StoreUnavailableError as error:
    print(error)
blobs.put("small", bytes(50_000))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print([kept.name for kept in blobs.names()])
blobs.put("large", bytes(200_000))
print(len(blobs.get("large")))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a system without limits for files")
def test_full_disk_leaves_no_half_blob_and_puts_resume(tmp_path):
    """Without room nothing is half put and with room it goes on."""
    line = [sys.executable, "-W", "error", "-c", FULL, str(tmp_path)]
    done = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60)
    error, names, size = done.stdout.splitlines()
    assert "the blob large in FolderBlobs" in error
    assert "check the folder, its permissions and free space" in error
    assert (names, size) == ("['small']", "200000")


def test_a_folder_that_cannot_be_one_is_unavailable(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "blobs"):
        with pytest.raises(StoreUnavailableError, match="check the folder"):
            FolderBlobs(folder).put("a", b"")


@pytest.mark.skipif(not Path("/proc/self/fd").exists() or os.name == "nt", reason="counts what is open in /proc")
def test_nothing_stays_open(tmp_path):
    blobs = FolderBlobs(tmp_path)
    for number in range(20):
        blobs.put(f"a-{number}", b"")
        blobs.get(f"a-{number}")
        next(iter(blobs.names()))
        blobs.delete(f"a-{number}")
    opened = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    assert [path for path in opened if path.startswith(str(tmp_path))] == []


# -- a bucket --


def test_more_names_than_a_page_of_a_service_holds(bucket):
    blobs = open_blobs(bucket)
    for number in range(1_050):
        blobs.put(f"mine-{number}", b"")
    assert len({kept.name for kept in blobs.names("mine-")}) == 1_050


def test_wrong_secret_is_refused_and_is_no_empty_bucket(bucket, monkeypatch):
    """A wrong secret is refused and never looks like an empty bucket."""
    open_blobs(bucket).put("a", b"a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    blobs = open_blobs(bucket)
    for use in (
        lambda: blobs.put("b", b""),
        lambda: blobs.get("a"),
        lambda: blobs.delete("a"),
        lambda: list(blobs.names()),
    ):
        with pytest.raises(StoreUnavailableError, match="rejects the credentials: check AWS_ACCESS_KEY_ID") as raised:
            use()
        assert "another" not in str(raised.value)


def test_read_only_user_can_read(bucket, monkeypatch):
    open_blobs(bucket).put("a", b"a")
    for name, value in seaweed.environment(seaweed.READER).items():
        monkeypatch.setenv(name, value)
    blobs = open_blobs(bucket)
    assert blobs.get("a") == b"a"
    with pytest.raises(StoreUnavailableError, match="rejects the credentials"):
        blobs.put("b", b"")


def test_a_service_that_is_not_there_is_unavailable(bucket):
    (port,) = seaweed.free_ports(1)
    blobs = open_blobs(f"s3://blobs?endpoint=http://127.0.0.1:{port}")
    with pytest.raises(StoreUnavailableError, match=r"the blob a in S3Blobs\('s3://blobs/ at http://127"):
        blobs.get("a")


def test_a_session_with_its_large_messages_in_a_bucket(bucket, tmp_path):
    options: dict[str, Any] = {
        "storage": StorageOptions(blob_store=bucket, blob_threshold_bytes=1_000, encryption_key=bytes(range(32))),
        "tokenizer": len,
    }
    first = ContextManager(session="s", store=f"sqlite:///{tmp_path}/a.db", **options)
    messages = [{"role": "user", "content": f"wombat {number} " * 500} for number in range(3)]
    for message in messages:
        first.append(message)
    first.close()
    names = [kept.name for kept in open_blobs(bucket).names()]
    assert len(names) == 3
    assert not any(b"wombat" in open_blobs(bucket).get(name) for name in names)
    again = ContextManager(session="s", store=f"sqlite:///{tmp_path}/a.db", **options)
    assert again.get_messages() == messages
    again.delete()
    assert list(open_blobs(bucket).names()) == []


def test_what_others_keep_below_is_not_listed(bucket):
    open_blobs(bucket.replace("?", "/below?")).put("a-1", b"")
    open_blobs(bucket.replace("?", "-beside?")).put("a-2", b"")
    open_blobs(bucket).put("a-3", b"")
    assert [kept.name for kept in open_blobs(bucket).names()] == ["a-3"]
    assert [kept.name for kept in open_blobs(bucket).names("a-")] == ["a-3"]


def test_the_bucket_has_to_be_there(bucket, endpoint):
    blobs = open_blobs(f"s3://no-such-bucket?endpoint={endpoint}")
    with pytest.raises(StoreUnavailableError, match=r"the bucket of S3Blobs.*create it first"):
        blobs.get("a")
    with pytest.raises(StoreUnavailableError, match=r"the bucket of S3Blobs.*create it first"):
        list(blobs.names())


# -- addresses --


@pytest.mark.parametrize("address", ["{}/blobs", "{}/a b", Path("{}") / "c"])
def test_an_address_without_a_scheme_is_a_folder(tmp_path, address):
    kind = type(address)
    blobs = open_blobs(kind(str(address).format(tmp_path)))
    assert isinstance(blobs, FolderBlobs)
    assert blobs.path.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_place_is_its_own(tmp_path):
    blobs = FolderBlobs(tmp_path)
    assert open_blobs(blobs) is blobs


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("s3://bucket", "S3Blobs('s3://bucket/')"),
        ("s3://bucket/a/b/", "S3Blobs('s3://bucket/a/b')"),
        ("s3://bucket/a%20b?region=eu-west-1", "S3Blobs('s3://bucket/a b')"),
        ("s3://bucket?endpoint=https://host&region=x", "S3Blobs('s3://bucket/ at https://host')"),
        ("s3://bucket?endpoint=http://[::1]:80", "S3Blobs('s3://bucket/ at http://[::1]:80')"),
        ("s3://bucket?endpoint=http://localhost:80", "S3Blobs('s3://bucket/ at http://localhost:80')"),
    ],
)
def test_an_address_of_a_bucket(address, told):
    blobs = open_blobs(address)
    assert isinstance(blobs, S3Blobs)
    assert repr(blobs) == told


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "is not a folder"),
        ("gs://bucket", "unknown scheme: .* use a folder or s3://"),
        ("https://host/bucket", "`blob_store` has an unknown scheme"),
        ("s3://", "`bucket` must have 3 to 63 lowercase letters"),
        ("s3://B", "`bucket` must have 3 to 63 lowercase letters"),
        ("s3://a_b", "`bucket` must have 3 to 63 lowercase letters"),
        ("s3://bucket/a//b", "a part that is empty"),
        ("s3://bucket/../b", "a part that is empty, `.` or `..`"),
        ("s3://bucket?secret=x", "the unknown option 'secret'"),
        ("s3://bucket#x", "a fragment or credentials"),
        ("s3://key:secret@bucket", "a fragment or credentials"),
        ("s3://bucket?endpoint=http://example.com", "without TLS: use https"),
        ("s3://bucket?endpoint=http://127.0.0.1.example.com", "without TLS"),
        ("s3://bucket?endpoint=http://10.0.0.1:9000", "without TLS"),
        ("s3://bucket?endpoint=ftp://localhost", "must be https://host"),
        ("s3://bucket?endpoint=localhost:80", "must be https://host"),
        ("s3://bucket?endpoint=http://localhost:x", "is no valid address"),
        ("s3://bucket?endpoint=https://key:secret@host", "must not hold credentials"),
        (7, "is a int, which lacks the methods put, get"),
    ],
)
def test_what_names_no_place_is_refused_with_what_would(address, told):
    with pytest.raises(ConfigurationError, match=told) as raised:
        open_blobs(address)
    assert "secret@" not in str(raised.value)
