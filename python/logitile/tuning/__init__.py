"""`lt.autotune`: finds the tile sizes and threads with which calls are quickest on this machine."""
