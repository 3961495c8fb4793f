"""Turn a pinned list of files into one engine's form of the rows: one module per engine."""
