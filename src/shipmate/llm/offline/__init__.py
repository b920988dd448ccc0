"""Packaged models: a real language model without a key, fetched from the package index."""
