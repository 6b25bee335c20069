"""The web application of ``tiersim explore``: its documents, and its server on the loopback interface."""
