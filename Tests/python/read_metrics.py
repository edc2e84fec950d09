#!/usr/bin/env python3
"""Has everybody read the metrics who should be able to: read_metrics.py URL ROOT

URL is where an agent serves, ROOT the working copy. Both formats go through promtool and through prometheus_client; then a
Prometheus scrapes the agent with the rules of examples/prometheus, and is asked all that the dashboard asks.
"""
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from prometheus_client import openmetrics, parser
import prometheus_client.openmetrics.parser

PATIENCE = 60


def get(url, accept="*/*"):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def wait(what, look):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    sys.exit(f"waited in vain for {what}")


def samples(families):
    """What values there are, but for what changes from one scrape to the next."""
    return {(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples}


def read_text(url):
    kind, text = get(url)
    assert kind == "text/plain; version=0.0.4; charset=utf-8", kind
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr
    return samples(parser.text_string_to_metric_families(text))


def read_formats(url):
    def look():
        before = read_text(url)
        kind, text = get(url, "application/openmetrics-text")
        assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8", kind
        # The agent goes on: its series may be others by now.
        return before == read_text(url) and (before, list(openmetrics.parser.text_string_to_metric_families(text)))

    old, new = wait("two scrapes with the same series", look)
    # The older format has no type for information.
    assert old == samples(new), old ^ samples(new)
    types = {family.name: family.type for family in new}
    for name, kind in [("build", "info"), ("polls", "counter"), ("request_duration_seconds", "histogram"),
                       ("series_value", "gauge")]:
        assert types[f"catwatch_{name}"] == kind, types
    return samples(new)


class Prometheus:
    """One that scrapes every half second, for as long as it is in use."""

    def __init__(self, target, root, folder):
        config = f"{folder}/prometheus.yml"
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"""
global: {{ scrape_interval: 500ms, evaluation_interval: 500ms }}
rule_files: ["{root}/examples/prometheus/catwatch.rules.yml"]
scrape_configs: [{{ job_name: catwatch, static_configs: [{{ targets: ["{target}"] }}] }}]
""")
        self.log = f"{folder}/log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                 "--web.listen-address=127.0.0.1:0"], stderr=log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def port(self):
        with open(self.log, encoding="utf-8") as log:
            found = re.search(r'msg="?Listening on"? address=127\.0\.0\.1:(\d+)', log.read())
        return found and found[1]

    def is_ready(self):
        try:
            return get(f"{self.origin}/-/ready")
        except urllib.error.HTTPError as error:
            # It listens before its store is open.
            if error.code != 503:
                raise
            return False

    def start(self):
        self.origin = f"http://127.0.0.1:{wait('Prometheus', self.port)}"
        wait("Prometheus to be ready", self.is_ready)

    def ask(self, query):
        text = get(f"{self.origin}/api/v1/query?query={urllib.parse.quote(query)}")[1]
        answer = json.loads(text)
        assert answer["status"] == "success", f"{query}: {answer}"
        return answer["data"]["result"]

    def value(self, query):
        found = self.ask(query)
        return float(found[0]["value"][1]) if found else None


def dashboard(root):
    with open(f"{root}/examples/grafana/catwatch.json", encoding="utf-8") as file:
        return json.load(file)


def check_dashboard(root, text):
    """What can be seen without a Grafana: whether panels have their place, and ask the chosen source for metrics that there are."""
    panels = dashboard(root)["panels"]
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids), ids
    families = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    cells = set()
    for panel in panels:
        place, title = panel["gridPos"], panel["title"]
        own = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not own & cells, f"{title} lies on another panel"
        cells |= own
        for part in [panel, *panel["targets"]] if panel["type"] != "row" else []:
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, title
        for target in panel.get("targets", []):
            names = set(re.findall(r"catwatch_\w+", target["expr"]))
            unknown = {name for name in names if re.sub("_bucket$", "", name) not in families}
            assert names and not unknown, f"{title}: {unknown}"


def questions(root):
    for panel in dashboard(root)["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$instance", ".*").replace("$source", ".*")
            yield panel["title"], query.replace("$__rate_interval", "10s")


def main():
    url, root = sys.argv[1:]
    names = read_formats(f"{url}metrics")
    check_dashboard(root, get(f"{url}metrics")[1])
    rules = f"{root}/examples/prometheus"
    for command in [["check", "config", f"{rules}/prometheus.yml"], ["check", "rules", f"{rules}/catwatch.rules.yml"],
                    ["test", "rules", f"{rules}/catwatch.rules_test.yml"]]:
        run = subprocess.run(["promtool", *command], text=True, capture_output=True)
        assert run.returncode == 0, run.stdout + run.stderr
    target = urllib.parse.urlsplit(url).netloc
    with tempfile.TemporaryDirectory() as folder, Prometheus(target, root, folder) as prometheus:
        prometheus.start()
        # Two scrapes, for rates.
        wait("two scrapes", lambda: (prometheus.value("count_over_time(up[1m])") or 0) >= 2)
        wait("a good scrape", lambda: prometheus.value("up") == 1)
        assert prometheus.value("scrape_samples_scraped") >= len(names), "samples were left out"
        assert prometheus.value("scrape_samples_scraped") == prometheus.value("scrape_samples_post_metric_relabeling")
        wait("an alert", lambda: prometheus.value('ALERTS{alertname="CatwatchAlert",alertstate="firing"}') == 1)
        # Nothing goes wrong; a slow machine takes a while to have two samples of each in ten seconds.
        expected, end = ["Errors a second, by code"], time.monotonic() + PATIENCE
        while (empty := [title for title, query in questions(root) if not prometheus.ask(query)]) != expected:
            assert time.monotonic() < end, empty
            time.sleep(0.5)
    print(f"{len(names)} samples")


main()
