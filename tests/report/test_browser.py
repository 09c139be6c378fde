"""The page in a real browser: it opens from disk, asks nobody for anything, and its slider works."""

import json
import re
import shutil
from base64 import b64decode

import pytest
from rich.console import Console

from selective_labels import demo
from selective_labels.report.render import render
from tests.report.documents import document
from tests.report.test_render import HOSTILE

pytestmark = pytest.mark.browser
webdriver = pytest.importorskip("selenium.webdriver", reason="optional: selenium is not installed")
wait = pytest.importorskip("selenium.webdriver.support.wait", reason="optional: selenium is not installed")

SCREENS = {"desktop": (1280, 900), "phone": (390, 844), "small phone": (360, 640)}
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
READINGS = (
    "return [...document.querySelectorAll('.explorer:not([hidden]) output')].map((each) => each.textContent)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("optional: chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    opened.get("about:blank")  # leaves the browser's own first page behind
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def files(browser, tmp_path_factory):
    """Pages to open; without a browser none is made."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {
        "plain": document(n_makers=200),
        "hostile": document(name=HOSTILE),
        "long": document(n_makers=5, name="x" * 10_000),
    }
    for name, given in pages.items():
        (folder / f"{name}.html").write_text(render(given), encoding="utf-8")
    demo.write_page(demo.make_loans(800).table, folder / "demo.html", Console(quiet=True))
    return {name: folder / f"{name}.html" for name in (*pages, "demo")}


def visit(browser, path, screen="desktop", scheme="light"):
    """Open a page; returns what the console said and which addresses were asked for."""
    width, height = SCREENS[screen]
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    colours = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colours})
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    events = [json.loads(each["message"])["message"] for each in browser.get_log("performance")]
    sent = [each["params"] for each in events if each["method"] == "Network.requestWillBeSent"]
    # The browser's own first page may still be loading.
    request = [each["request"]["url"] for each in sent if not each["documentURL"].startswith("chrome://")]
    said = [each["message"] for each in browser.get_log("browser") if each["level"] in ("WARNING", "SEVERE")]
    return said, request


def press(browser, selector, *keys):
    element = browser.find_element("css selector", selector)
    element.send_keys(*keys)


@pytest.mark.parametrize("name", ["plain", "demo"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_opens_quietly_and_fits(browser, files, screen, scheme, name):
    said, request = visit(browser, files[name], screen, scheme)
    assert said == []
    assert request == [files[name].as_uri()], "the file itself and nothing else"
    widths = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert widths[0] <= widths[1], "nothing sticks out to the right"


@pytest.mark.parametrize("name", ["hostile", "long"])
@pytest.mark.parametrize("screen", ["desktop", "small phone"])
def test_hostile_and_long_names_do_nothing(browser, files, name, screen):
    said, request = visit(browser, files[name], screen)
    assert said == []
    assert request == [files[name].as_uri()]
    assert browser.execute_script("return typeof window.hacked") == "undefined"
    widths = browser.execute_script(
        "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
    )
    assert widths[0] <= widths[1], "nothing sticks out to the right"


def test_dark_and_light_are_different(browser, files):
    grounds = []
    for scheme in ("light", "dark"):
        visit(browser, files["plain"], "desktop", scheme)
        grounds.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(253, 252, 250)", "rgb(22, 24, 28)"]


@pytest.mark.parametrize("name", ["plain", "demo"])
@pytest.mark.parametrize("screen", SCREENS)
def test_the_slider_moves_numbers_and_marks(browser, files, screen, name):
    visit(browser, files[name], screen)
    marks = "return [...document.querySelectorAll('.explorer:not([hidden]) .mark')].map((e) => e.outerHTML)"
    before, drawn = browser.execute_script(READINGS), browser.execute_script(marks)
    press(browser, ".explorer:not([hidden]) .slider", "\ue014" * 3)  # arrow right
    after, moved = browser.execute_script(READINGS), browser.execute_script(marks)
    assert len(before) == 8, "the share accepted, two readings of three measures, and a sentence"
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert all(old != new for old, new in zip(drawn, moved, strict=True))


def test_the_slider_shows_the_numbers_of_the_document(browser, files):
    visit(browser, files["plain"])
    press(browser, ".explorer:not([hidden]) .slider", "\ue011")  # home
    point = document()["acceptance"]["models"][0]["points"][0]
    wanted = [f"{100 * point['failure_rate'][end]:.1f}%" for end in ("lower", "upper")]
    reading = browser.find_element("css selector", '.explorer .identified[data-measure="failure_rate"]').text
    assert reading == " to ".join(wanted)


def test_the_other_model_can_be_chosen(browser, files):
    visit(browser, files["plain"])
    press(browser, '.choice input[value="0"]', "\ue015")  # arrow down
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.explorer')].map((each) => !each.hidden)"
    )
    assert shown == [False, True]


def test_the_page_prints_in_light_colours_without_what_needs_a_mouse(browser, files):
    visit(browser, files["plain"], "desktop", "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        policy_sample = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        shown = browser.execute_script(
            "return [...document.querySelectorAll('nav, .slider, .choice, details, #download')]"
            ".filter((each) => each.checkVisibility()).length"
        )
        assert policy_sample == "rgb(255, 255, 255)"
        assert shown == 0, "paper has nothing to click on"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("name", ["plain", "demo"])
def test_the_page_prints_on_at_most_twelve_pages(browser, files, name):
    visit(browser, files[name])
    printed = b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 12


def test_the_numbers_can_be_saved(browser, files, tmp_path):
    visit(browser, files["plain"])
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    press(browser, "#download", "\ue007")  # enter
    wait.WebDriverWait(browser, 10).until(lambda _: (tmp_path / "numbers.json").exists())
    assert json.loads((tmp_path / "numbers.json").read_text()) == document(n_makers=200)
