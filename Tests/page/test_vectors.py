"""The page's modules in Chromium against the vectors that Swift and Node are held to as well."""

import functools
import http.server
import threading

import pytest

from agent import PATIENCE, ROOT


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".mjs": "text/javascript", ".json": "application/json"}

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        # With an icon, as the browser asks for one otherwise.
        self.wfile.write(b"<!doctype html><title>vectors</title><link rel=icon href='data:,'>")

    def log_message(self, *_):
        pass


@pytest.fixture
def repository():
    """The repository's files on a server of their own, which shows modules and vectors to a browser."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=ROOT))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE)


def test_chromium_folds_as_swift_does(repository, open_context):
    page = open_context(repository).new_page()
    page.goto(repository)
    folder = ROOT / "Tests" / "Vectors"
    names = sorted(str(path.relative_to(folder)) for path in folder.glob("*/*.json"))
    assert len(names) >= 20, names
    results = page.evaluate(
        """async names => {
            const { runVectors } = await import("/Tests/page/vectors.mjs")
            const read = async name => name === "index.json" ? names : (await fetch("/Tests/Vectors/" + name)).json()
            return runVectors(read)
        }""",
        names,
    )
    assert len(results) == len(names)
    assert [f"{each['name']}: {each['detail']}" for each in results if not each["ok"]] == []
