"""Alternative forms of a scheduler with equal parameters, selected by name."""

from __future__ import annotations

from typing import Any

from vlane.errors import InputError


class Forms:
    """Constructor that selects one of several component classes by the parameters' ``form``.

    Parameters
    ----------
    *forms : type
        Component classes with the same parameter type, default first. Each class names itself in its attribute
        ``form``.
    """

    def __init__(self, *forms: type[Any]) -> None:
        self.forms = {each.form: each for each in forms}

    def __call__(self, parameters: Any) -> Any:
        """Return a component of the form named in its parameters."""
        return self.forms[parameters.form](parameters)


def require_form(component: Any, parameters: Any) -> None:
    """Reject parameters of another form.

    Raises
    ------
    InputError
        If the form in the parameters is not that of the component.
    """
    if parameters.form != component.form:
        raise InputError("form", f"{component.form} for a {type(component).__name__}", parameters.form)
