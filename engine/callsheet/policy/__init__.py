"""What a machine, a site or a run allows. Every request is checked here before it is sent."""
