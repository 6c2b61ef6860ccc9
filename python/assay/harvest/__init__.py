"""Harvest: fetch what is published into the raw tree, whole files or none, and only what is new."""
