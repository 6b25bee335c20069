"""What MySQL and MariaDB tell of a server that runs InnoDB: its tables of counters, and its slow log."""
