"""How the site is built: `make docs`, then open docs/_build/html/index.html."""

import warnings

import matplotlib
from docutils import nodes

import missfit

matplotlib.use("Agg")
project = "missfit"
author = "The missfit developers"
release = version = missfit.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
suppress_warnings = [
    "autosummary",  # names that scikit-learn's mixins document in their own way
    "ref.python",
    "ref.ref",  # labels of scikit-learn's own site, in what is inherited from it
    "ref.term",
    "docutils",
]
html_theme = "pydata_sphinx_theme"
html_title = "missfit"
html_theme_options = {"header_links_before_dropdown": 4, "navigation_with_keys": False}
html_math_renderer = "mathml"
html_show_sourcelink = False
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


def setup(app):
    """Write formulas as MathML, which browsers draw without a script or a network."""
    from docutils.utils.math.latex2mathml import tex2mathml

    def inline(translator, node):
        translator.body.append(tex2mathml(node.astext()))
        raise nodes.SkipNode

    def block(translator, node):
        formula = tex2mathml(node.astext(), as_block=True)
        translator.body.append(f'<div class="formula">{formula}</div>')
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (inline, None), (block, None))
