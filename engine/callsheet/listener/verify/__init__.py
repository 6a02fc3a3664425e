"""Whether a delivery is genuine, and what event it holds."""
