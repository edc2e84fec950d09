"""Takes the pictures of the page that the documents show: Tests/page-pictures.sh."""

import json
import socket
import time

from playwright.sync_api import expect, sync_playwright

from agent import ROOT, Agent
from conftest import PHONE, launch
from test_screens import SCREENS, settle

FOLDER = ROOT / "docs" / "pictures"
PICTURES = ("list", "detail", "metrics", "feed")
# A page that is read beside text: small enough that its letters are.
WINDOW = {"width": 1120, "height": 600}
# The facts come by hundreds, and are long.
PLACES = {"feed": "#/feed?filter=aqi|breeds|dogs|fibonacci"}
HISTORY = 90
MOST = 150 << 10

# Puts another name for this machine's wherever it comes to stand, before it is painted.
RENAME = f"""
const name = {json.dumps(socket.gethostname())}
const rename = node => {{ if (node.data.includes(name)) node.data = node.data.replaceAll(name, "lab") }}
new MutationObserver(records => {{
    for (const record of records) {{
        const walk = document.createTreeWalker(record.target, NodeFilter.SHOW_TEXT)
        if (record.target instanceof Text) rename(record.target)
        while (walk.nextNode()) rename(walk.currentNode)
    }}
}}).observe(document, {{ subtree: true, childList: true, characterData: true }})
"""


def take(page, name):
    path = FOLDER / f"dashboard-{name}.png"
    page.screenshot(path=path)
    assert socket.gethostname() not in page.locator("body").inner_text(), "the machine's name is in the picture"
    assert path.stat().st_size <= MOST, f"{path} has {path.stat().st_size} bytes"
    print(f"{path.relative_to(ROOT)} {path.stat().st_size}", flush=True)


def main():
    FOLDER.mkdir(exist_ok=True)
    with Agent("--demo", "--preset", "all", "-i", "2s", "--every", "1s", "--history", f"{HISTORY}s") as agent:
        # A history of values.
        time.sleep(HISTORY + 2)
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for theme in ("light", "dark"):
                for device, options in (("", {"viewport": WINDOW}), ("phone-", {"viewport": PHONE, "is_mobile": True, "has_touch": True})):
                    context = browser.new_context(color_scheme=theme, reduced_motion="reduce", timezone_id="UTC", locale="en-GB", **options)
                    context.add_init_script(RENAME)
                    page = context.new_page()
                    for screen in PICTURES if not device else PICTURES[:2]:
                        place, what = SCREENS[screen]
                        page.goto(agent.url + PLACES.get(screen, place))
                        settle(page, what)
                        # Lines of the log come first.
                        page.wait_for_timeout(2_000)
                        take(page, f"{device}{screen}-{theme}")
                    context.close()
            browser.close()


if __name__ == "__main__":
    main()
