"""One scheduler at an output port: arrivals in, departures out."""
