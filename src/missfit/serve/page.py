"""A page on which a row can be tried by hand, with fields left empty."""

from __future__ import annotations

from importlib import resources
from typing import Any

from missfit.markup import Html, element, escaped
from missfit.report.page import page, section
from missfit.workflow.model_file import TableModel

CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
UNUSED = "empty"  # the kind of a column without a value at fit
STYLE = """<style>
#row{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.8rem}
#row label{display:block;font-weight:600;overflow-wrap:anywhere}
#row input,#row select{width:100%;box-sizing:border-box;font:inherit;padding:.35rem}
#row .ask{outline:3px solid var(--orange)}
#answer strong{font-size:1.6rem}
#fault{color:var(--orange)}
</style>"""


def trial_page(model: TableModel) -> str:
    """Return the page of a model, which asks the server that it came from."""
    coverage = 1 - model.regressor.alpha
    fields = [
        _field(name, kind, levels, one.example)
        for name, kind, levels, one in zip(
            model.columns,
            model.encoder.kinds_,
            model.encoder.categories_,
            model.reading.columns,
            strict=True,
        )
        if kind != UNUSED
    ]
    answer = element(
        "div",
        element("p", element("strong", "", id="prediction")),
        element("p", "", id="interval"),
        element("p", "", id="next"),
        element("ol", "", id="fields"),
        element("p", "", id="fault", role="alert"),
        element("ul", "", id="warnings"),
        id="answer",
        aria_live="polite",
        data_target=model.target,
        data_coverage=f"{coverage:.0%}",
    )
    return page(
        f"Predict {model.target}",
        Html(STYLE),
        section("A row", element("form", *fields, id="row", autocomplete="off")),
        section("Its prediction", answer),
        lead=f"By {model.predictor}, fitted to {model.missingness.n_rows:,} rows. "
        "Fill in what is known, and leave the other fields empty: every field may be "
        "missing.",
        script=(resources.files("missfit") / "serve" / "page.js").read_text("utf-8"),
    )


def _field(name: str, kind: str, levels: list[str], example: str) -> Html:
    """Return the field of a column: a choice, or a text to be read as in a file."""
    choices = {"boolean": ["yes", "no"], "category": levels}.get(kind)
    if choices is not None:
        parts: list[Any] = [element("option", "", value="")]
        parts += [element("option", level, value=level) for level in choices]
        return element("label", name, element("select", *parts, name=name))
    hint = f"such as {example.split(' = ')[0][:30]}" if example else kind
    attributes = f'name="{escaped(name)}" placeholder="{escaped(hint)}"'
    return element("label", name, Html(f'<input type="text" {attributes}>'))
