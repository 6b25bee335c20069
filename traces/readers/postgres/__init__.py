"""What PostgreSQL's own views tell of a server, however they were saved."""
