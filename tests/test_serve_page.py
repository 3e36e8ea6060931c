"""The page on which a row is tried by hand, in a real browser."""

import pytest

from missfit import load_model
from served import fitted_folder

pytest.importorskip("starlette", reason='pip install "missfit[serve]"')
pytest.importorskip("uvicorn", reason='pip install "missfit[serve]"')
from serving import Running


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = fitted_folder(tmp_path_factory.mktemp("served"))
    server = Running(load_model(folder / "model.skops"))
    yield server
    server.stop()


def test_a_row_is_tried_by_hand_with_fields_left_empty(browser, running):
    said = []
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(f"http://127.0.0.1:{running.port}/")

    def shown(selector, text):
        page.locator(selector, has_text=text).wait_for()
        return page.locator(selector).inner_text()

    row = {"age": "51.5"}
    page.fill("input[name=age]", "51.5")
    expected = running.predict(row)[0][0]
    shown("#prediction", f"y: {expected['prediction']}")
    interval = shown("#interval", f"{expected['lower']} to {expected['upper']}")
    assert interval.startswith("90% interval: ")
    assert page.locator("#fields li").first.inner_text().startswith("city: ")
    assert page.locator("select[name=city]").get_attribute("class") == "ask"
    page.select_option("select[name=city]", "Nice")
    page.select_option("select[name=smokes]", "yes")
    row |= {"city": "Nice", "smokes": True}
    shown("#prediction", f"y: {running.predict(row)[0][0]['prediction']}")
    page.fill("input[name=age]", "old")
    shown("#fault", "column 'age' held numbers at fit")
    assert page.locator("#prediction").inner_text() == ""
    page.fill("input[name=age]", "")
    del row["age"]
    shown("#prediction", f"y: {running.predict(row)[0][0]['prediction']}")
    assert page.locator("#fault").inner_text() == ""
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert said == []
    page.close()
