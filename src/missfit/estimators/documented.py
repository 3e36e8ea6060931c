"""Estimators whose HTML form, as a notebook shows it, links to their documentation."""

from __future__ import annotations

import os
from importlib import metadata

from sklearn.base import BaseEstimator


def documentation_address() -> str:
    """Return the address of the documentation, or "" where none is known.

    The environment variable MISSFIT_DOCS counts first: the address of a site, or
    ``file://`` and the folder that ``make docs`` has made. Otherwise it is what the
    installed package declares as its documentation.
    """
    address = os.environ.get("MISSFIT_DOCS")
    return (_declared_address() if address is None else address).rstrip("/")


def _declared_address() -> str:
    try:
        lines = metadata.metadata("missfit").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    labels = dict(line.split(", ", 1) for line in lines)
    return labels.get("Documentation", "")


class DocumentedEstimator(BaseEstimator):
    """An estimator with a page of its own in the API reference.

    scikit-learn puts a question mark with this link into the HTML form of an estimator,
    also inside a pipeline. Without an address there is no link.
    """

    has_page = True  # whether the API reference has a page of it
    _doc_link_module = "missfit"

    @property  # scikit-learn's has a setter, for which there is no use here
    def _doc_link_template(self) -> str:  # pyright: ignore
        address = documentation_address()
        if not address or not self.has_page:
            return ""
        return address + "/generated/missfit.{estimator_name}.html"
