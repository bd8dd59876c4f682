"""Who is let in: with the token, from the page, and for images of the dataset only."""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from studio_cases import SIZE, TOKEN, marks, running, write_meadow

ADDRESSES = ["/", "/api/dataset", "/api/images", "/api/images/one", "/static/index.html", "/nowhere"]
WRITES = [
    ("PUT", "/api/images/one/marks"),
    ("PUT", "/api/images/one/mask"),
    ("PUT", "/api/images/one/scribbles"),
    ("POST", "/api/training"),
    ("DELETE", "/api/training"),
]
OUTSIDE = [
    "../classes.csv",
    "..%2Fclasses",
    "..%2F..%2F..%2Fetc%2Fpasswd",
    "%2Fetc%2Fpasswd",
    "..",
    "one%00",
    "one.png%2F..%2F..%2Fclasses.csv",
    "..%5Cclasses",
    "ONE",
    "four",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all: nothing that these tests try may change it."""
    return write_meadow(tmp_path_factory.mktemp("security") / "meadow")


@pytest.fixture(scope="module")
def origin(folder: Path) -> Iterator[str]:
    with running(folder) as found:
        yield found


@pytest.fixture
def stranger(origin: str) -> Iterator[httpx.Client]:
    """A client without a token."""
    with httpx.Client(base_url=origin) as found:
        yield found


def raw(origin: str, method: str, path: str, host: str | None = None) -> int:
    """Status of a request exactly as it is written, with the token."""
    connection = http.client.HTTPConnection(origin.removeprefix("http://"))
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", origin.removeprefix("http://") if host is None else host)
        connection.putheader("X-Studio-Token", TOKEN)
        connection.putheader("Origin", origin)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN + "x", TOKEN[:-1], "ü"])
def test_refused_without_the_token(stranger: httpx.Client, address: str, token: str | None) -> None:
    headers = {} if token is None else {b"x-studio-token": token.encode()}
    answer = stranger.get(address, headers=headers)
    assert answer.status_code == 403
    assert "meadow" not in answer.text


def test_wrong_token_in_the_address(stranger: httpx.Client) -> None:
    answer = stranger.get("/?token=wrong")
    assert answer.status_code == 403
    assert "terminal" in answer.text
    assert "set-cookie" not in answer.headers


def test_token_in_the_address_becomes_a_cookie(stranger: httpx.Client) -> None:
    answer = stranger.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/").status_code == 200
    assert stranger.get("/api/dataset").json()["name"] == "meadow"


@pytest.mark.parametrize(("method", "address"), WRITES)
@pytest.mark.parametrize(
    "other", [None, "null", "https://evil.example", "http://127.0.0.1:1", "http://127.0.0.1"]
)
def test_writes_of_other_pages_are_refused(
    stranger: httpx.Client, method: str, address: str, other: str | None
) -> None:
    headers = {"x-studio-token": TOKEN} | ({} if other is None else {"origin": other})
    assert stranger.request(method, address, headers=headers).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1", "localhost:1", ""])
def test_other_host_names_are_refused(origin: str, host: str) -> None:
    port = origin.rpartition(":")[2]
    assert raw(origin, "GET", "/api/dataset", f"localhost:{port}") == 200
    assert raw(origin, "GET", "/api/dataset", host.replace("PORT", port)) == 421


@pytest.mark.parametrize("address", [*ADDRESSES, "/?token=wrong"])
def test_every_answer_protects_the_page(client: httpx.Client, address: str) -> None:
    headers = client.get(address).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert not any("unsafe" in value or "*" in value or "http" in value for value in policy.values())
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize(
    "part", ["", "/thumbnail", "/picture", "/mask", "/scribbles", "/regions/0", "/prediction"]
)
def test_nothing_outside_the_dataset_is_read(origin: str, name: str, part: str) -> None:
    assert raw(origin, "GET", f"/api/images/{name}{part}") == 404


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_outside_the_dataset_is_written(client: httpx.Client, folder: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    assert client.put(f"/api/images/{name}/marks", json=marks(["sky"])).status_code in {404, 405}
    content = zlib.compress(bytes(SIZE[0] * SIZE[1]))
    assert client.put(f"/api/images/{name}/mask", content=content).status_code in {404, 405}
    assert {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "js/../../app.py", "/etc/passwd"]
)
def test_static_files_only(origin: str, path: str) -> None:
    assert raw(origin, "GET", "/static/studio.css") == 200
    assert raw(origin, "GET", f"/static/{path}") == 404


def test_too_much_is_refused(client: httpx.Client) -> None:
    version = client.get("/api/images/one").json()["marks"]["version"]
    headers = {"if-match": version}
    assert client.put("/api/images/one/marks", content=b" " * (3 * 2**20), headers=headers).status_code == 413
    chunks = (b" " * 2**20 for _ in range(3))  # sent without saying how much it is
    assert client.put("/api/images/one/marks", content=chunks, headers=headers).status_code == 413
    assert client.put("/api/images/one/mask", content=bytes(33 * 2**20), headers=headers).status_code == 413


def test_a_small_body_never_unpacks_to_much(client: httpx.Client) -> None:
    bomb = zlib.compress(bytes(200 * 2**20), 9)
    answer = client.put("/api/images/one/mask", content=bomb, headers={"if-match": "none"})
    assert answer.status_code == 400
    assert answer.json()["error"] == f"expected {SIZE[0] * SIZE[1]} pixels"
