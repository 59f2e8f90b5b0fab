"""Link credits: parameters of InfiniBand's and Omni-Path's flow control."""
