"""A scheduler alone: arrivals in, departures out."""
