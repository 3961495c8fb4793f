"""How one task is done: one module per engine, none of which knows another."""
