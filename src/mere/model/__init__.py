"""What travels through the house: frozen, picklable values on the standard library alone."""
