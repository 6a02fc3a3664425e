"""What a machine, a site or a run allows: every request is judged here before it is sent."""
