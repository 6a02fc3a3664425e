"""Whether a delivery is genuine, and which event it brings."""
