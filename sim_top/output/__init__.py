"""Output of commands (screen, streams, progress, pictures) and interruption by signals."""
