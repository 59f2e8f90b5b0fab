"""Parameters of InfiniBand's and Omni-Path's link credits."""
