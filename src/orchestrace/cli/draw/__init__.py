"""Reports and runs as tables and pictures for a terminal, from structs alone."""
