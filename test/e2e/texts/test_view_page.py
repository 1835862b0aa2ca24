"""The page of head.view in a real browser: what lights up, keys, narrow screens.
Nothing is fetched.
"""

import pathlib
import shutil

import logitile as lt
import pytest

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is in requirements-dev.txt")
from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.full
S = lt.ShapeDtype
SHAPES = (S((512, 64), "bfloat16"), S((8000, 64), "bfloat16"))
TARGET = S((512,), "int64")
PATIENCE = 60  # seconds, on a machine that is busy with other things


@lt.loss
def two_sweeps(z: lt.Logits):
    centred = z - lt.mean(z)
    squares = centred * centred
    return lt.mean(squares)


# Losses, a line of the loss, a text of a line of the plan that comes from it,
# one of a line that does not.
CASES = {
    "cross_entropy": (lt.losses.cross_entropy, "lse = lt.logsumexp(z)", "math.exp", "arith.cmpi eq"),
    "focal": (lt.losses.focal, "log_p = lt.log_softmax", "math.exp", 'scalar "'),
    "entropy": (lt.losses.entropy, "lt.sum(lt.exp(log_p)", "math.exp", "logitile.schedule"),
    "z_loss": (lt.losses.z_loss, "logsumexp", "math.exp", "logitile.schedule"),
    "two_sweeps": (two_sweeps, "squares = centred", "arith.mulf", "logitile.schedule"),
}


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system, without a window. It logs what it fetches."""
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    assert all(programs), "setup.sh installs chromium and chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1600,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()


def opened(browser, page: pathlib.Path):
    browser.set_window_size(1600, 900)
    browser.get(page.as_uri())
    WebDriverWait(browser, PATIENCE).until(lambda d: d.execute_script("return document.body.dataset.ready"))
    return browser


def page_of(loss, tmp_path, **options):
    names = {entry.name for entry in loss.signature.inputs}
    inputs = {"target": TARGET} if "target" in names else {}
    return lt.jit(loss, backend="cpu:avx2").view(*SHAPES, path=tmp_path / "loss.html", **inputs, **options)


def shown(browser, stage, kind=""):
    """Texts of the lines of a pane that are in the page now, read in one step."""
    return browser.execute_script(
        "return Array.from(document.querySelectorAll(arguments[0]), (line) => line.textContent)",
        f'.pane[data-stage="{stage}"] .line{kind}',
    )


def wait_for(browser, stage, text):
    """Until a line with a text is the current line of a pane:
    the mouse takes a while on a busy machine.
    """

    def is_current(_):
        return any(text in line for line in shown(browser, stage, ".here"))

    WebDriverWait(browser, PATIENCE).until(is_current)


def shown_anywhere(browser, stage, kind):
    """The same of the whole pane: lines outside of its window are not in the page."""
    return browser.execute_async_script(
        """const [selector, kind, done] = arguments, found = new Set();
        const scroll = document.querySelector(selector);
        const drawn = () => new Promise((ready) => requestAnimationFrame(() => requestAnimationFrame(ready)));
        (async () => {
          for (let top = 0; top < scroll.scrollHeight; top += 300) {
            scroll.scrollTop = top;
            await drawn();
            for (const line of scroll.querySelectorAll(".line" + kind)) found.add(line.textContent);
          }
          done([...found]);
        })();""",
        f'.pane[data-stage="{stage}"] .scroll', kind,
    )  # fmt: skip


def line(browser, stage, text):
    for found in browser.find_elements(By.CSS_SELECTOR, f'.pane[data-stage="{stage}"] .line'):
        if text in found.text:
            return found
    raise AssertionError(f"no line of {stage} with {text!r}")


def find(browser, text):
    """Goes to a line by the field of the page."""
    field = browser.find_element(By.ID, "find")
    field.clear()
    field.send_keys(text, Keys.ENTER)


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("name", CASES)
def test_hovering_lights_what_belongs_together(browser, tmp_path, name):
    loss, source, made, other = CASES[name]
    opened(browser, page_of(loss, tmp_path))
    find(browser, source)
    wait_for(browser, "loss", source)
    lit = shown_anywhere(browser, "plan", ".made")
    assert any(made in text for text in lit)
    assert not any(other in text for text in lit)
    assert shown(browser, "asm", ".made")
    browser.find_element(By.CSS_SELECTOR, ".scroll").send_keys(Keys.ESCAPE)
    ActionChains(browser).move_to_element(line(browser, "spec", "logitile.input logits")).perform()
    wait_for(browser, "spec", "logitile.input logits")
    assert "line 3: loss 1" in browser.find_element(By.ID, "told").text
    assert errors(browser) == []


def test_a_line_that_is_found_is_painted_before_anything_else_happens(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    here = browser.execute_script(
        """const field = document.getElementById("find");
        field.value = "retq";
        field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
        return Array.from(document.querySelectorAll(".here"), (line) => line.textContent);"""
    )
    assert ["retq" in text for text in here] == [True]


def test_lines_stay_where_they_are_when_the_window_changes(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    find(browser, "lse = lt.logsumexp(z)")
    browser.set_window_size(1500, 700)
    WebDriverWait(browser, PATIENCE).until(lambda d: d.execute_script("return innerWidth <= 1500"))
    assert ["lse = lt.logsumexp(z)" in text for text in shown(browser, "loss", ".here")] == [True]


def test_a_click_keeps_the_lines_and_escape_lets_go(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    line(browser, "spec", "logsumexp").click()
    ActionChains(browser).move_to_element(line(browser, "spec", "logitile.yield")).perform()
    wait_for(browser, "spec", "logsumexp")
    assert "spec line 5: loss 1" in browser.find_element(By.ID, "told").text
    browser.find_element(By.CSS_SELECTOR, '[data-stage="spec"] .scroll').send_keys(Keys.ESCAPE)
    assert not shown(browser, "spec", ".here")


def test_keys_move_and_change_panes(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    spec = browser.find_element(By.CSS_SELECTOR, '[data-stage="spec"] .scroll')
    spec.send_keys(*[Keys.ARROW_DOWN] * 5)
    wait_for(browser, "spec", "logsumexp")
    spec.send_keys(Keys.ARROW_RIGHT)
    assert shown(browser, "plan", ".here") and not shown(browser, "spec", ".here")
    assert browser.switch_to.active_element.get_attribute("aria-label") == "plan"
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert browser.switch_to.active_element.get_attribute("aria-label") == "spec"


def test_one_kernel_and_other_stages(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    kernel = browser.find_element(By.ID, "kernel")
    kernel.find_element(By.CSS_SELECTOR, '[value="forward0"]').click()
    assert "@forward0" in shown(browser, "tiles")[0]
    [device] = [b for b in browser.find_elements(By.CSS_SELECTOR, "#stages button") if b.text == "device"]
    device.click()
    assert "@forward0" in shown(browser, "device")[0]


def test_words_explain_themselves(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    word = browser.find_element(By.CSS_SELECTOR, '[data-stage="plan"] .known')
    ActionChains(browser).move_to_element(word).perform()
    tip = browser.find_element(By.ID, "tip")
    WebDriverWait(browser, PATIENCE).until(lambda _: tip.is_displayed() and len(tip.text) > 20)


def test_schedule_passes_and_differences(browser, tmp_path):
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path, compare={"chunks": 4}))
    browser.find_element(By.ID, "tab-schedule").click()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#schedule svg")) == 2
    assert browser.find_elements(By.CSS_SELECTOR, "#schedule td.differs")
    browser.find_element(By.ID, "tab-differences").click()
    browser.find_element(By.CSS_SELECTOR, "#differences summary").click()
    told = browser.find_element(By.ID, "differences")
    WebDriverWait(browser, PATIENCE).until(lambda _: "in 4 chunks" in told.text)
    browser.find_element(By.ID, "tab-passes").click()
    browser.find_element(By.CSS_SELECTOR, "#passes summary").click()
    WebDriverWait(browser, PATIENCE).until(lambda d: d.find_elements(By.CSS_SELECTOR, "#passes .added"))
    assert errors(browser) == []


def test_narrow_screens_show_one_stage(browser, tmp_path):
    page = page_of(lt.losses.cross_entropy, tmp_path)
    browser.set_window_size(500, 800)
    browser.get(page.as_uri())
    WebDriverWait(browser, PATIENCE).until(lambda d: d.execute_script("return document.body.dataset.ready"))
    assert len(browser.find_elements(By.CSS_SELECTOR, ".pane")) == 1
    [plan] = [b for b in browser.find_elements(By.CSS_SELECTOR, "#stages button") if b.text == "plan"]
    plan.click()
    assert shown(browser, "plan") and not shown(browser, "loss")
    width = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


def test_nothing_is_fetched(browser, tmp_path):
    browser.get_log("performance")
    opened(browser, page_of(lt.losses.cross_entropy, tmp_path))
    messages = [entry["message"] for entry in browser.get_log("performance")]
    requests = [message for message in messages if "requestWillBeSent" in message]
    assert requests and all('"url":"file://' in text or '"url":"data:' in text for text in requests)
    assert errors(browser) == []
