"""Decide where tasks are done: on threads here, or on the executors of Spark."""
