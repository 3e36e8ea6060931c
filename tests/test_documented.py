"""The link from an estimator's HTML form to its page of the documentation."""

import importlib
import pkgutil
import re
from email.message import Message
from importlib import metadata

from sklearn.pipeline import make_pipeline

import missfit
from missfit.estimators.documented import DocumentedEstimator, documentation_address

ADDRESS = "https://docs.example/missfit"


def links(model):
    """Return the pages that the diagram links to; parameters are places in them."""
    return set(
        re.findall(r'href="([^"#]*generated/missfit[^"#]*)', model._repr_html_())
    )


def test_the_html_form_links_to_the_page_of_each_class(monkeypatch):
    monkeypatch.setenv("MISSFIT_DOCS", f"{ADDRESS}/")
    model = make_pipeline(missfit.TableEncoder(), missfit.EMLR())
    assert links(model) == {
        f"{ADDRESS}/generated/missfit.{name}.html" for name in ("TableEncoder", "EMLR")
    }


def test_without_an_address_there_is_no_link(monkeypatch):
    monkeypatch.setenv("MISSFIT_DOCS", "")
    assert "href" not in missfit.EMLR()._repr_html_()


def test_the_address_is_the_documentation_that_the_package_declares(monkeypatch):
    declared = Message()
    declared["Project-URL"] = "Source, https://code.example"
    declared["Project-URL"] = f"Documentation, {ADDRESS}/"
    monkeypatch.delenv("MISSFIT_DOCS", raising=False)
    monkeypatch.setattr(metadata, "metadata", lambda _: declared)
    assert documentation_address() == ADDRESS


def test_a_package_that_declares_nothing_has_no_address(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.delenv("MISSFIT_DOCS", raising=False)
    monkeypatch.setattr(metadata, "metadata", absent)
    assert documentation_address() == ""


def made_of(kind):
    for other in kind.__subclasses__():
        yield other
        yield from made_of(other)


def test_what_claims_a_page_is_public_or_a_base_of_others():
    for room in ("auto", "estimators", "networks"):
        found = importlib.import_module(f"missfit.{room}").__path__
        for module in pkgutil.walk_packages(found, f"missfit.{room}."):
            importlib.import_module(module.name)
    for kind in made_of(DocumentedEstimator):
        if kind.__module__.startswith("missfit.") and kind.has_page:
            assert kind.__name__ in missfit.__all__ or list(made_of(kind)), kind


def test_an_estimator_of_a_user_has_no_link(monkeypatch):
    class Mine(missfit.EMLR):
        pass

    monkeypatch.setenv("MISSFIT_DOCS", ADDRESS)
    assert not links(Mine())
