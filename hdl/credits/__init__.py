"""Hardware of link-level flow control: both ends of InfiniBand and Omni-Path credits."""
