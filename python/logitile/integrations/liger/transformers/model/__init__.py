"""What Liger's forwards of models call."""
