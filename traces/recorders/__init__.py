"""Live recordings, made on the machine that is recorded or over a connection to its server; what comes out is a trace
bundle.
"""
