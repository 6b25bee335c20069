"""RAID controllers: write-back cache, links, routes."""
