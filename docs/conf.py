"""How the site is built: `make docs`."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from site_parts import demonstration, docstrings, links, pictures, reference, run  # noqa: E402

project = "selective-labels"
author = "The selective-labels developers"
project_copyright = author
version = release = installed_version("selective-labels")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "schemas", "site_parts"]
templates_path = ["templates"]
nitpicky = False
# Functions in the configuration cannot be stored between builds; every build is a whole one.
suppress_warnings = ["config.cache"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4

# Docstrings: what stands between single backticks is code.
default_role = "literal"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Examples. A script that fails stops the build.
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/examples",
    "doc_module": ("selective_labels",),
    "download_all_examples": False,
    "min_reported_time": 1,
    "reference_url": {"selective_labels": None},
    "remove_config_comments": True,
    "show_signature": False,
    "plot_gallery": True,
    "within_subsection_order": "FileNameSortKey",
}

# Pages
html_theme = "furo"
html_title = "selective-labels"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "versions.html",
        "sidebar/scroll-end.html",
    ]
}
html_extra_path = ["llms.txt"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False


def setup(app):  # noqa: D103
    app.add_directive("run", run.Run)
    app.add_directive("check-card", reference.CheckCard)
    app.add_directive("assumption-words", reference.AssumptionWords)
    # Before numpydoc, which listens at 500.
    app.connect("autodoc-process-docstring", docstrings.process, priority=100)
    app.connect("source-read", links.to_pages)
    app.connect("builder-inited", lambda _: pictures.draw(HERE / "pictures"))
    app.connect("builder-inited", lambda _: demonstration.write(HERE / "static"))
    return {"parallel_read_safe": False}
