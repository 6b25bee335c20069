"""What SQL Server records of itself: trace files, Extended Events, and tables of them."""
