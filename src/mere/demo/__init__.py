"""Show in a minute what a lake does, on a made-up market."""
