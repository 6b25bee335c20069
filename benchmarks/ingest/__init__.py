"""What a request of a recording costs from its file to a result: import and replay as commands of their own."""
