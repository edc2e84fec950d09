"""The page as one file, and series as files."""

import csv
import io
import re

from playwright.sync_api import expect

from agent import binary
from view import STICKS_OUT, address, amount, graph, row, trouble, wait_for_lines
from conftest import long


def save(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    return download.value.suggested_filename, download.value.path().read_text()


def test_a_snapshot_shows_the_same_from_a_file(fed, open_context, tmp_path):
    nasty = "</script><!--<script>\u2028 &amp; ]]>"
    fed.feed({"s": "a", "v": 1, "t": "one"}, {"s": "b", "v": 2.5, "t": nasty})
    live = open_context(fed).new_page()
    live.goto(fed.url)
    expect(amount(live, "stdin/b")).to_have_text("2.5")
    with live.expect_download() as download:
        live.locator("a[href=snapshot]").click()
    name = download.value.suggested_filename
    assert re.fullmatch(r"catwatch[\w.-]*\.html", name), name
    file = tmp_path / name
    file.write_bytes(download.value.path().read_bytes())
    fed.kill()

    context = open_context("file://")
    page = context.new_page()
    page.goto(file.as_uri())
    for series, text in (("stdin/a", "1"), ("stdin/b", "2.5")):
        expect(amount(page, series)).to_have_text(text)
    # On a slow machine they may be old by then.
    stale = page.locator(".list .row.stale").count()
    # When it was taken, and no word of an agent that is lost.
    expect(page.locator("body")).to_contain_text(re.compile(r"recorded \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"))
    expect(trouble(page)).to_be_hidden()
    row(page, "stdin/b").locator("a").click()
    expect(page.locator(".detail .event-text")).to_contain_text("</script><!--<script>")
    expect(graph(page)).to_be_visible()
    page.keyboard.press("3")
    expect(page.locator("main > section.metrics")).to_be_visible()
    page.keyboard.press("4")
    wait_for_lines(page, "one")
    expect(page.get_by_role("button", name="Poll now")).to_be_hidden()
    assert page.evaluate(STICKS_OUT) == []
    # It is one file: nothing else is asked for.
    assert [url for url in context.watch.requests if not url.startswith(("data:", file.as_uri()))] == []
    # What was old when it was taken is no older a day later.
    later = context.new_page()
    later.clock.install(time=2_000_000_000)
    later.goto(file.as_uri())
    expect(amount(later, "stdin/a")).to_have_text("1")
    expect(trouble(later)).to_be_hidden()
    expect(later.locator(".list .row.stale")).to_have_count(stale)


@long
def test_a_snapshot_of_a_command_shows_the_same(tmp_path, open_context):
    import subprocess

    made = subprocess.run(
        [binary(), "-c", "/dev/null", "--demo", "--once=html", "-i", "1s"], stdout=subprocess.PIPE, timeout=30, check=True
    )
    file = tmp_path / "incident.html"
    file.write_bytes(made.stdout)
    page = open_context("file://").new_page()
    page.goto(file.as_uri())
    expect(row(page, "fact")).to_be_visible()


def test_a_series_is_saved_as_csv(fed, open_page):
    fed.feed({"s": "=cmd()", "v": 1.5}, {"s": "=cmd()", "v": -2})
    page = open_page(fed, address("stdin/=cmd()"))
    expect(page.locator(".detail-value .amount")).to_have_text(re.compile("^[-−]2$"))
    name, text = save(page, "CSV")
    assert name.endswith(".csv")
    table = list(csv.DictReader(io.StringIO(text)))
    assert [line["value"] for line in table] == ["1.5", "-2"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["time"]) for line in table)
    assert {line["series"] for line in table} == {"stdin/=cmd()"}
