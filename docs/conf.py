"""How the site is built: `make docs`, then open docs/_build/html/index.html."""

import warnings
from pathlib import Path

import matplotlib
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

import missfit
from missfit.estimators.base import NanRegressor

matplotlib.use("Agg")
HERE = Path(__file__).parent
project = "missfit"
author = "The missfit developers"
copyright = f"{author}, BSD-3-Clause"
release = version = missfit.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
templates_path = ["_templates"]
suppress_warnings = [
    "autosummary",  # names that scikit-learn's mixins document in their own way
    "ref.python",
    "ref.ref",  # labels of scikit-learn's own site, in what is inherited from it
    "ref.term",
]

# --- API pages -------------------------------------------------------------------
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"  # fit() beside the page, not EMLR.fit()
napoleon_google_docstring = False
# As a list of names and not as roles: `coef_` keeps its underscore.
napoleon_custom_sections = [("Attributes", "params_style")]


def predictor_pages():
    """Return the page of each predictor by the name of its class, the page's title."""
    titles = {
        path.read_text().split("\n")[0].removeprefix("# "): path.stem
        for path in (HERE / "predictors").glob("*.md")
    }
    return {
        f"missfit.{title}": f"/predictors/{stem}"
        for title, stem in titles.items()
        if title in missfit.__all__
    }


def inner_methods():
    """Return methods that a choice among predictors asks for, and no user."""
    asked = {name for base in NanRegressor.__mro__ for name in vars(base)}
    asked -= {"fit", "predict", "score", "get_params", "set_params"}
    given = {"fit_moments_given", "fit_rows_given", "of_fitted", "moments_of_stream"}
    requests = {
        f"set_{name}_request" for name in ("fit", "partial_fit", "predict", "score")
    } | {"set_predict_proba_request", "set_transform_request"}
    return sorted(n for n in asked | given | requests if not n.startswith("_"))


autosummary_context = {
    "predictor_pages": predictor_pages(),
    "hidden": ", ".join(inner_methods()),
}

# --- looks -------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "missfit"
html_static_path = ["_static"]
html_css_files = ["missfit.css"]
html_favicon = "_static/logo.svg"
html_logo = "_static/logo.svg"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "logo": {"text": "missfit"},
    "navigation_with_keys": False,
    "collapse_navigation": True,  # its buttons have no names for screen readers
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without pages below them have nothing to navigate to.
html_sidebars = {page.stem: [] for page in HERE.glob("*.md") if page.stem != "api"}
html_math_renderer = "mathml"
html_show_sourcelink = False

# --- gallery ---------------------------------------------------------------------
SECTIONS = ("tables", "theory", "trust", "production")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "ignore_pattern": r"first_look",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", category=UserWarning, module="sphinx_gallery")


class NamesAsLinks(SphinxPostTransform):
    """Link names such as `EMLR` or `missfit.simulate.ampute` to their API pages.

    The pages write names as plain code, so that they read well outside of the site.
    """

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs):
        """Wrap every name that has a page, outside of titles and other links."""
        if self.env.docname.startswith("generated/"):
            return
        pages = self.env.get_domain("py").objects
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removeprefix("missfit.")
            page = pages.get(f"missfit.{name}")
            if page is None or within(literal, nodes.reference, nodes.title):
                continue
            link = make_refnode(
                self.app.builder,
                self.env.docname,
                page.docname,
                page.node_id,
                literal.deepcopy(),
            )
            literal.replace_self(link)


def within(node, *kinds):
    """Whether a node stands inside one of these kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def setup(app):
    """Write formulas as MathML, which browsers draw without a script or a network."""
    from docutils.utils.math.latex2mathml import tex2mathml

    def inline(translator, node):
        translator.body.append(tex2mathml(node.astext()))
        raise nodes.SkipNode

    def block(translator, node):
        formula = tex2mathml(node.astext(), as_block=True)
        translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.add_post_transform(NamesAsLinks)
