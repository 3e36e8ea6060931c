"""Figure 5: the excess log-loss of classifiers against the number of training rows."""

from __future__ import annotations

from missfit.study.figures.learning_curves import draw_medians
from missfit.study.figures.methods import shown_methods
from missfit.study.figures.panels import (
    add_method_key,
    figure_style,
    finished_classes,
    main_dimension,
    panels,
    settings_of,
    title_of,
)

# Colours that are told apart; the first, for our default, is drawn to stand out.
COLOURS = (
    "#e6007e", "#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd",
    "#a0522d", "#00a6b4", "#a8a800", "#606060", "#d62728",
)  # fmt: skip


def class_curves(table, *, published: bool = False):
    """Draw log-loss above the Bayes rate against training rows, by setting.

    0 would be the best that there is, the log-loss of the Bayes classifier. Lines are
    medians over the repetitions, bands their 95 % bootstrap intervals.

    Parameters
    ----------
    table : DataFrame
        Tidy results.
    published : bool
        There is nothing published on classes; every figure has this argument.
    """
    done = finished_classes(table)
    done = done[done["split"] == "test"]
    d = main_dimension(done)
    done = done[done["d"] == d]
    settings = settings_of(done)
    colours = class_colours(done)
    with figure_style():
        fig, axes = panels(settings, figsize=(3.7 * len(settings), 4.3))
        for ax, setting in zip(axes[0], settings, strict=True):
            part = done[done["setting"] == setting]
            for method in part["method"].unique():
                rows = part[part["method"] == method]
                draw_medians(ax, rows, "excess_log_loss", method, colours[method])
            ax.set(xscale="log", yscale="log", xlabel="number of training samples")
            rate = part["bayes_log_loss"].mean()
            title = f"{title_of(setting, part)}, Bayes log-loss {rate:.3f}"
            ax.set_title(title, fontweight="bold", fontsize=9)
            add_method_key(ax)
        axes[0, 0].set_ylabel("log-loss above the Bayes rate")
        fig.suptitle(f"d = {d}", x=0.01, ha="left", fontsize=9)
    return fig


def class_colours(done) -> dict[str, str]:
    """Return the colour of each method, the same in all panels."""
    names = list(dict.fromkeys(shown_methods(done, "")))
    return {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
