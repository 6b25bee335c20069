"""What could be bought: drives, flash, arrays, volumes with limits, and the catalogue."""
