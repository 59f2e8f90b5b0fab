"""The forms of a scheduler: components of the same parameters, one of which is chosen by its name."""

from __future__ import annotations

from typing import Any

from vlane.errors import InputError


class Forms:
    """Makes a component of one of its forms; to its callers it is a component class.

    Parameters
    ----------
    *forms : type
        The components, the usual one first. Each has its name in ``form`` and is made of the same parameters, whose
        ``form`` chooses it.
    """

    def __init__(self, *forms: type[Any]) -> None:
        self.forms = {each.form: each for each in forms}

    def __call__(self, parameters: Any) -> Any:
        """Return a component of the form that its parameters name."""
        return self.forms[parameters.form](parameters)


def require_form(component: Any, parameters: Any) -> None:
    """Refuse to make a component with the parameters of another form.

    Raises
    ------
    InputError
        Naming the form.
    """
    if parameters.form != component.form:
        raise InputError("form", f"{component.form} for a {type(component).__name__}", parameters.form)
