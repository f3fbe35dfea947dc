"""The demonstration: bird songs made by code, so that a first look needs no data and no network."""
