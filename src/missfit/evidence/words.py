"""The sentences on missingness that `explain` and the report print."""

from __future__ import annotations

from collections.abc import Sequence

from missfit.evidence.mechanism import Mechanism, Relation

MOST = 5  # the most relations that a sentence names


def sentences(found: Mechanism, names: Sequence[str], target: str = "y") -> list[str]:
    """Return what was found, one claim in a sentence."""
    return [
        _completely_at_random(found),
        _sentence(
            f"{target} differs where these are missing",
            f"{target} differs where a variable is missing",
            found.target,
            names,
        ),
        _sentence(
            f"{target} differs beyond what the other variables explain where these are "
            "missing",
            f"{target} differs there beyond what the other variables explain",
            found.residual,
            names,
        ),
        _sentence(
            "Other variables differ where these are missing",
            "other variables differ where one is missing",
            found.features,
            names,
        ),
        "Values missing because of what they are (self-masking), or of something else "
        f"that {target} depends on: {found.self_evidence}.",
    ]


def _completely_at_random(found: Mechanism) -> str:
    units = "whole groups" if found.grouped else "rows"
    how = (
        f"permutations of {units}, {found.n_rows:,} rows, level 1 % for all claims "
        "together"
    )
    if found.n_paired:
        how += (
            f"; the errors and the pairs of {found.n_paired:,} variables were tested, "
            "the target in all of them"
        )
    if found.mcar_rejected:
        return f"The values are not missing completely at random ({how})."
    return f"Nothing speaks against values missing completely at random ({how})."


def _sentence(
    claim: str, otherwise: str, relations: Sequence[Relation], names: Sequence[str]
) -> str:
    if not relations:
        return f"No sign that {otherwise}."
    said = [_relation(r, names) for r in relations[:MOST]]
    more = len(relations) - MOST
    return f"{claim}: {', '.join(said)}{f' and {more} more' if more > 0 else ''}."


def _relation(relation: Relation, names: Sequence[str]) -> str:
    other = "" if relation.other is None else f" with {names[relation.other]}"
    return f"{names[relation.feature]}{other} (z = {relation.z:+.1f})"
