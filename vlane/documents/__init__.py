"""Reading and writing of documents and text files; errors name file, line and key."""
