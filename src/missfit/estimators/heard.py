"""Whether a warning would reach anybody, before the work of finding out."""

from __future__ import annotations

import warnings


def is_heard(category: type[Warning]) -> bool:
    """Whether warnings of a category are shown or raised, whatever they say.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     is_heard(UserWarning)
    False
    """
    for action, message, found, module, line in warnings.filters:
        everywhere = message is None and module is None and not line
        if everywhere and issubclass(category, found):
            return action != "ignore"
    return True
