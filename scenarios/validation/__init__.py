"""Published measurements that the models are checked with."""
