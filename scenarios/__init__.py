"""What is asked: scenarios, placement, and the library of ready ones."""
