"""Making models agree with measurements, and saying how far they do."""
