"""Several recordings on the same hardware: the file that names them, runs of all together and of each alone."""
