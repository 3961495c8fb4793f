"""Checks that an adapter of a third party passes as the own ones do: one suite per port."""
