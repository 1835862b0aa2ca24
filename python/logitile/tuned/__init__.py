"""What tuning found: kept on disk, and taken by the calls of a head."""
