"""Look-up tables of a switch: LFT, SL2VL and Omni-Path's SC maps."""
