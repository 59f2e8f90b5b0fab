"""What goes out of a command: screen, streams, progress, pictures; and how it is interrupted."""
