"""The page's modules, as the program sends them, in Chromium against the vectors that Swift and Node are held to as well."""

import functools
import http.server
import threading

import pytest

from agent import PATIENCE, ROOT


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".mjs": "text/javascript", ".json": "application/json"}

    def __init__(self, *arguments, agent, **more):
        self.agent = agent
        super().__init__(*arguments, **more)

    def do_GET(self):
        module = self.path.removeprefix("/Sources/Page/Files/")
        if self.path == "/":
            # With an icon, as the browser asks for one otherwise.
            kind, body = "text/html", b"<!doctype html><title>vectors</title><link rel=icon href='data:,'>"
        elif module != self.path:
            kind, body = "text/javascript", self.agent.get(module)[2]
        else:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def repository(demo):
    """The repository's files on a server of their own, but the page's modules as the program sends them."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=ROOT, agent=demo))
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
