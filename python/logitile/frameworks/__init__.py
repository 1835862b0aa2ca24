"""Array libraries behind one interface: how calls read their arrays and make results as they do."""
