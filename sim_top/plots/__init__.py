"""Pictures and pages of study results."""
