"""A device that was made up: it answers each request in one time, so many a second."""


def token_bucket(
    *, capacity: str = "100 GB", latency: str = "0.1 ms", carry_over: str = "1 ms", iops: int = 100_000_000, **more: str
) -> str:
    """Return the device's file; *more* are settings of a token bucket that are left out otherwise."""
    values = {"capacity": capacity, "latency": latency, "refill_interval": "1 ms", "carry_over": carry_over, **more}
    settings = [*(f'{name} = "{value}"' for name, value in values.items()), f"iops = {iops}"]
    sources = [f'{name} = "assumed: 1 .. 2"' for name in (*values, "iops") if name != "refill_interval"]
    sources.append('refill_interval = "document: made up"')  # known, or ranges are of it, too
    return "\n".join(['kind = "token-bucket"', 'name = "made up"', *settings, "", "[sources]", *sources, ""])
