"""Packet formats: local route header, base transport header, flow-control packet, drop causes."""
