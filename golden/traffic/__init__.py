"""Traffic of golden networks: classes, connections, sources and senders."""
