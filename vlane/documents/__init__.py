"""Reading and writing of documents and text files, with errors that name file, line and key."""
