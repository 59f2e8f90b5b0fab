"""Reading and writing of documents and text files. Errors name file, line and key."""
